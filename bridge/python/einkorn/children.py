"""Let the children that ``multiprocessing`` starts afresh write line by line.

A forked child writes through our streams, whole lines at a time.  One that is spawned, or comes
from a fork server, is a plain Python whose stdout is a pipe: it would keep its text until there are
8 kB of it and then write that up to wherever it ends, in the middle of a line that the next child
goes on with.  What a child is told of its parent is pickled, and a pickle can say what is to be
done: so the children turn on what they would have on a terminal.
"""

import functools

_LINE_BUFFERED = """\
import sys
for file in sys.stdout, sys.stderr:
    if hasattr(file, "reconfigure"):
        file.reconfigure(line_buffering=True)
"""


class _LineBuffered:
    """Has its effect where it is unpickled, and is None there."""

    def __reduce__(self):
        return exec, (_LINE_BUFFERED, {})


def patch_spawn(spawn):
    """Adjust ``multiprocessing.spawn`` (an action for imports.after_import)."""
    real = spawn.get_preparation_data

    @functools.wraps(real)
    def get_preparation_data(name):
        return {**real(name), "einkorn": _LineBuffered()}

    spawn.get_preparation_data = get_preparation_data
