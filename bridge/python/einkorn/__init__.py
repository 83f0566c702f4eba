"""The Python half of Einkorn: what a cell needs beyond the interpreter itself.

The runner (the C module ``_einkorn``) calls the functions of ``einkorn.hooks``; everything here
talks back through that module only.  Importing the package pulls in nothing that an interpreter
has not loaded after ``site``; what is heavier is imported where it is first used.

For notebooks there are two functions, ``set_next_input`` and ``page``: what a cell's reply can ask
of the client (messaging spec, "Payloads").  ``import einkorn`` finds them in every cell of an
Einkorn kernel, and nowhere else.
"""

import _einkorn

__all__ = ["page", "set_next_input"]
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
