"""Making values fit for JSON.  The kernel does it by itself with all that is sent."""

import json

import _einkorn

__all__ = ["encode_images", "json_clean"]


def json_clean(obj):
    """Return a copy of a value as those read it to whom it is sent: dicts, lists, texts, numbers."""
    return json.loads(_einkorn.encode(obj))


def encode_images(format_dict):
    """Return representations as they are: bytes become base64 text when they are sent."""
    return format_dict
