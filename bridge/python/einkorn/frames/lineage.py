"""Has what cells read and write told to the host: see provenance.py.

Nothing is imported for that: ``open`` is replaced at the start, the readers and writers of other
modules when a cell imports them.  The host is asked only for what a cell does, so our own reads, and
those of the interpreter for a traceback, are none of its business.  What goes wrong here is no cell's
error.  ``OPENAI4S_PROVENANCE_OFF=1`` turns it off, at each use.
"""

import builtins
import os
import sys
from _thread import get_ident

import _einkorn

from ..imports import after_import
from . import package

_MODULES = ("json", "pandas", "numpy", "matplotlib.figure")
_MAX_FRAMES = 128

_start = ""  # the directory in which the worker began
_busy = set()  # threads that are in a wrapped function: what it opens is not asked for again
_late = []  # what was written by files that were never closed


def install():
    """Replace ``open`` and wait for the modules; called once, not in a kernel without a host."""
    global _start
    try:
        _start = os.getcwd()
    except OSError:
        pass
    package.install()
    builtins.open = _einkorn.wrap_open(_opened)
    for name in _MODULES:
        after_import(name, _on_import)


def _on_import(module):
    try:
        from . import lineage_modules

        lineage_modules.WRAPPERS[module.__name__](module)
    except Exception:
        pass  # another version than those that are known: it works as if we were not there


def _opened(file, args, kwargs):
    """Return what ``open(*args, **kwargs)``, which gave ``file``, shall return."""
    if not is_on():
        return file
    from . import lineage_files

    return lineage_files.opened(file, args, kwargs)


def is_on():
    """Say whether this thread's next step is a cell's, and lineage wanted."""
    if os.environ.get("OPENAI4S_PROVENANCE_OFF") == "1" or get_ident() in _busy:
        return False
    frame = sys._getframe(1)
    for _ in range(_MAX_FRAMES):
        if frame is None:
            return False
        if frame.f_code.co_filename.startswith("<kernel:"):
            return True
        frame = frame.f_back
    return False


class quiet:
    """A context in which this thread's opens are nobody's."""

    def __enter__(self):
        self._thread = get_ident()
        _busy.add(self._thread)

    def __exit__(self, *exception):
        _busy.discard(self._thread)


def resolve(path):
    """Return the tags of a file: its version by the host, or none."""
    try:
        with quiet():
            version = _einkorn.host_call("prov_resolve_path", [os.path.realpath(_text(path))])
    except Exception:
        return frozenset()
    return frozenset([version]) if type(version) is str else frozenset()


def record(path, tags):
    """Tell the host that the file was written from values with these ``tags``, if there are any."""
    if not tags:
        return
    try:
        with quiet():
            _einkorn.host_call("prov_record", [_description(path, tags)])
    except Exception:
        pass


def record_later(path, tags):
    """As ``record``, but at the end of the cell: where the garbage collector closes a file."""
    if tags:
        _late.append((_description(path, tags)))


def flush():
    """Tell what is still to be told; at the end of a cell."""
    while _late:
        description = _late.pop(0)
        try:
            _einkorn.host_call("prov_record", [description])
        except Exception:
            pass


def _description(path, tags):
    path = os.path.realpath(_text(path))
    name = os.path.relpath(path, os.path.realpath(_start)) if _start else ".."
    if name == ".." or name.startswith("../"):
        name = os.path.basename(path)
    return {
        "path": path,
        "filename": name,
        "input_version_ids": sorted(tags),
        "producing_cell_id": _einkorn.cell_id(),
    }


def _text(path):
    return str.__str__(os.fsdecode(path))


def is_path(value):
    """Say whether ``value`` names a file (a number names none, nor does an open file)."""
    return isinstance(value, (str, bytes, os.PathLike))
