"""The Python half of Einkorn: what a cell needs beyond the interpreter itself.

The runner (the C module ``_einkorn``) calls the functions of ``einkorn.hooks``; everything here
talks back through that module only.  Importing the package pulls in nothing that an interpreter
has not loaded after ``site``; what is heavier is imported where it is first used.

For notebooks there are three functions: ``set_next_input`` and ``page``, what a cell's reply can ask
of the client (messaging spec, "Payloads"), and ``process_messages``, by which widgets live while a
cell runs.  ``import einkorn`` finds them in every cell of an Einkorn kernel, and nowhere else.
"""

import _einkorn

__all__ = ["page", "process_messages", "set_next_input"]
__version__ = "0.1.0"


def set_next_input(text, replace=False):
    """Have the client put ``text`` (str) into a new cell below this one, or at the next prompt.

    With ``replace`` it takes the place of this cell's own text.  The client does so when the cell
    has ended; of several calls in one cell the last one counts.  Raises RuntimeError in a thread
    or task whose cell has ended.
    """
    if not isinstance(text, str):
        raise TypeError(f"text must be str, not {type(text).__name__}")
    _einkorn.payload({"source": "set_next_input", "text": text, "replace": bool(replace)})


def page(content, start=0):
    """Have the client show ``content`` apart from the cell's output: in its pager, if it has one.

    ``content`` is a text, or a dict of representations keyed by MIME type; one of "text/plain" is
    what every client can show.  ``start`` is the line to begin with.  The client does so when the
    cell has ended; of several calls in one cell the last one counts.  Raises RuntimeError in a
    thread or task whose cell has ended.
    """
    data = {"text/plain": content} if isinstance(content, str) else content
    if not isinstance(data, dict) or not all(isinstance(k, str) and "/" in k for k in data):
        raise TypeError("content must be str, or a dict whose keys are MIME types")
    data = dict(data)
    _einkorn.encode(data)  # what cannot be sent is an error here, not a reply without it
    _einkorn.payload({"source": "page", "data": data, "start": max(0, int(start))})


def process_messages():
    """Handle the comm messages that have come while this cell runs; return how many.

    Widgets and other comms hear of the client between cells, and in a cell while it awaits.  A cell
    that does neither calls this, say, once in each round of its loop.  What the handlers print
    belongs to their messages.  The exception of one is shown on its stderr, and this cell goes on;
    an interrupt ends both.  Messages stay in their order, and one that was sent after another cell
    waits for that cell.

    Works in the main thread only, where cells run; in another one it raises RuntimeError.
    """
    return _einkorn.comms(False)[0]
