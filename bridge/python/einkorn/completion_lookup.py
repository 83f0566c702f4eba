"""What names in a cell stand for, found without calling anything.

A dotted name is followed by plain attribute access, and by subscripts only in exact dicts, lists
and tuples.  Attribute access can be user code (properties, ``__getattr__``) and is not trusted:
whatever it raises means that there is nothing.  Only KeyboardInterrupt gets through, for it may
be the user's.  ``inspect`` is loaded at the first use.
"""

import builtins
import functools
import sys
import time
import types

MISSING = object()

MAX_DEFAULT = 40  # characters of a parameter's default that are shown

_FUNCTIONS = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.WrapperDescriptorType,
    types.MethodWrapperType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    functools._lru_cache_wrapper,
    staticmethod,
    classmethod,
)

SIMPLE = (type(None), bool, int, float, complex, str, bytes, type(...))
_CONTAINERS = (tuple, list, set, dict, frozenset)


def exactly(value, classes):
    """Is ``value``'s type one of these?  Compares by identity: a metaclass may have its own ==."""
    cls = type(value)
    return any(cls is item for item in classes)


class Deadline:
    """A time budget in seconds, from now on."""

    def __init__(self, seconds):
        self._end = time.monotonic() + seconds

    def over(self):
        """Is the time used up?"""
        return time.monotonic() > self._end


def resolve(parts, namespace):
    """Return what the dotted name ``parts`` (from completion_scan.chain) stands for, or MISSING."""
    if parts is None:
        return MISSING
    (kind, text), *rest = parts
    if kind == "literal":
        value = literal(text)
    else:
        value = namespace.get(text, MISSING)
        if value is MISSING:
            value = vars(builtins).get(text, MISSING)
    for kind, text in rest:
        if value is MISSING:
            break
        value = attribute(value, text) if kind == "attribute" else _item(value, literal(text))
    return value


def literal(text):
    """Return the value of a literal in source form, MISSING if it is none (f-strings are not)."""
    from ast import literal_eval

    try:
        return literal_eval(text)
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        return MISSING


def attribute(value, name):
    """Return ``value.name``, or MISSING."""
    try:
        return getattr(value, name)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return MISSING


def _item(value, key):
    if key is MISSING or not exactly(value, (dict, list, tuple)):
        return MISSING
    try:
        return value[key]
    except KeyboardInterrupt:
        raise
    except BaseException:
        return MISSING


def attributes(value):
    """Return the names that ``dir`` tells of ``value``; a list of str."""
    for ask in (dir, _defined):
        try:
            return [name for name in ask(value) if type(name) is str]
        except KeyboardInterrupt:
            raise
        except BaseException:
            pass  # a mistake in his __dir__: do without it
    return []


def _defined(value):
    """Return the names that the classes of ``value`` define (its own ones, of a class)."""
    cls = value if issubclass(type(value), type) else type(value)
    space = type.__dict__["__dict__"]
    return {name for base in type.__dict__["__mro__"].__get__(cls) for name in space.__get__(base)}


def static(value, name):
    """Return what is stored as ``value.name`` without running descriptors, or MISSING."""
    from inspect import getattr_static

    try:
        return getattr_static(value, name)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return MISSING


def kind(value):
    """Return the word for an object's type that clients have icons for."""
    if value is MISSING:
        return "<unknown>"
    cls = type(value)
    if issubclass(cls, type):
        return "class"
    if issubclass(cls, types.ModuleType):
        return "module"
    if exactly(value, _FUNCTIONS):
        return "function"
    return "property" if cls is property else "instance"


def signature(value):
    """Return the inspect.Signature of a callable, None if it has none that can be told."""
    import inspect

    options = {}
    if sys.version_info >= (3, 14):  # annotations that name nothing yet are no error
        from annotationlib import Format

        options = {"annotation_format": Format.FORWARDREF}
    try:
        innermost = inspect.unwrap(value, stop=lambda item: hasattr(item, "__signature__"))
        if callable(getattr(innermost, "__signature__", None)):
            return None  # inspect would call it
        found = inspect.signature(value, **options)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return None
    return found if type(found) is inspect.Signature else None


def parameters(found, annotated=False):
    """Return the parameters of a Signature as a list of texts, with ``/`` and ``*`` among them.

    Defaults are shown as far as that needs no ``repr`` of the user's.
    """
    texts = []
    previous = None
    for item in found.parameters.values():
        if previous == item.POSITIONAL_ONLY != item.kind:
            texts.append("/")
        starred = previous in (item.KEYWORD_ONLY, item.VAR_POSITIONAL)
        if item.kind == item.KEYWORD_ONLY and not starred:
            texts.append("*")
        texts.append(_parameter(item, annotated))
        previous = item.kind
    if texts and previous == item.POSITIONAL_ONLY:
        texts.append("/")
    return texts


def _parameter(item, annotated):
    stars = {item.VAR_POSITIONAL: "*", item.VAR_KEYWORD: "**"}.get(item.kind, "")
    text = stars + item.name
    equals = "="
    if annotated and item.annotation is not item.empty:
        text += f": {annotation(item.annotation)}"
        equals = " = "
    if item.default is not item.empty:
        text += equals + _default(item.default)
    return text


def _default(value):
    if exactly(value, SIMPLE) or (exactly(value, _CONTAINERS) and not value):
        text = repr(value)
    elif exactly(value, (tuple, list)) and all(exactly(item, SIMPLE) for item in value):
        text = repr(value)
    elif kind(value) in ("class", "function", "module"):
        text = _name(value) or "..."
    else:
        text = "..."
    return text if len(text) <= MAX_DEFAULT else "..."


def annotation(value):
    """Return the text of an annotation, "..." where only the user's own ``repr`` could tell it."""
    if type(value) is str:
        return value
    if value is None or value is type(None):
        return "None"
    if kind(value) == "class":
        return _name(value) or "..."
    if type(value).__module__ in ("typing", "types", "annotationlib"):
        try:
            return repr(value).replace("typing.", "")
        except Exception:
            pass  # of something within it
    return "..."


def _name(value):
    name = attribute(value, "__name__")
    return name if type(name) is str else None


def without_first(found):
    """Return a Signature without its first parameter, which a bound method fills."""
    items = list(found.parameters.values())
    if items and items[0].kind is not items[0].VAR_POSITIONAL:
        items = items[1:]
    return found.replace(parameters=items)


def brief(value, bound=False):
    """Return the signature of a function or class as "(x, y=2)", "" if there is none.

    ``value`` may be what ``static`` returned; ``bound``: it is a method, looked up on an instance.
    """
    if type(value) is staticmethod:
        value, bound = value.__func__, False
    elif type(value) is classmethod:
        value, bound = value.__func__, True
    elif kind(value) not in ("function", "class"):
        return ""
    found = signature(value)
    if found is None:
        return ""
    method = (types.FunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)
    if bound and exactly(value, method):
        found = without_first(found)
    return f"({', '.join(parameters(found))})"
