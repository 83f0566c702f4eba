"""What libraries take for a kernel's socket and session, when they send messages by themselves.

jupyter_client inside of a notebook shows what its own kernel says by ``session.send(pub_socket,
…)``; others build messages and send their frames.  There is no socket here: all of it goes to the
runner.  jupyter_client's Session is not needed for that, and is not imported.
"""

import os
from contextvars import copy_context

import _einkorn

from .. import parents

_DELIMITER = b"<IDS|MSG>"


def message(msg_type, content):
    """Return a message as hooks see one: its header is what the kernel will make anew."""
    import datetime

    parent = parents.get_parent().get("header", {})
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


def _publish(parent, *message):
    """Send a message in the name of a request, known by its header; {}: of the caller's."""
    if parent and parent.get("msg_id") != parents.get_parent().get("msg_id"):
        copy_context().run(_publish_for, parent, message)
    else:
        _einkorn.publish(*message)


def _publish_for(parent, message):
    parents.set_parent(parent)  # in a context of its own: nothing is to be put back
    _einkorn.publish(*message)


class Session:
    """The methods of jupyter_client.session.Session that can be used from here.

    session, username  those of the request in whose name the caller speaks
    key                b"": signing is the kernel process's work
    """

    key = b""
    signature_scheme = "hmac-sha256"
    debug = False
    check_pid = True

    @property
    def session(self):
        """The name of the client's session."""
        return parents.get_parent().get("header", {}).get("session", "")

    @property
    def username(self):
        """The name of the client's user."""
        return parents.get_parent().get("header", {}).get("username", "")

    @property
    def msg_id(self):
        """A new name for a message."""
        return os.urandom(16).hex()

    def msg_header(self, msg_type):
        """Return the header of a new message."""
        return message(msg_type, {})["header"]

    def msg(self, msg_type, content=None, parent=None, header=None, metadata=None):
        """Return a new message (dict); ``send`` takes it."""
        made = message(msg_type, {} if content is None else content)
        made["header"].update(header or {})
        made["metadata"].update(metadata or {})
        if parent is not None:
            made["parent_header"] = parent.get("header", parent)
        return made

    def send(
        self, stream, msg_or_type, content=None, parent=None, ident=None,
        buffers=None, track=False, header=None, metadata=None,
    ):  # fmt: skip
        """Send a message to everybody who listens; return it.

        msg_or_type  a message (then the rest counts only as far as it adds buffers) or its type
        parent       message or header of the request that it belongs to; None: the caller's

        Only ``pub_socket`` can be sent to: a reply is the kernel process's own.
        """
        if not isinstance(stream, PubSocket):
            raise TypeError(f"only the kernel's iopub_socket can be sent to from here, not {stream!r}")
        if isinstance(msg_or_type, dict):
            sent = msg_or_type
            buffers = buffers or sent.get("buffers")
        else:
            sent = self.msg(msg_or_type, content, parent, header, metadata)
        kind = sent["header"]["msg_type"]
        _publish(sent.get("parent_header"), kind, sent["content"], sent["metadata"], buffers)
        return sent


class PubSocket:
    """``iopub_socket``: takes the frames of a message and sends it, whatever its signature."""

    def send_multipart(self, msg_parts, flags=0, copy=True, track=False, **_other):
        """Send the message whose frames (messaging spec, "The Wire Protocol") are given."""
        import json

        frames = [bytes(frame) for frame in msg_parts]
        start = frames.index(_DELIMITER) + 2
        header, parent, metadata, content = (json.loads(frame) for frame in frames[start : start + 4])
        _publish(parent, header["msg_type"], content, metadata, frames[start + 4 :])

    def flush(self, *_arguments, **_keywords):
        """Nothing waits here."""


SESSION = Session()
PUB_SOCKET = PubSocket()
