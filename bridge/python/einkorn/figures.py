"""Figures of matplotlib: who shows them.

Where IPython's shell can be had, that is the package matplotlib_inline, as under ipykernel: the
variable MPLBACKEND names it.  Elsewhere it is ``einkorn.inline``, which is chosen when matplotlib
is imported: as a variable it would be inherited by programs that a cell starts, and those have no
such module.  What the user chose by MPLBACKEND stands.  A session without matplotlib pays for two
entries in a dictionary.
"""

import os
import sys
from _frozen_importlib_external import PathFinder  # `importlib` itself costs a millisecond

from .imports import after_import

_THEIRS = "module://matplotlib_inline.backend_inline"
_OURS = "module://einkorn.inline"


def install(ipython):
    """Choose who shows figures; ``ipython`` says whether IPython's shell can be had."""
    if os.environ.get("MPLBACKEND") == _THEIRS:
        del os.environ["MPLBACKEND"]  # inherited from another kernel: nobody's choice for this one
    if ipython and PathFinder.find_spec("matplotlib_inline") is not None:
        if not os.environ.get("MPLBACKEND"):
            os.environ["MPLBACKEND"] = _THEIRS
    elif not os.environ.get("MPLBACKEND"):
        after_import("matplotlib", _choose)
        after_import("matplotlib.figure", _teach)


def _choose(matplotlib):
    """Make ours the backend, if the user has not set another one before the import."""
    if not os.environ.get("MPLBACKEND") and hasattr(matplotlib, "rcParams"):
        matplotlib.rcParams["backend"] = _OURS
        matplotlib.interactive(True)


def _teach(module):
    """Let a Figure show itself: as a result, and through display()."""

    def _repr_mimebundle_(self, include=None, exclude=None):
        from . import inline

        return inline.represent(self, include, exclude)

    module.Figure._repr_mimebundle_ = _repr_mimebundle_


def flush():
    """Show the figures that are open, and close them: at the end of a cell, after a comm message.

    Never raises: what goes wrong is told in the cell.
    """
    inline = sys.modules.get("einkorn.inline")  # an import statement would be stepped into
    if inline is not None:
        inline.flush()
