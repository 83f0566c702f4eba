"""What the session's cells have shown, as ``%notebook`` writes it down.

IPython 9 keeps all of it for good, and puts functions of its own over the streams' ``write``, by
which ``print`` is slow and writes in pieces.  Here the runner keeps a copy of what is written
(bridge/tape.h), and as with the text of cells (einkorn/sources.py) the newest are kept, the rest
is forgotten.
"""

import _einkorn

from .. import sources

try:
    from IPython.core.history import HistoryOutput
except ImportError:  # IPython 8 keeps none
    HistoryOutput = None

MAX_STREAMS = 1_000_000  # bytes of one cell's output, and as much after each display

_KINDS = ("out_stream", "err_stream")  # by _einkorn.tape's number of a stream


class Outputs:
    """Bounds ``outputs``, ``exceptions`` and ``output_hist_reprs`` of a history manager."""

    def __init__(self, history):
        self._history = history
        self._count = None  # of the cell that runs, if it has a place in the history
        self._sizes = {}  # number of a cell -> about how many bytes it has shown; oldest first
        self._size = 0

    def begin(self, count, stored):
        """Begin a cell."""
        self._count = count if stored else None
        if HistoryOutput is not None:
            _einkorn.tape(MAX_STREAMS if stored else 0)

    def add_streams(self):
        """Note what the cell has written so far; to be called before anything else is noted."""
        if HistoryOutput is None or self._count is None:
            return
        for stream, text in _einkorn.tape(MAX_STREAMS):
            kept = HistoryOutput(_KINDS[stream], {"stream": [text]})
            self._history.outputs[self._count].append(kept)

    def end(self):
        """End the cell, and forget the oldest ones if they are too many or have shown too much."""
        self.add_streams()
        if HistoryOutput is not None:
            _einkorn.tape(0)
        count, self._count = self._count, None
        if count is None:
            return
        tables = self._tables()
        self._size -= self._sizes.pop(count, 0)
        self._sizes[count] = sum(_size(table.get(count)) for table in tables)
        self._size += self._sizes[count]
        while len(self._sizes) > 1 and (
            len(self._sizes) > sources.MAX_CELLS or self._size > sources.MAX_CHARACTERS
        ):
            oldest = next(iter(self._sizes))
            self._size -= self._sizes.pop(oldest)
            for table in tables:
                table.pop(oldest, None)

    def _tables(self):
        history = self._history
        names = ("outputs", "exceptions", "output_hist_reprs")
        return [getattr(history, name) for name in names if hasattr(history, name)]


def _size(value):
    """Return about how many bytes a value holds: that of its texts, wherever they are."""
    if isinstance(value, (str, bytes)):
        return len(value)
    if isinstance(value, dict):
        return sum(map(_size, value.values()))
    if isinstance(value, (list, tuple)):
        return sum(map(_size, value)) + 8 * len(value)
    if HistoryOutput is not None and isinstance(value, HistoryOutput):
        return _size(value.bundle)
    return 8
