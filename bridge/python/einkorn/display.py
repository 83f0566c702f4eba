"""Showing values: representations of an object, and the messages that carry them.

``bundle`` asks an object for its representations in the order that IPython documents; ``display``
and its relatives are IPython's functions with IPython's signatures, so code written for it works.
"""

import _einkorn

from . import errors
from .ipython import loading
from .pretty import plain

# Types whose only representation is their text: no method is looked for.
_SIMPLE = frozenset({type(None), bool, int, float, complex, str, bytes, list, tuple, dict, set})

_METHODS = (
    ("text/html", "_repr_html_"),
    ("text/markdown", "_repr_markdown_"),
    ("image/svg+xml", "_repr_svg_"),
    ("image/png", "_repr_png_"),
    ("image/jpeg", "_repr_jpeg_"),
    ("application/pdf", "_repr_pdf_"),
    ("text/latex", "_repr_latex_"),
    ("application/json", "_repr_json_"),
    ("application/javascript", "_repr_javascript_"),
)

_BINARY = (str, bytes)
_TYPES = {
    "image/png": _BINARY,
    "image/jpeg": _BINARY,
    "application/pdf": _BINARY,
    "application/json": (dict, list, tuple, str, int, float, bool),
}


def bundle(value, include=None, exclude=None):
    """Return the representations of ``value`` as (data, metadata), two dicts keyed by MIME type.

    Order: ``_ipython_display_`` (called; then both dicts are empty), ``_repr_mimebundle_``, the
    ``_repr_*_`` methods for types not there yet, and the text.  ``include`` and ``exclude`` are
    collections of MIME types to keep or leave out.  Binary data is returned as bytes; the runner
    encodes it as base64.  A method that returns None or raises NotImplementedError has nothing to
    show; any other Exception is published as an ``error`` message and the rest goes on.
    """
    if loading.shows(value):
        return loading.shell().display_formatter.format(value, include, exclude)
    data, metadata = {}, {}
    if type(value) not in _SIMPLE:
        find = _finder(value)
        show = find("_ipython_display_")
        if show is not None and _call(show)[0]:
            return {}, {}
        _ask_bundle(find, data, metadata, include, exclude)
        for mime, name in _METHODS:
            if mime not in data and is_wanted(mime, include, exclude):
                _ask_method(find, mime, name, data, metadata)
    if "text/plain" not in data and is_wanted("text/plain", include, exclude):
        text = _call(plain, value)[1]
        if text is not None:
            data["text/plain"] = text
    return data, metadata


def is_wanted(mime, include, exclude):
    """Is a representation of this type asked for?  See bundle."""
    return (not include or mime in include) and (not exclude or mime not in exclude)


def _finder(value):
    """Return a function that finds a display method of ``value`` by name, or None.

    A method counts if the class defines it, or the instance has it and does not answer to every
    name (mocks and proxies do).  On a class object only methods bound to it count.
    """
    kind = type(value)
    bases = kind.__mro__
    is_class = issubclass(kind, type)
    open_ended = None

    def find(name):
        nonlocal open_ended
        if is_class or not any(name in base.__dict__ for base in bases):
            if open_ended is None:
                canary = "_ipython_canary_method_should_not_exist_"
                open_ended = _attribute(value, canary) is not None
            if open_ended:
                return None
        method = _attribute(value, name)
        if is_class and type(method) is not _BOUND:
            return None
        return method if callable(method) else None

    return find


class _Sample:
    def method(self):
        """Exists to learn the type of bound methods without importing ``types``."""


_BOUND = type(_Sample().method)


def _attribute(value, name):
    try:
        return getattr(value, name, None)
    except Exception:
        return None


def _call(function, *arguments, **keywords):
    """Return (it worked, its result); a failure is reported in the cell."""
    try:
        return True, function(*arguments, **keywords)
    except NotImplementedError:
        return False, None
    except Exception as error:
        _einkorn.error(*errors.describe(error))
        return False, None


def _ask_bundle(find, data, metadata, include, exclude):
    method = find("_repr_mimebundle_")
    if method is None:
        return
    result = _call(method, include=include, exclude=exclude)[1]
    extra = None
    if isinstance(result, tuple) and len(result) == 2:
        result, extra = result
    if result is None:
        return
    if not isinstance(result, dict):
        _complain("_repr_mimebundle_", result)
        return
    data.update((mime, item) for mime, item in result.items() if is_wanted(mime, include, exclude))
    if isinstance(extra, dict):
        metadata.update(extra)


def _ask_method(find, mime, name, data, metadata):
    method = find(name)
    if method is None:
        return
    result = _call(method)[1]
    extra = None
    if isinstance(result, tuple) and len(result) == 2:
        result, extra = result
    if result is None:
        return
    if not isinstance(result, _TYPES.get(mime, str)):
        _complain(name, result)
        return
    data[mime] = result
    if extra is not None:
        metadata[mime] = extra


def _complain(name, result):
    import warnings

    warnings.warn(f"{name} returned {type(result).__name__}, which cannot be shown", stacklevel=2)


# --- Messages -----------------------------------------------------------------------------------


def publish_display_data(data, metadata=None, *, transient=None, update=False, **keywords):
    """Publish finished representations: ``display_data``, or ``update_display_data`` if ``update``.

    ``data`` and ``metadata`` are dicts keyed by MIME type; ``transient`` a dict that clients do not
    store (``display_id``).  Other keywords are accepted as IPython accepts them, and ignored.
    """
    kind = "update_display_data" if update else "display_data"
    content = {"data": data, "metadata": metadata or {}, "transient": transient or {}}
    _einkorn.publish(kind, content)


def display(
    *objs,
    include=None,
    exclude=None,
    metadata=None,
    transient=None,
    display_id=None,
    raw=False,
    clear=False,
    **kwargs,
):
    """Show each object with all its representations.

    include, exclude   MIME types to send only, or not to send
    metadata           dict keyed by MIME type, merged into the objects' own
    transient          dict that clients do not store
    display_id         a str by which the output can be updated later, True for a fresh one
    raw                the objects are dicts of finished data keyed by MIME type
    clear              clear the cell's output first (when the new one is there)

    Returns a DisplayHandle if ``display_id`` is given, else None.  Raises TypeError for an update
    without a display_id.
    """
    transient = dict(transient or {})
    if display_id:
        if display_id is True:
            display_id = new_id()
        transient["display_id"] = display_id
    if kwargs.get("update") and "display_id" not in transient:
        raise TypeError("display_id required for update_display")
    if not objs and display_id:
        objs, raw = ({},), True  # an empty output to be filled by an update
    if clear:
        clear_output(wait=True)
    for item in objs:
        data, extra = (item, {}) if raw else bundle(item, include, exclude)
        if not data and not raw:
            continue
        merged = _merge(extra, metadata or {})
        publish_display_data(data, merged, transient=transient, **kwargs)
    return DisplayHandle(display_id) if display_id else None


def _merge(first, second):
    """Return two dicts merged, dicts in them too; the second one wins."""
    merged = dict(first)
    for key, value in second.items():
        if isinstance(value, dict) and isinstance(merged.get(key), dict):
            value = _merge(merged[key], value)
        merged[key] = value
    return merged


def update_display(obj, *, display_id, **kwargs):
    """Replace every output that was shown under ``display_id``; keywords as ``display``."""
    display(obj, display_id=display_id, **{**kwargs, "update": True})


def clear_output(wait=False):
    """Clear the cell's output; with ``wait`` only when there is something new to show."""
    _einkorn.publish("clear_output", {"wait": bool(wait)})


def new_id():
    """Return a fresh display id: 32 hexadecimal digits."""
    import os

    return os.urandom(16).hex()


class DisplayHandle:
    """What ``display`` returns for an output that can be updated."""

    def __init__(self, display_id=None):
        self.display_id = new_id() if display_id is None else display_id

    def __repr__(self):
        return f"<{type(self).__name__} display_id={self.display_id}>"

    def display(self, obj, **kwargs):
        """Show ``obj`` once more under this id."""
        display(obj, display_id=self.display_id, **kwargs)

    def update(self, obj, **kwargs):
        """Replace what is shown under this id by ``obj``."""
        update_display(obj, display_id=self.display_id, **kwargs)


def publish_result(value, count):
    """Publish ``value`` as the result of cell ``count``: execute_result, if it shows anything."""
    data, metadata = bundle(value)
    if data:
        content = {"execution_count": count, "data": data, "metadata": metadata, "transient": {}}
        _einkorn.publish("execute_result", content)
