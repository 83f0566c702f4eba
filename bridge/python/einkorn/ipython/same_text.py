"""Which values IPython would show just as the plain shell does.

``text/plain`` must not depend on whether IPython is loaded yet, and loading it for a result costs a
tenth of a second.  So the plain shell shows what it shows alike to the byte: numbers, texts, short
lists, tuples and dicts of them, and whatever has a ``__repr__`` of its own, or none, and no pretty
printer.  For all else IPython is loaded.  (The rules are those of IPython/lib/pretty.py; the table of
tests/ipython/test_same_text.py compares both.)
"""

from abc import ABCMeta

from ..pretty import has_no_repr

_ATOMS = frozenset({type(None), bool, int, float, complex, str, bytes})
_CONTAINERS = frozenset({list, tuple, dict})
_WIDTH = 79  # a container that is wider is broken into lines
_BITS = 10_000  # of an int: far more digits than repr() is willing to make

# Modules some of whose classes have printers of their own in IPython.
_SPECIAL = frozenset({"builtins", "types", "re", "datetime", "collections", "os"})


def same(value):
    """Return whether ``pretty.plain(value)`` is IPython's text; runs no code of the value's."""
    kind = type(value)
    if kind in _ATOMS:
        return kind is not int or value.bit_length() < _BITS
    if kind in _CONTAINERS:
        return _is_small(value, [_WIDTH]) and len(repr(value)) <= _WIDTH
    try:
        return value.__class__ is kind and _is_told_alike(kind)
    except Exception:
        return False


def _is_small(value, room):
    """Whether nothing but atoms is in it, at most ``room[0]`` of them."""
    kind = type(value)
    if kind in _ATOMS:
        room[0] -= 1
        return room[0] > 0 and (kind is not int or value.bit_length() < _BITS)
    if kind not in _CONTAINERS:
        return False
    room[0] -= 1
    if room[0] <= 0 or len(value) > _WIDTH:
        return False
    if kind is dict and not all(_is_small(key, room) for key in value):
        return False
    items = value.values() if kind is dict else value
    return all(_is_small(item, room) for item in items)


def _is_told_alike(kind):
    """Whether IPython asks only ``repr``, and the methods for other types as display.py does.

    Or nothing but the name of the class, where that is shown as classes are.
    """
    bases = kind.__mro__[:-1]
    names = set().union(*[base.__dict__.keys() & _NAMES for base in bases])
    if not names.isdisjoint(_OPEN) and not names.isdisjoint(METHODS):
        return False  # of those that may have every attribute IPython asks none of the methods
    for base in bases:
        if base.__module__ in _SPECIAL or "_repr_pretty_" in base.__dict__:
            return False
        if "__repr__" in base.__dict__:  # IPython 8 and 9 look in these two places
            return callable(base.__dict__["__repr__"]) and callable(base.__repr__)
    return type(kind) in _METACLASSES and has_no_repr(kind) and type(kind.__module__) is str


_METACLASSES = (type, ABCMeta)  # whose classes IPython shows by their names
_OPEN = frozenset({"__getattr__", "__getattribute__"})
METHODS = frozenset({"_ipython_display_", "_repr_mimebundle_", *(f"_repr_{kind}_" for kind in (
    "html", "markdown", "svg", "png", "jpeg", "pdf", "latex", "json", "javascript"))})  # fmt: skip
_NAMES = _OPEN | METHODS
