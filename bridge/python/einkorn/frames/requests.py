"""JSON, in and out, without Python's ``json`` until a cell calls the host.

Importing ``json`` costs a third of an interpreter's start, since it brings ``re``.  The C scanner
that does its work needs none of that.
"""

import _json

_SPACE = " \t\n\r"


class _Context:
    """What the scanner asks for: how ``json.loads`` reads."""

    strict = True
    object_hook = object_pairs_hook = array_hook = None
    parse_float = float
    parse_int = int
    parse_constant = {
        "NaN": float("nan"),
        "Infinity": float("inf"),
        "-Infinity": float("-inf"),
    }.__getitem__
    memo = {}


_scan = _json.make_scanner(_Context)
_encode = None  # what json.dumps(..., ensure_ascii=False) does, from the first call on


def parse(line):
    """Return what a line (bytes) of JSON says, as ``json.loads`` does; ValueError: it is none."""
    text = line.decode("utf-8", "surrogatepass").strip(_SPACE)
    try:
        value, end = _scan(text, 0)
    except (StopIteration, SystemError, ValueError):  # SystemError: json.decoder is not there
        raise ValueError("no JSON value") from None
    if end != len(text):
        raise ValueError("more than one JSON value")
    return value


def call(call_id, method, args, cell_id):
    """Return the text of a ``host_call``; TypeError or ValueError if ``args`` is no JSON.

    Any thread.
    """
    global _encode
    if _encode is None:
        import json

        _encode = json.JSONEncoder(ensure_ascii=False).encode
    frame = {
        "type": "host_call",
        "id": call_id,
        "method": method,
        "args": _with_cell(method, args, cell_id),
    }
    return _encode(frame)


def _with_cell(method, args, cell_id):
    """Return ``args`` with the cell that makes an artifact, where its description leaves it out."""
    if method not in ("save_artifact", "materialise_artifact") or not cell_id or not args:
        return args
    description = args[0]
    if not isinstance(description, dict):
        return args
    description = {**description, "executionCellId": cell_id}
    if "producingCellId" not in description and "producing_cell_id" not in description:
        description["producingCellId"] = cell_id
    return [description, *args[1:]]
