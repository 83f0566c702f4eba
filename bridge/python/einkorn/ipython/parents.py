"""The request in whose name a thread or task speaks: the "parent" of the messaging protocol."""

import _einkorn


def current():
    """Return the parent message: "header", "parent_header", "metadata", "content", "buffers".

    An empty dict where there is none.
    """
    return _einkorn.parent()


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
