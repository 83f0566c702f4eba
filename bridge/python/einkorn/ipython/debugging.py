"""Where the shell is there, ``pdb`` and ``breakpoint()`` are IPython's debugger.

An interrupt at its prompt ends the debugging and the cell; ``pdb``'s own would ask on.
"""

from ..imports import after_import


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
