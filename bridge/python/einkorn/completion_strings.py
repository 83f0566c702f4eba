"""What can stand within a string: a key of the object it is a subscript of, or a file's path."""

import os
import sys
from itertools import islice

from . import completion_lookup as lookup
from .completion_scan import chain, ends_operand

MAX_KEYS = 100_000  # of an object, that are looked at


def subscripted(scan):
    """Return the index of the bracket if what comes next is all of a subscript so far, or None."""
    tokens = scan.tokens
    position = len(tokens) - 1
    if position < 1 or tokens[position].text != "[" or scan.brackets[-1:] != [position]:
        return None
    return position if ends_operand(tokens[position - 1]) else None


def keys(scan, bracket, namespace):
    """Yield the keys of the object before the bracket, at most MAX_KEYS.

    Only of objects that can tell them without user code: dicts, os.environ, data frames,
    structured arrays.
    """
    value = lookup.resolve(chain(scan.tokens, bracket), namespace)
    try:
        yield from islice(_keys(value), MAX_KEYS)
    except RuntimeError:
        pass  # another thread changed the dict meanwhile


def _keys(value):
    kind = type(value)
    if issubclass(kind, dict):
        return dict.__iter__(value)
    if kind is type(os.environ):
        return iter(value)
    if _is_a(kind, "pandas", "DataFrame") or _is_a(kind, "polars", "DataFrame"):
        return iter(value.columns)
    if _is_a(kind, "numpy", "ndarray") or _is_a(kind, "numpy", "void"):
        return iter(value.dtype.names or ())
    return iter(())


def _is_a(kind, module, name):
    cls = lookup.attribute(sys.modules.get(module), name)
    return type(cls) is type and cls in kind.__mro__


def string_keys(scan, bracket, after, namespace):
    """Return (start, texts): the keys that the open string can become.

    ``after`` is the text behind the cursor.  What it lacks of quote and bracket belongs to the
    match, so that the result is a whole subscript.
    """
    string = scan.string
    typed = _value(scan.text[string.body :], string)
    if typed is None:
        return string.body, []
    ending = _ending(string.quote, after)
    found = []
    for key in keys(scan, bracket, namespace):
        if type(key) is type(typed) and key.startswith(typed):
            text = _spelled(key, string)
            if text is not None:
                found.append(text + ending)
    return string.body, found


def _ending(quote, after):
    after = after.partition("\n")[0].strip()
    if after.startswith(quote):
        return ""
    return quote if after.startswith("]") else quote + "]"


def plain_keys(scan, bracket, prefix, after, namespace):
    """Return the keys that can follow the bracket, in source form, and begin with ``prefix``."""
    ending = "" if after.lstrip(" \t").startswith("]") else "]"
    found = []
    for key in keys(scan, bracket, namespace):
        if lookup.exactly(key, (str, bytes, int, bool, type(None))):
            text = repr(key)
            if text.startswith(prefix):
                found.append(text + ending)
    return found


def paths(scan, deadline):
    """Return (start, names): the files that the open string can name; directories end in "/".

    ``start`` is where the last part of the path begins.
    """
    string = scan.string
    text = scan.text[string.body :]
    typed = _value(text, string)
    if type(typed) is not str or "\n" in typed or "\0" in typed:
        return string.body, []
    start = string.body + text.rfind("/") + 1
    directory, _, begun = typed.rpartition("/")
    if "/" in typed:
        directory = os.path.expanduser(directory + "/")
    found = []
    try:
        with os.scandir(directory or ".") as entries:
            for entry in entries:
                if deadline.over():
                    break
                hidden = entry.name.startswith(".") and not begun
                if hidden or not entry.name.startswith(begun):
                    continue
                name = _spelled(entry.name, string)
                if name is not None:
                    found.append(name + "/" if entry.is_dir() else name)
    except OSError:
        pass  # no such directory, or not ours to read: whatever is known till here
    return start, sorted(found)


def _value(text, string):
    """Return the value of the open string so far (str or bytes); None if that cannot be told."""
    if string.formatted and ("{" in text or "}" in text):
        return None
    if "\\" not in text and "b" not in string.prefix:
        return text
    prefix = string.prefix.replace("f", "").replace("t", "")
    value = lookup.literal(prefix + string.quote + text + string.quote)
    return None if value is lookup.MISSING else value


def _spelled(value, string):
    """Return how ``value`` (str or bytes) is written in the open string; None if it cannot be."""
    if type(value) is bytes:
        value = value.decode("latin-1")
        if not value.isascii() and "r" in string.prefix:
            return None
    quote = string.quote[0]
    if "r" in string.prefix:
        plain = value.isprintable() and quote not in value and not value.endswith("\\")
        text = value if plain else None
    else:
        text = "".join(_escaped(character, quote, string) for character in value)
    if text is not None and string.formatted:
        text = text.replace("{", "{{").replace("}", "}}")
    return text


def _escaped(character, quote, string):
    if character == "\\" or character == quote:
        return "\\" + character
    if not character.isprintable() or ("b" in string.prefix and not character.isascii()):
        return ascii(character)[1:-1]
    return character
