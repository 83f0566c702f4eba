"""str, bytes, list and dict that know where they come from.

They are equal to what they stand for, and pickle as that.  What is made of a tagged text by one of
its own methods or by slicing is tagged, too.
"""


class Tagged:
    """What has room for ``tags``."""

    __slots__ = ()

    @classmethod
    def tagged(cls, value, tags):
        """Return a copy of ``value`` with these tags."""
        copy = cls(value)
        copy.tags = tags
        return copy


class TaggedStr(Tagged, str):
    """A text."""

    tags = frozenset()

    def __reduce__(self):
        return str, (str.__str__(self)[:],)

    def __str__(self):
        return self

    def encode(self, *args, **kwargs):
        """See str.encode."""
        return _spread(str.encode(self, *args, **kwargs), self.tags)


class TaggedBytes(Tagged, bytes):
    """Bytes."""

    tags = frozenset()

    def __reduce__(self):
        return bytes, (bytes.__getitem__(self, slice(None)),)

    def decode(self, *args, **kwargs):
        """See bytes.decode."""
        return _spread(bytes.decode(self, *args, **kwargs), self.tags)


class TaggedList(Tagged, list):
    """What a tagged text of JSON holds."""

    tags = frozenset()

    def __reduce__(self):
        return list, (list(self),)


class TaggedDict(Tagged, dict):
    """What a tagged text of JSON holds."""

    tags = frozenset()

    def __reduce__(self):
        return dict, (dict(self),)


TAGGED = {str: TaggedStr, bytes: TaggedBytes, list: TaggedList, dict: TaggedDict}

_METHODS = (
    "__add__ __getitem__ __mod__ __mul__ __rmul__ capitalize center expandtabs join ljust lower "
    "lstrip partition removeprefix removesuffix replace rjust rpartition rsplit rstrip split "
    "splitlines strip swapcase title translate upper zfill"
)
_TEXT_METHODS = " __format__ casefold format format_map"


def _spread(value, tags):
    """Return ``value`` with these tags, or a sequence of texts with each of them tagged."""
    kind = type(value)
    if kind is str or kind is bytes:
        return TAGGED[kind].tagged(value, tags)
    if kind is list or kind is tuple:
        return kind([_spread(item, tags) for item in value])
    return value


def _tags_of(args):
    found = frozenset()
    for value in args:
        if isinstance(value, Tagged):
            found |= value.tags
    return found


def _method(base, name):
    plain = getattr(base, name)

    def method(self, *args, **kwargs):
        result = plain(self, *args, **kwargs)
        return result if result is NotImplemented else _spread(result, self.tags | _tags_of(args))

    method.__name__, method.__qualname__ = name, f"{base.__name__}.{name}"
    method.__doc__ = plain.__doc__
    return method


def _reflected_addition(base):
    def __radd__(self, other):
        if not isinstance(other, base):
            return NotImplemented
        return _spread(base.__add__(other, self), self.tags)

    return __radd__


for _base, _names in ((str, _METHODS + _TEXT_METHODS), (bytes, _METHODS)):
    for _name in _names.split():
        setattr(TAGGED[_base], _name, _method(_base, _name))
    TAGGED[_base].__radd__ = _reflected_addition(_base)
