"""Modules that IPython imports when it is loaded, and that few sessions ever use.

Where ``put_off`` is in force a stand-in is in ``sys.modules`` for each of them that is not there yet.
Who imports one then has the stand-in for good: it passes everything on to the real module, which is
imported when it is first used.  Afterwards the name is free again, so all others import the real one.
"""

import contextlib
import sys
import _thread

from .stand_in import LoadFirst

# name -> the functions that are taken out of it by name  # who takes it, and what for
_MODULES = {
    "IPython.terminal.embed": ("embed",),  # older IPythons: see leave_embed
    "importlib.abc": (),  # IPython.utils.module_paths: for its annotations
    "logging.config": ("dictConfig",),  # traitlets: for the log of an application of its own
    "tempfile": (),  # IPython.paths: where IPython's directory cannot be written
}

# What imports one another in a circle, into which only embed finds: IPython begins with it.
_AROUND_EMBED = {f"IPython.terminal.{name}" for name in ("debugger", "interactiveshell", "ipapp")}

_lock = _thread.allocate_lock()


class _StandIn(type(sys)):
    """A module that passes on what is asked of it."""

    def __getattr__(self, name):
        functions = _MODULES[self.__name__]
        if functions and sys.modules.get(self.__name__) is self:
            if name in functions:
                return _put_off_function(self, name)
            if name == "__path__":  # which every ``from`` statement asks for
                raise AttributeError(name)
        return getattr(_real(self), name)

    def __setattr__(self, name, value):
        setattr(_real(self), name, value)

    def __delattr__(self, name):
        delattr(_real(self), name)

    def __dir__(self):
        return dir(_real(self))


def _real(stand_in):
    name = stand_in.__name__
    _make_way(stand_in)
    __import__(name)
    return sys.modules[name]


def _make_way(stand_in):
    """Free its name.  Returns whether it was still in the place of the real module."""
    name = stand_in.__name__
    with _lock:
        stood = sys.modules.get(name) is stand_in
        if stood:
            del sys.modules[name]
    return stood


def _put_off_function(stand_in, name):
    def function(*arguments, **keywords):
        return getattr(_real(stand_in), name)(*arguments, **keywords)

    function.__name__ = function.__qualname__ = name
    function.__module__ = stand_in.__name__
    return function


@contextlib.contextmanager
def put_off(names=tuple(_MODULES)):
    """Have who imports these modules get stand-ins, in a ``with`` statement."""
    made = [_StandIn(name) for name in names if name not in sys.modules]
    sys.modules.update((each.__name__, each) for each in made)
    try:
        yield
    finally:
        for each in made:
            parent, _, child = each.__name__.rpartition(".")
            if _make_way(each) and parent in sys.modules:
                setattr(sys.modules[parent], child, each)  # as if it had been imported


def leave_embed(ipython):
    """Have the module IPython import its shell for terminals when somebody asks for that.

    It is twice as large as all that a kernel needs.  ``embed`` itself is no function that could be
    put off, for it looks at the frame of who calls it.
    """
    if "embed" not in vars(ipython) or "IPython.terminal.embed" in sys.modules:
        return
    del ipython.embed

    def load():
        if first in sys.meta_path:
            sys.meta_path.remove(first)
        __import__("IPython.terminal.embed")  # which may be what is being imported

    def __getattr__(name):
        if name not in ("embed", "terminal"):
            raise AttributeError(f"module 'IPython' has no attribute {name!r}")
        load()
        ipython.embed = sys.modules["IPython.terminal.embed"].embed
        return getattr(ipython, name)

    first = LoadFirst(_AROUND_EMBED.__contains__, load)
    sys.meta_path.insert(0, first)
    ipython.__getattr__ = __getattr__
