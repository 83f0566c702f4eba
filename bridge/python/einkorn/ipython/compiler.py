"""Compiling cells under the file names that debuggers and libraries know cells by.

ipykernel's scheme: ``<temporary directory>/ipykernel_<pid>/<hash of the cell>.py``, or what
IPYKERNEL_CELL_NAME says.  There is no such file; ``linecache`` has the text.  numba and joblib
cache by this name, a debugger computes it for itself, Lab shows no source without it.
"""

import os
import sys

from IPython.core.compilerop import CachingCompiler

import _einkorn

from .. import sources

SEED = 0xC70F6907


def directory():
    """Return the directory that cells seem to lie in; it ends with a separator."""
    return os.path.join(_temporary(), f"ipykernel_{os.getpid()}", "")


def _temporary():
    """Return tempfile.gettempdir(), if possible without importing that and what it needs.

    It takes the first of some directories in which a file can be made, which for the first of
    all can be told without making one.
    """
    if "tempfile" not in sys.modules:
        first = next(filter(None, map(os.environ.get, ("TMPDIR", "TEMP", "TMP"))), "/tmp")
        if first[0] == "/" and os.path.isdir(first) and os.access(first, os.W_OK | os.X_OK):
            return os.path.abspath(first)
    import tempfile

    return tempfile.gettempdir()


def file_name(code):
    """Return the file name that a cell with this text is compiled under."""
    name = os.environ.get("IPYKERNEL_CELL_NAME")
    return name if name is not None else f"{directory()}{_einkorn.murmur2(code, SEED)}.py"


class Compiler(CachingCompiler):
    """IPython's compiler with these names."""

    def get_code_name(self, raw_code, transformed_code, number):
        """See CachingCompiler."""
        return file_name(raw_code)

    def cache(self, transformed_code, number=0, raw_code=None):
        """See CachingCompiler.  A cell is known to all of Einkorn then, and forgotten with the rest."""
        name = super().cache(transformed_code, number, raw_code)
        sources.keep(name, number, transformed_code)
        numbers = self._filename_map
        numbers[name] = numbers.pop(name)  # the newest, as in sources
        while len(numbers) > sources.MAX_CELLS:
            del numbers[next(iter(numbers))]
        return name

    def format_code_name(self, name):
        """Return how tracebacks call a file: also for cells that ran before IPython was there."""
        label = sources.label(name)
        return tuple(label.split(" ", 1)) if label else super().format_code_name(name)
