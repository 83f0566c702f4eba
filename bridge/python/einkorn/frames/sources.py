"""The text of the cells that ran last, for tracebacks and ``inspect.getsource``.

``linecache`` is not loaded at start: the texts wait here and move there when somebody imports it,
as entries without a modification time, which ``linecache.checkcache`` keeps.
"""

import sys

from ..imports import after_import

MAX_CELLS = 128

_cells = {}  # file name -> code, oldest first


def install():
    """Have ``linecache`` know the cells from the moment it is imported."""
    after_import("linecache", _fill)


def add(file, code):
    """Keep ``code`` as the text of ``file``; the oldest one beyond MAX_CELLS is forgotten."""
    cache = getattr(sys.modules.get("linecache"), "cache", None)
    _cells[file] = code
    if type(cache) is dict:
        cache[file] = _entry(file)
    while len(_cells) > MAX_CELLS:
        oldest = next(iter(_cells))
        del _cells[oldest]
        if type(cache) is dict:
            cache.pop(oldest, None)


def refill():
    """Put the cells into ``linecache`` again, which a cell may have cleared."""
    linecache = sys.modules.get("linecache")
    if linecache is not None:
        _fill(linecache)


def _fill(module):
    for file in _cells:
        module.cache.setdefault(file, _entry(file))


def _entry(file):
    """Return linecache's tuple (size, no modification time, lines, full name) for a cell."""
    code = _cells[file]
    return (len(code), None, [line + "\n" for line in code.split("\n")], file)
