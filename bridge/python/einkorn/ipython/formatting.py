"""The representations of a value: IPython's, without asking formatters that have nothing to say.

IPython asks a dozen of them about each value.  Most have no printer for its type, and its classes
no method for them, which takes long to find out one by one: longer than all else that a display
does.  The names in the classes tell it at once.  So IPython's own ``format`` runs on a view of the
DisplayFormatter that leaves those out.  All others are called as ever, and where something is not
as IPython has it (formatters of other classes, objects that answer to every name), all are.
Nothing is kept for the next display: classes and formatters change.
"""

from IPython.core import formatters

from .same_text import METHODS

# Whose class has one of these may have attributes that no dict shows, or pass for another's.
_OPEN = frozenset({"__getattr__", "__getattribute__", "__class__"})
_NAMES = METHODS | _OPEN

# These have a __getattribute__ of their own that does what object's does, and no such methods.
_BUILT_IN = frozenset(
    {object, bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset}
    | {range, slice, type(None), BaseException}
)

_BASE = formatters.BaseFormatter
_STOCK = {  # formatters whose ways are known -> how they are called; but text/plain always speaks
    kind: kind.__call__
    for kind in vars(formatters).values()
    if isinstance(kind, type) and issubclass(kind, _BASE) and kind.__module__ == formatters.__name__
    and kind is not formatters.PlainTextFormatter
}  # fmt: skip


def _ways():
    return (
        formatters.DisplayFormatter.format,
        formatters.get_real_method,
        _BASE.lookup,
        _BASE.lookup_by_type,
        _BASE._in_deferred_types,
    )


_WAYS = _ways()


class DisplayFormatter(formatters.DisplayFormatter):
    """IPython's, but faster."""

    def format(self, obj, include=None, exclude=None):
        """Return the representations of an object and their metadata: see IPython's."""
        if _ways() != _WAYS:  # somebody replaced them
            return super().format(obj, include, exclude)
        return _WAYS[0](_View(self, obj), obj, include, exclude)


DisplayFormatter.__module__ = formatters.__name__


class _View:
    """A DisplayFormatter as ``format`` needs one, without who has nothing to say about an object."""

    __slots__ = ("_whole", "_object", "_bases", "_names")

    def __init__(self, whole, obj):
        self._whole = whole
        self._object = obj
        self._bases = None  # the object's classes, once looked at; () if names do not tell
        self._names = frozenset()  # what is in them, of METHODS

    def __getattr__(self, name):
        return getattr(self._whole, name)

    @property
    def ipython_display_formatter(self):
        formatter = self._whole.ipython_display_formatter
        return (lambda obj: None) if self._is_silent(formatter) else self._asked(formatter)

    @property
    def mimebundle_formatter(self):
        formatter = self._whole.mimebundle_formatter
        return _no_bundle if self._is_silent(formatter) else self._asked(formatter)

    @property
    def formatters(self):
        return self

    def items(self):
        """Yield (MIME type, formatter) of those that are to be asked."""
        for mime, formatter in self._whole.formatters.items():
            if not self._is_silent(formatter):
                yield mime, self._asked(formatter)

    def _asked(self, formatter):
        self._bases = None  # what it calls may change the object and its classes
        return formatter

    def _is_silent(self, formatter):
        """Return whether a formatter would answer None, and call nothing of the user's for it."""
        kind = formatter.__class__
        bases = self._bases
        if bases is None:
            bases = self._look()
        if not bases or _STOCK.get(kind) is not kind.__call__:
            return False
        values = formatter._trait_values  # what its attributes are, without their descriptors
        try:
            if not values["enabled"]:
                return True
            method = values["print_method"]
            if method in self._names or method not in METHODS:
                return False
            single = values["singleton_printers"]
            types = values["type_printers"]
            deferred = values["deferred_printers"]
        except KeyError:  # a default that is made when it is first asked for
            return False
        if single and id(self._object) in single:
            return False
        if types and not types.keys().isdisjoint(bases):
            return False
        return not deferred or deferred.keys().isdisjoint(map(formatters._mod_name_key, bases))

    def _look(self):
        """Find the names that matter in the object and its classes; return these.  Runs no code of theirs."""
        found = set()
        bases = type(self._object).__mro__
        for base in bases:
            if base not in _BUILT_IN:
                found |= base.__dict__.keys() & _NAMES
        if found.isdisjoint(_OPEN):
            own = getattr(self._object, "__dict__", None)
            if own:
                found |= own.keys() & METHODS
        else:
            bases = ()
        self._bases, self._names = bases, found
        return bases


def _no_bundle(obj, include=None, exclude=None):
    return {}, {}
