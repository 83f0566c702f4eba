"""The functions that the runner calls, looked up once by name when it starts.

All run on the main thread.  Exceptions out of them other than KeyboardInterrupt are mistakes of
ours; the runner reports them as an error of the cell.
"""

import builtins
import sys

import _einkorn

from . import display, errors, figures, ipython_finder, names, settings, sources, stdin, tasks
from .imports import after_import
from .ipython import loading
from .statements import silenced
from .stdin import StdinNotImplementedError
from .tasks import run_coroutine

__all__ = [
    "StdinNotImplementedError",
    "begin",
    "comm",
    "complete",
    "describe",
    "echo",
    "end",
    "expressions",
    "finish",
    "idle",
    "inspect",
    "is_complete",
    "run",
    "run_coroutine",
    "silenced",
    "start",
    "take_over",
]

_names = None
_in_cell = False  # between begin and end


def start(namespace):
    """Make ``namespace`` (``__main__.__dict__``) a shell's and install the import actions."""
    global _names
    _names = names.Names(namespace)
    builtins.display = display.display
    sys.excepthook = _tell_error
    stdin.install()
    tasks.install()
    after_import("linecache", sources.fill_linecache)
    after_import("inspect", _on_inspect)
    after_import("getpass", stdin.patch_getpass)
    after_import("bdb", _on_bdb)
    after_import("pdb", _on_pdb)
    after_import("comm", _on_comm)
    after_import("ipykernel.ipkernel", _on_ipkernel)
    after_import("multiprocessing.spawn", _on_spawn)
    ipython = settings.SHELL != "plain" and loading.install(_names)
    if not ipython:
        ipython_finder.install()
    figures.install(ipython)
    if settings.FACTS:
        _watch_facts()


def _watch_facts():
    import os

    from .frames import guards

    library = os.path.dirname(os.path.dirname(__file__))
    _einkorn.watch_facts(guards.figures, guards.report, library)


def _on_inspect(module):
    from .class_source import patch_inspect  # most sessions never need it

    patch_inspect(module)


def _on_pdb(module):
    from .pdb_stack import patch_pdb

    patch_pdb(module)
    if loading.is_possible() and loading.current() is None:
        from .ipython.debugging import wait_for_use

        wait_for_use(module)


def _on_bdb(module):
    from .pdb_stack import patch_bdb

    patch_bdb(module)


def _on_comm(module):
    from .comms import patch_comm

    patch_comm(module)


def _on_ipkernel(module):
    if "comm" in sys.modules:  # the real one has just led it to comms of its own
        _on_comm(sys.modules["comm"])


def _tell_error(*error):
    """Do as Python does with an error in a callback; with Python's own hook PyQt would abort."""
    sys.__excepthook__(*error)


def _on_spawn(module):
    from .children import patch_spawn

    patch_spawn(module)


def idle(fd):
    """Use the time between requests; return True as soon as ``fd`` is readable.

    False is returned if there is nothing to do meanwhile.
    """
    loading.preload()
    gui = loading.event_loop()
    return tasks.idle(fd) if gui is None else gui.idle(fd)


def begin(count, code, store, silent):
    """Begin cell ``count`` with the text ``code``; return the file name to compile it under (str).

    None is returned where IPython shall run the cell (``run``).
    With ``store`` the input gets into In, _i and their kin.  ``silent`` cells differ only there
    and in what the runner publishes.
    """
    global _in_cell
    _in_cell = True
    tasks.refresh()
    if loading.wants_cell(code):
        return None
    loading.begin_plain_cell()
    if store:
        _names.input(count, code)
    return sources.add(count, code)


def take_over(count, store):
    """Say whether IPython shall run (``run``) a begun cell that is no Python."""
    if not loading.is_possible():
        return False
    loading.end_plain_cell()
    if store:
        _names.take_back(count)
    return True


def run(count, code, store, silent):
    """Run a cell by IPython; return None, or (ename, evalue, traceback) of its error.

    IPython shows the error itself.
    """
    shell = loading.shell()
    if settings.FACTS:
        from .ipython.compiler import file_name

        _einkorn.begin_reads(file_name(code))
    return shell.run(count, code, store, silent)


def echo(value, count, store):
    """Publish the value of a cell's last expression (not None) as its result.

    It becomes ``_`` and, with ``store``, ``_N`` and ``Out[N]``, even where it cannot be shown.
    """
    if type(value) is names.Exit:
        value()
        return
    if loading.shows(value):
        loading.shell().show_result(value, count, store)
        return
    try:
        display.publish_result(value, count)
    finally:
        _names.output(count, value, store)


def describe(exception):
    """Return (ename, evalue, traceback) of the exception that ended a cell; never raises.

    Also leaves it where ``pdb.pm()`` and the interpreter's own prompt look for it.
    """
    sys.last_type, sys.last_value = type(exception), exception
    sys.last_traceback = BaseException.__traceback__.__get__(exception)
    sys.last_exc = exception
    facts = errors.describe(exception)
    if issubclass(type(exception), MemoryError):
        let_go(exception)
    return facts


def let_go(exception):
    """Drop the frames of a MemoryError: their variables are what fills the memory."""
    sys.last_traceback = None
    seen = set()
    while exception is not None and id(exception) not in seen:
        seen.add(id(exception))
        BaseException.__traceback__.__set__(exception, None)
        exception = BaseException.__context__.__get__(exception)


def expressions(pairs):
    """Evaluate user_expressions (messaging spec, "Execute"): name -> source in, name -> result out.

    A result is {"status": "ok", "data", "metadata"} or {"status": "error", "ename", "evalue",
    "traceback"}.
    """
    shell = loading.current()
    if shell is not None:
        return shell.user_expressions(pairs)
    results = {}
    for name, source in pairs.items():
        try:
            code = compile(source, "<expression>", "eval", 0, True)
            data, metadata = display.bundle(eval(code, _names.namespace))
            results[name] = {"status": "ok", "data": data, "metadata": metadata}
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            ename, evalue, traceback = errors.describe(error)
            results[name] = {
                "status": "error",
                "ename": ename,
                "evalue": evalue,
                "traceback": traceback,
            }
    return results


def end():
    """End a request: show the figures of a cell, flush the user's own streams, stop stepping."""
    global _in_cell
    loading.end_plain_cell()
    pdb_stack = sys.modules.get("einkorn.pdb_stack")  # an import statement would be stepped into
    if pdb_stack is not None:
        pdb_stack.leave()
    if _in_cell:  # not after a completion: what it shows nobody looks at
        _in_cell = False
        figures.flush()
        comms = sys.modules.get("einkorn.comms")
        if comms is not None:
            comms.settle()
    for stream in (sys.stdout, sys.stderr):
        if stream is _einkorn.stdout or stream is _einkorn.stderr or stream is None:
            continue
        try:
            stream.flush()
        except Exception:
            pass  # his stream, his failure: the cell's result stands


def finish():
    """End the session: what follows is the interpreter's own end, with the atexit handlers."""
    from . import ending

    if "threading" in sys.modules:
        ending.join_threads(sys.modules["threading"])
    ending.collect_once(_names)


# The rest is for requests that many sessions never see: each imports what it needs.


def complete(code, cursor_pos):
    """Return the content of a complete_reply (messaging spec, "Completion").

    ``cursor_pos`` counts code points; what is outside of ``code`` means its end.
    """
    kernel = _ipython()
    if kernel is not None:
        return kernel.do_complete(code, cursor_pos)
    from . import completion

    return completion.complete(code, cursor_pos, _names.namespace)


def inspect(code, cursor_pos, detail_level):
    """Return the content of an inspect_reply (messaging spec, "Introspection")."""
    kernel = _ipython()
    if kernel is not None:
        return kernel.do_inspect(code, cursor_pos, detail_level)
    from . import inspection

    return inspection.inspect(code, cursor_pos, detail_level, _names.namespace)


def is_complete(code):
    """Return the content of an is_complete_reply (messaging spec, "Code completeness").

    IPython is asked where it is there, and not loaded for this.
    """
    if loading.current() is not None:
        return loading.current().kernel.do_is_complete(code)
    from . import completeness

    return completeness.is_complete(code)


def _ipython():
    """Return the kernel object of IPython's shell, loaded now; None where there is no IPython.

    One that does not load is told of where a cell asks for it.
    """
    if not loading.is_possible():
        return None
    try:
        return loading.shell().kernel
    except Exception:
        return None


def comm(msg_type, message):
    """Take a "comm_open", "comm_msg" or "comm_close" from a client; what it leads to is user code.

    ``message`` holds "header", "parent_header", "metadata", "content" (dicts) and "buffers" (a
    list of memoryview).
    """
    from . import comms

    comms.receive(msg_type, message)
    figures.flush()
