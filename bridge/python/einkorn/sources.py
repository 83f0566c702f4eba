"""The text of the cells that ran, under the file names they were compiled with.

Every execution has a file name of its own, ``<cell 3>`` or, when the count repeats (silent cells),
``<cell 3 run 2>``; those of IPython's cells come from their text (ipython/compiler.py).  Names in angle brackets are left as they are by pdb, bdb, doctest, inspect and
warnings, which all fetch the text from ``linecache``.  That module is not loaded at start: the
texts wait here and move there when somebody imports it, as entries without a modification time,
which ``linecache.checkcache`` keeps.

Memory is bounded: the last MAX_CELLS cells with at most MAX_CHARACTERS characters together are
kept (the newest always).  A function from a cell before that has lost its text: it shows without
source lines, never with those of another cell.
"""

import sys

MAX_CELLS = 1000
MAX_CHARACTERS = 10_000_000

_cells = {}  # file name -> (count, code), oldest first
_size = 0  # characters in _cells
_last = (0, 0)  # the last count, and how many executions in a row had it: no other one repeats
_dropped = False


def add(count, code):
    """Keep ``code`` as the source of one execution of cell number ``count``.

    Returns the file name to compile it under; no other execution has or had the same one.
    """
    global _last
    run = _last[1] + 1 if count == _last[0] else 1
    _last = (count, run)
    name = f"<cell {count}>" if run == 1 else f"<cell {count} run {run}>"
    keep(name, count, code)
    return name


def keep(name, count, code):
    """Keep ``code`` as the source of cell ``count``, compiled under a file name of the caller's."""
    global _size, _dropped
    linecache = sys.modules.get("linecache")
    cache = getattr(linecache, "cache", None)
    if cache is not None and _cells and next(reversed(_cells)) not in cache:
        fill_linecache(linecache)  # somebody emptied it
    _size += len(code) - len(_cells.pop(name, (0, ""))[1])
    _cells[name] = (count, code)
    while len(_cells) > 1 and (len(_cells) > MAX_CELLS or _size > MAX_CHARACTERS):
        oldest = next(iter(_cells))
        _size -= len(_cells.pop(oldest)[1])
        _dropped = True
        if cache is not None:
            cache.pop(oldest, None)
    if cache is not None:
        cache[name] = _entry(name)


def label(name):
    """Return how a cell's file name is shown to people (``Cell In[3]``); None for other files."""
    cell = _cells.get(name)
    if cell is not None:
        return f"Cell In[{cell[0]}]"
    if type(name) is str and name.startswith("<cell ") and name.endswith(">"):
        number = name[6:-1].partition(" ")[0]
        return f"Cell In[{number}]" if number.isdecimal() else None
    return None


def lines(name):
    """Return the cell's lines, each with its newline, as the compiler counts them; [] if unknown.

    The compiler ends a line at LF, CR LF and CR only, unlike ``str.splitlines``.
    """
    code = _cells.get(name, (0, ""))[1]
    if not code:
        return []
    if "\r" in code:
        code = code.replace("\r\n", "\n").replace("\r", "\n")
    parts = code.split("\n")
    if parts[-1] == "":
        parts.pop()
    return [part + "\n" for part in parts]


def text(name):
    """Return the text of a kept cell by its file name; None for any other file."""
    return _cells[name][1] if name in _cells else None


def names():
    """Return the file names of the kept cells, oldest first."""
    return list(_cells)


def complete():
    """Return True as long as no cell's text had to be dropped."""
    return not _dropped


def fill_linecache(module):
    """Put every kept cell into ``linecache.cache`` (an action for imports.after_import)."""
    for name in _cells:
        module.cache[name] = _entry(name)


def _entry(name):
    """Return linecache's tuple (size, no modification time, lines, full name) for a cell."""
    return (len(_cells[name][1]), None, lines(name), name)
