"""The end of Python is not held up: neither by threads, nor by the freeing of memory.

Before it runs the atexit handlers, Python joins every thread that is no daemon, for as long as that
takes; a kernel that is shut down has no such time, and would be killed with its handlers not run.
So the joining is done here, and ends after a moment.  Threads that are left go with the process.

After the handlers Python collects all garbage three times, once before and twice while it takes its
modules apart: with a million objects, as libraries and completion leave behind, that alone is a
second.  Here the user's own names are let go before the first collection, so that it finds what
they held (``__del__``, files to be flushed), and what outlives it is no longer looked through: of
libraries only cycles are left out, which nothing but the end of the process would have freed.
"""

import gc
import os
import sys

_PATIENCE = 0.5  # seconds that threads which are no daemons have to end
_OF_LIBRARIES = ("/site-packages/", "/dist-packages/")


def join_threads(threading):
    """Join all threads that are no daemons, for _PATIENCE seconds.

    Call it before the interpreter begins to end: later there can be no further thread.
    """
    main = threading.main_thread()
    if all(thread.daemon or thread is main for thread in threading.enumerate()):
        return
    # On a thread of its own: it also calls what waits without a limit, as pools do.
    joining = threading.Thread(target=threading._shutdown, daemon=True)
    joining.start()
    joining.join(_PATIENCE)
    if joining.is_alive():
        threading._shutdown = _nothing  # the interpreter calls it by name, and would wait


def _nothing():
    """Do not wait."""


def collect_once(names):
    """Have the interpreter's end look for garbage once, without the names of ``names`` (names.Names).

    It does so after the atexit handlers, when no other thread of Python runs any more.
    """

    def at_collection(phase, _):
        if not sys.is_finalizing():
            return  # an atexit handler collects
        if phase == "start":
            _let_go(names)
        else:
            gc.freeze()

    gc.collect(1)  # of a file in a cycle the outermost layer is closed first only where it was seen before
    gc.enable()  # or the first collection is left out
    gc.callbacks.append(at_collection)


def _let_go(names):
    """Drop what only the user's names hold; finalizers still see the libraries that he imported."""
    sys.last_type = sys.last_value = sys.last_traceback = sys.last_exc = None
    names.forget()
    own = {name for name, module in list(sys.modules.items()) if _is_users(module)}
    space = names.namespace
    for name, value in list(space.items()):
        kept = type(value) is type(sys) and value.__name__ not in own
        value = None  # or it would live one step longer
        if not kept and not (name.startswith("__") and name.endswith("__")):
            space[name] = None
    for name in own:
        sys.modules[name] = None


def _is_users(module):
    """Is a module of the user's own, and no library's?"""
    file = getattr(module, "__dict__", {}).get("__file__")
    if type(file) is not str or any(part in file for part in _OF_LIBRARIES):
        return False
    return not file.startswith(_PLACES)


_PLACES = tuple(
    os.path.join(place, "")
    for place in (sys.prefix, sys.base_prefix, os.path.dirname(os.__file__), os.path.dirname(__file__))
)
