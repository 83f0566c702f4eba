"""Where the shell is there, ``pdb`` and ``breakpoint()`` are IPython's debugger.

An interrupt at its prompt ends the debugging and the cell goes on; ``pdb``'s own would ask on.
Where it is not there yet, the first use of ``pdb`` loads it: many import ``pdb`` and never use it.
"""

import sys

from ..imports import after_import
from . import loading


def install():
    """Replace pdb's debugger as soon as somebody imports it."""
    after_import("pdb", _on_pdb)
    after_import("IPython.core.debugger", _on_debugger)


def _on_pdb(pdb):
    import IPython.core.debugger  # noqa: F401  (it may be what is importing pdb right now)


def _on_debugger(debugger):
    import pdb

    debugger.Pdb = debugger.InterruptiblePdb
    pdb.Pdb = debugger.Pdb
    pdb.set_trace = debugger.set_trace


def wait_for_use(pdb):
    """Have the functions of ``pdb`` that ask the user load IPython, and be its debugger's then."""
    for name in ("post_mortem", "pm"):
        setattr(pdb, name, _loading(getattr(pdb, name)))
    original = pdb.set_trace

    def set_trace(*arguments, **keywords):
        _load()
        if pdb.set_trace is set_trace:  # there is no IPython after all
            return pdb.Pdb().set_trace(sys._getframe(1))
        return pdb.set_trace(sys._getframe(1), *arguments, **keywords)

    pdb.set_trace = _like(set_trace, original)


def _loading(original):
    def function(*arguments, **keywords):
        _load()
        return original(*arguments, **keywords)  # which finds the class in its module

    return _like(function, original)


def _like(function, original):
    function.__name__ = function.__qualname__ = original.__name__
    function.__doc__, function.__module__ = original.__doc__, original.__module__
    return function


def _load():
    try:
        loading.shell()
    except ImportError:
        pass  # Python's own debugger does
