"""What a response says of an exception.  Imported when the first cell fails."""

import os
import traceback

from . import sources

_WRAPPERS = os.path.join(os.path.dirname(__file__), "lineage")
MAX_CHARACTERS = 1_000_000
MARKER = f"\n...(truncated at {MAX_CHARACTERS} characters)"


def describe(error, file):
    """Return (text, error_lineno, error_call) of ``error``, raised by the cell compiled as ``file``.

    The line and the function are those of the innermost frame that is the cell's own.  What ends a
    script (SystemExit, GeneratorExit) has neither.
    """
    if issubclass(type(error), (SystemExit, GeneratorExit)):
        return f"{type(error).__name__} trapped (worker kept alive): {bounded([str(error)])}", None, None
    lineno = function = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename == file:
            lineno, function = line, frame.f_code.co_name
    return _formatted(error), lineno, None if function == "<module>" else function


def _formatted(error):
    sources.refill()
    try:
        shown = traceback.TracebackException.from_exception(error)
        _leave_wrappers_out(shown)
        return bounded(shown.format())
    except (Exception, SystemExit, GeneratorExit):  # of the exception's own code
        return f"{type(error).__name__}: <traceback could not be formatted>\n"


def _leave_wrappers_out(shown):
    """Take the frames of lineage's wrappers out: the cell has called what is within them."""
    seen = set()
    waiting = [shown]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        one.stack[:] = [frame for frame in one.stack if not frame.filename.startswith(_WRAPPERS)]
        waiting += [one.__cause__, one.__context__, *(getattr(one, "exceptions", None) or ())]


def bounded(pieces):
    """Join texts up to MAX_CHARACTERS, with the marker if there was more; the rest is not made."""
    kept = []
    room = MAX_CHARACTERS
    for piece in pieces:
        if len(piece) > room:
            kept += [piece[:room], MARKER]
            break
        kept.append(piece)
        room -= len(piece)
    return "".join(kept)
