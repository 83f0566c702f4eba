"""Which versions of a host's files a value comes from: its tags, a frozenset of str.

``set_tags(value, tags)`` returns the value with these tags: itself, or a copy where its type has no
room for them (str, bytes, list, dict); what can bear none comes back as it was.  ``get_tags(value)``
returns what it has.  What is read from a file that the host knows is tagged with its version; a file
that is written from a tagged value is told to the host.
"""

from _weakref import ref

from .provenance_values import TAGGED, Tagged

__all__ = ["PROVENANCE_VERSION", "get_tags", "set_tags"]

PROVENANCE_VERSION = "1"

_known = {}  # id(value) -> (weak reference to it, tags)
_NONE = frozenset()


def get_tags(value):
    """Return the tags of ``value``, a frozenset."""
    if isinstance(value, Tagged):
        return value.tags
    known = _known.get(id(value))
    return known[1] if known is not None and known[0]() is value else _NONE


def set_tags(value, tags):
    """Return ``value`` with exactly these ``tags`` (any iterable of str)."""
    tags = frozenset(tags)
    kind = TAGGED.get(type(value))
    if kind is not None:
        return kind.tagged(value, tags) if tags else value
    if isinstance(value, Tagged):
        value.tags = tags
        return value
    try:
        _known[id(value)] = ref(value, _Forget(id(value))), tags
    except TypeError:
        pass  # a number, say: no weak reference to it is possible
    return value


class _Forget:
    """Called when a tagged value is gone, before another one may get its id."""

    __slots__ = ("_id",)

    def __init__(self, identity):
        self._id = identity

    def __call__(self, reference):
        known = _known.get(self._id)
        if known is not None and known[0] is reference:
            del _known[self._id]
