"""What is known about the object at a position in a cell (messaging spec, "Introspection").

The answer is text alone, laid out as IPython's: signature, docstring (or source), file, type.
Nothing is called; see completion_lookup for what user code can run all the same.
"""

import re
import types

from . import completion_lookup as lookup
from .completion_lookup import MISSING
from .completion_scan import NAME, Scan, chain, ends_operand

MAX_TEXT = 200_000  # characters of a docstring or source
WIDTH = 75  # of a signature on one line

_NAME_END = re.compile(r"\w*")


def inspect(code, cursor, detail_level, namespace):
    """Return the content of an inspect_reply (a dict).

    ``cursor`` counts code points; beyond the end, and negative, it means the end.  At
    ``detail_level`` 1 the source stands in the docstring's place, where there is one.
    """
    import warnings

    if not 0 <= cursor <= len(code):
        cursor = len(code)
    data = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        name, value = _find(code, cursor, namespace)
        if value is not MISSING:
            data["text/plain"] = _text(name, value, detail_level)
    return {"status": "ok", "found": bool(data), "data": data, "metadata": {}}


# --- What is meant --------------------------------------------------------------------------


def _find(code, cursor, namespace):
    """Return (name, object): what the cursor touches, or else what the call it is in calls.

    Plain data among the arguments of a call gives way to the callable: there it is the signature
    that one wants to see.
    """
    end = cursor
    if code[max(cursor - 1, 0) : cursor + 1].strip():
        end = _NAME_END.match(code, cursor).end()
    scan = Scan(code[:end])
    if scan.comment:
        return "", MISSING
    touched = _touched(scan, namespace)
    if touched[1] is not MISSING and lookup.kind(touched[1]) != "instance":
        return touched
    called = _called(scan, namespace)
    return touched if called[1] is MISSING else called


def _touched(scan, namespace):
    tokens = scan.tokens
    if scan.string is not None or not tokens:
        return "", MISSING
    end = len(tokens)
    while end and tokens[end - 1].text == ")":  # behind a call: what was called
        end = _opening(tokens, end - 1)
    if not end or tokens[end - 1].kind != NAME:
        return "", MISSING
    return _resolve(tokens, end, namespace)


def _opening(tokens, closing):
    """Return the index of the bracket that is closed at index ``closing``; 0 if there is none."""
    depth = 0
    for index in range(closing, -1, -1):
        depth += (tokens[index].text in ")]}") - (tokens[index].text in "([{")
        if depth == 0:
            return index
    return 0


def _called(scan, namespace):
    """Return (name, object) of the innermost call that is open."""
    for index in reversed(scan.brackets):
        if scan.tokens[index].text == "(" and index and ends_operand(scan.tokens[index - 1]):
            return _resolve(scan.tokens, index, namespace)
    return "", MISSING


def _resolve(tokens, end, namespace):
    parts = chain(tokens, end)
    value = lookup.resolve(parts, namespace)
    return (parts[-1][1] if parts else ""), value


# --- What is told about it ------------------------------------------------------------------


def _text(name, value, detail_level):
    kind = lookup.kind(value)
    fields = []
    signature = lookup.signature(value) if callable(value) else None
    if signature is not None:
        title = "Init signature" if kind == "class" else "Signature"
        fields.append((title, _signature(name, signature)))
    source = _source(value, kind) if detail_level else None
    if lookup.exactly(value, lookup.SIMPLE):
        fields.append(("Value", repr(value)))
    if source is not None:
        fields.append(("Source", source))
    else:
        fields.append(("Docstring", _doc(value) or "<no docstring>"))
    if (file := _file(value, kind)) is not None:
        fields.append(("File", file))
    fields.append(("Type", type.__dict__["__name__"].__get__(type(value))))
    width = max(len(title) for title, _ in fields) + 2
    return "\n".join(_field(title, text, width) for title, text in fields)


def _field(title, text, width):
    if len(text) > MAX_TEXT:
        text = f"{text[:MAX_TEXT]}\n... ({len(text) - MAX_TEXT} characters left out)"
    if "\n" in text and title not in ("Signature", "Init signature"):
        return f"{title}:\n{text}"
    return f"{title + ':':{width}}{text}"


def _signature(name, found):
    texts = lookup.parameters(found, annotated=True)
    ending = ")"
    if found.return_annotation is not found.empty:
        ending += f" -> {lookup.annotation(found.return_annotation)}"
    line = f"{name}({', '.join(texts)}{ending}"
    if len(line) <= WIDTH or not texts:
        return line
    return "".join([f"{name}(\n", *(f"    {text},\n" for text in texts), ending])


def _doc(value):
    """Return the docstring without its indentation; None if there is none."""
    import inspect

    try:
        doc = inspect.getdoc(value)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return None
    return inspect.cleandoc(str.__str__(doc)) if isinstance(doc, str) else None


_HAVE_SOURCE = ("class", "function", "module")


def _source(value, kind):
    if kind not in _HAVE_SOURCE:
        return None
    import inspect

    try:
        return inspect.getsource(value).rstrip("\n")
    except KeyboardInterrupt:
        raise
    except BaseException:  # OSError and TypeError, and what unusual attributes lead to
        return None


def _file(value, kind):
    if kind not in _HAVE_SOURCE or type(value) is types.BuiltinFunctionType:
        return None
    import inspect

    try:
        name = inspect.getfile(inspect.unwrap(value))
    except KeyboardInterrupt:
        raise
    except BaseException:
        return None
    return name if type(name) is str else None
