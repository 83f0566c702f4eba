"""JSON, in and out, without Python's ``json`` until a cell calls the host with values of its own.

Importing ``json`` costs a third of an interpreter's start, since it brings ``re``.  The C scanner
that does its work needs none of that.
"""

import _json


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


scan = _json.make_scanner(_Context)  # C calls it (bridge/py_json_read.c)
_encode = None  # what json.dumps(..., ensure_ascii=False) does, from the first call on


def call(call_id, method, args, cell_id):
    """Return the text of a ``host_call``; TypeError or ValueError if ``args`` is no JSON.

    C asks for those that it does not write itself: with values that are not plain, or of a method
    that is told its cell, ``cell_id``.  Any thread.
    """
    global _encode
    if _encode is None:
        import json

        _encode = json.JSONEncoder(ensure_ascii=False).encode
    if cell_id:
        args = _with_cell(args, cell_id)
    return _encode({"type": "host_call", "id": call_id, "method": method, "args": args})


def _with_cell(args, cell_id):
    """Return ``args`` with the cell that makes an artifact, where its description leaves it out."""
    description = args[0] if args else None
    if not isinstance(description, dict):
        return args
    description = {**description, "executionCellId": cell_id}
    if "producingCellId" not in description and "producing_cell_id" not in description:
        description["producingCellId"] = cell_id
    return [description, *args[1:]]
