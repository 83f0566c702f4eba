"""The request in whose name a thread or task speaks: the "parent" of the messaging protocol."""

import _einkorn

_KEPT = 1000
_cells = {}  # id of a request -> the runner's cell: of the last requests that were asked for


def current():
    """Return the parent message: "header", "parent_header", "metadata", "content", "buffers".

    An empty dict where there is none.
    """
    parent = _einkorn.parent()
    request = parent.get("msg_id")
    if request not in _cells and request is not None:
        cell = _einkorn.cell.get(None)
        if cell is not None:
            _cells[request] = cell
            if len(_cells) > _KEPT:
                _cells.pop(next(iter(_cells)), None)
    return parent


def set_parent(parent):
    """Have the calling thread or task speak in the name of another request from now on.

    ``parent`` is what ``current`` returned there, or its header.  A request that nobody asked for
    before cannot be spoken for; then all stays as it is.
    """
    set_thread_parent(parent)


def set_thread_parent(parent):
    """Do the same; return a token for ``reset_thread_parent``."""
    header = parent.get("header", parent)
    cell = _cells.get(header.get("msg_id"))
    return _einkorn.cell.set(cell) if cell is not None else None


def reset_thread_parent(token):
    """Undo the ``set_thread_parent`` that returned ``token``."""
    if token is not None:
        _einkorn.cell.reset(token)


class speaking_for:
    """``with speaking_for(parent)``: for the length of a block.  None: nothing changes."""

    def __init__(self, parent):
        self._parent = parent

    def __enter__(self):
        self._token = set_thread_parent(self._parent or {})

    def __exit__(self, *_error):
        reset_thread_parent(self._token)


def message(msg_type, content):
    """Return a message as hooks see one: its header is what the kernel will make anew."""
    import datetime
    import os

    parent = current().get("header", {})
    header = {
        "msg_id": os.urandom(16).hex(),
        "msg_type": msg_type,
        "username": parent.get("username", ""),
        "session": parent.get("session", ""),
        "date": datetime.datetime.now(datetime.timezone.utc),
        "version": "5.4",
    }
    return {
        "header": header,
        "msg_id": header["msg_id"],
        "msg_type": msg_type,
        "parent_header": parent,
        "content": content,
        "metadata": {},
    }
