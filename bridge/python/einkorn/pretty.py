"""The plain text of a value: ``repr``, and long built-in containers one item per line.

The layout is the one people know from IPython: a list, tuple, dict or set whose ``repr`` is wider
than 79 characters is broken after its commas, level by level, each level indented by one more; of
a level with more than 1000 items the rest is "...".  Only exact built-in types are treated so.
What has no ``__repr__`` is told by class and address, as IPython words it.
"""

WIDTH = 79
MAX_ITEMS = 1000

_BRACKETS = {list: "[]", tuple: "()", dict: "{}", set: "{}", frozenset: ("frozenset({", "})")}

_NAMELESS = (None, "__builtin__", "builtins", "exceptions")  # modules that IPython does not name


def plain(value):
    """Return the plain text of any value (str).  Raises what the value's ``__repr__`` raises."""
    kind = type(value)
    if kind not in _BRACKETS or not value:
        if has_no_repr(kind):
            return f"<{_name(kind)} at 0x{id(value):x}>"
        text = repr(value)
        if type(text) is str and text.isprintable():
            return text
        return "\n".join(text.splitlines())
    if len(value) <= MAX_ITEMS:
        text = repr(value)
        if len(text) <= WIDTH:
            return text
    return _render(value, 0, 0, 0, frozenset())


def has_no_repr(kind):
    """Return whether a class leaves it to ``object`` what its instances are called."""
    return kind.__repr__ is object.__repr__ and not any(
        "__repr__" in base.__dict__ for base in kind.__mro__[:-1]
    )


def _name(kind):
    module = kind.__module__
    return kind.__qualname__ if module in _NAMELESS else f"{module}.{kind.__qualname__}"


def _render(value, indent, column, closing, parents):
    """Lay one value out.

    ``column`` is where its text begins, ``indent`` the indentation of lines that it breaks to,
    ``closing`` the number of characters that follow its last one; ``parents`` holds the ids of
    the containers it is in.
    """
    kind = type(value)
    if kind not in _BRACKETS or not value:
        return repr(value).replace("\n", "\n" + " " * indent)
    opening, ending = _BRACKETS[kind]
    if id(value) in parents:
        return f"{opening}...{ending}"
    if len(value) <= MAX_ITEMS:
        flat = repr(value)
        if column + len(flat) + closing <= WIDTH and "\n" not in flat:
            return flat
    if kind is tuple and len(value) == 1:
        ending = ",)"
    inner = indent + len(opening)
    parents = parents | {id(value)}
    lines = []
    for position, item in enumerate(value.items() if kind is dict else value):
        if position == MAX_ITEMS:
            lines.append("...")
            break
        after = len(ending) + closing if position == len(value) - 1 else 1
        head = ""
        if kind is dict:
            head = repr(item[0]) + ": "
            item = item[1]
        lines.append(head + _render(item, inner, inner + len(head), after, parents))
    return opening + (",\n" + " " * inner).join(lines) + ending
