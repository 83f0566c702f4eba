"""In whose name is spoken, as ipykernel lets code ask for it and choose it.

A parent is the dict of a request (``_einkorn.parent()``).  Threads and tasks speak in the cell
that started them; with these functions they speak in any other that the kernel still knows, the
last 4,096.
"""

import json
from contextvars import ContextVar

import _einkorn

_pinned = ContextVar("einkorn.pinned", default=None)  # who was chosen here, not inherited


def get_parent(channel=None):
    """Return the request in whose name is spoken here; of "control", the last one there."""
    if channel != "control":
        return _einkorn.parent()
    header = _lookup("control").get("header")
    return {} if header is None else _message(header)


def get_ident(channel="shell"):
    """Return the routing frames (list of bytes) of the request that get_parent() returns."""
    if channel == "control":
        found = _lookup("control")
    else:
        found = _lookup("message", _msg_id(_einkorn.parent()))
    return [bytes.fromhex(frame) for frame in found.get("identities", [])]


def set_parent(parent):
    """Speak in the name of ``parent`` in this thread or task.  One that is not known is ignored."""
    _pin(_speaker(parent))


def set_thread_parent(parent):
    """Do the same; return a token for reset_thread_parent()."""
    before = _pinned.get()
    set_parent(parent)
    return before


def reset_thread_parent(token):
    """Go back to what was before set_thread_parent().

    Where that was nothing of this kind, output belongs to the cell that runs, as in ipykernel.
    """
    _pin(token)


class Speaks:
    """What ipykernel's shell, publisher and displayhook have for this: all choose for the caller."""

    def set_parent(self, parent):
        """Speak, in this thread or task, in the name of another request (a message) from now on."""
        set_parent(parent)

    def set_thread_parent(self, parent):
        """The same; returns a token for ``reset_thread_parent``."""
        return set_thread_parent(parent)

    def reset_thread_parent(self, token):
        """Speak for the request from before again."""
        reset_thread_parent(token)


def _pin(speaker):
    _pinned.set(speaker)
    _einkorn.cell.set(speaker)


def _message(header):
    """A request of which no more than the header is known."""
    return {
        "header": header,
        "msg_id": header.get("msg_id"),
        "msg_type": header.get("msg_type"),
        "parent_header": {},
        "metadata": {},
        "content": {},
        "buffers": [],
    }


def _msg_id(parent):
    """The id of a whole message or, as older code has it, of a header alone."""
    msg_id = parent.get("header", parent).get("msg_id", "")
    return msg_id if type(msg_id) is str else ""


def _lookup(kind, msg_id=""):
    return json.loads(_einkorn.lookup(kind, msg_id.replace("\0", "")))


def _speaker(parent):
    number = _lookup("message", _msg_id(parent)).get("number", 0)
    if number == 0:
        return _einkorn.cell.get(None)
    return _einkorn.speaker(number, parent if "header" in parent else _message(parent))
