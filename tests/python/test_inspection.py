"""inspect: what is known about the object at a position."""

CELL = '''
import math, functools, sys
value = 5
class Box:
    """A box.

    With a second paragraph.
    """
    def __init__(self, width: int, height: "float" = 2.5) -> None:
        """Make it."""
    def area(self, unit="m"):
        """Its area."""
        return 1
    @property
    def loud(self):
        """Never read."""
        print("ran")
box = Box(1)
class Boo:
    def __repr__(self): print("repr"); return "boo"
boo = Boo()
def foo(x, y=boo, *args: int, key=None, **other) -> list[int]:
    """Say foo."""
    return x
def long_one(first_parameter: int, second_parameter: str = "default", *, third_parameter=None): pass
@functools.wraps(foo)
def wrapped(*args): pass
'''


def ask(code, level=0, cursor=None):
    """A step that asks at ``cursor``, or where "|" stands in ``code``."""
    if cursor is None:
        cursor = code.index("|")
        code = code.replace("|", "", 1)
    return {"call": "inspect", "arguments": [code, cursor, level]}


def text(step):
    """The text of the answer, None if there is nothing."""
    reply = step["result"]
    assert reply["status"] == "ok" and reply["metadata"] == {} and step["messages"] == []
    assert list(reply["data"]) == (["text/plain"] if reply["found"] else [])
    return reply["data"].get("text/plain")


def test_offsets_are_code_points(shell):
    """C047."""
    code = 's="\U0001f600";math.sqrt'
    results = shell(
        "import math", ask(code, cursor=14), ask(code, cursor=400), ask(code, cursor=-1)
    )
    for result in results[1:]:
        assert "square root" in text(result)


def test_the_signature_comes_first_then_docstring_file_and_type(shell):
    questions = ["math.sq|rt", "fo|o", "Bo|x", "box|.area", "box.area|", "value|", "long_one|",
                 "math|",
                 "wrapped|", "int|", "boo|"]  # fmt: skip
    found = dict(zip(questions, [text(item) for item in shell(CELL, *map(ask, questions))[1:]]))
    assert found["math.sq|rt"] == (
        "Signature: sqrt(x, /)\nDocstring: Return the square root of x.\n"
        "Type:      builtin_function_or_method"
    )
    assert found["fo|o"] == (
        "Signature: foo(x, y=..., *args: int, key=None, **other) -> list[int]\n"
        "Docstring: Say foo.\nFile:      <cell 1>\nType:      function"
    )
    assert found["Bo|x"] == (
        "Init signature: Box(width: int, height: float = 2.5) -> None\nDocstring:\n"
        "A box.\n\nWith a second paragraph.\nFile:           <cell 1>\nType:           type"
    )
    assert found["box|.area"] == ("Docstring:\nA box.\n\nWith a second paragraph.\nType:      Box")
    assert found["box.area|"] == (
        "Signature: area(unit='m')\nDocstring: Its area.\nFile:      <cell 1>\nType:      method"
    )
    assert found["value|"].startswith("Value:     5\nDocstring:\nint([x]) -> integer\n")
    assert found["long_one|"].startswith(
        "Signature: long_one(\n    first_parameter: int,\n    second_parameter: str = 'default',\n"
        "    *,\n    third_parameter=None,\n)\nDocstring: <no docstring>\n"
    )
    assert "This module provides access" in found["math|"] and found["math|"].endswith("module")
    assert found["wrapped|"].startswith("Signature: wrapped(x, y=...")
    assert found["int|"].endswith("type") and "repr" not in found["boo|"]


def test_the_source_stands_in_the_docstrings_place_at_level_1(shell):
    questions = ["foo|", "Box|", "box.area|", "math.sqrt|", "value|"]
    results = shell(CELL, *[ask(code, 1) for code in questions])[1:]
    found = dict(zip(questions, map(text, results)))
    assert found["foo|"] == (
        "Signature: foo(x, y=..., *args: int, key=None, **other) -> list[int]\nSource:\n"
        'def foo(x, y=boo, *args: int, key=None, **other) -> list[int]:\n    """Say foo."""\n'
        "    return x\nFile:      <cell 1>\nType:      function"
    )
    assert 'Source:\nclass Box:\n    """A box.' in found["Box|"]
    assert 'Source:\n    def area(self, unit="m"):\n' in found["box.area|"]
    assert "Docstring: Return the square root of x." in found["math.sqrt|"]
    assert "Source" not in found["value|"]


PLACES = [
    # code with "|" at the cursor, what the first line tells (None: nothing is found)
    ("foo(|", "foo("), ("foo(value|)", "foo("), ("foo(1, |", "foo("), ("foo(key|=1)", "foo("),
    ("foo('va|lue')", "foo("), ("foo(bo|x.area)", "foo("), ("foo(box.area|)", "area("),
    ("foo(bar(|", None), ("foo([1, |", "foo("), ("foo((1, |", "foo("), ("foo(box.area(|", "area("),
    ("foo(1)|", "foo("), ("foo(1, (2))|", "foo("), ("x = foo(1) + |", None), ("foo |", "foo("),
    ("|foo", "foo("), ("f|oo(1)", "foo("), ("foo.|", None), ("nothing|", None), ("|", None),
    ("", None),
    ("# foo|", None), ("'foo|'", None), ("f'{foo|}'", "foo("), ("f'{foo(|", "foo("),
    ("value\nfo|o", "foo("), ("(1).b|", None), ("if fo|o:", "foo("), ("for|", None), (")|", None),
    ("math.|sqrt", "sqrt("), ("ma|th.sqrt", "Docstring:"), ("foo(1,\n    va|lue", "foo("),
    ("value|", "Value:"), ("box.lo|ud", None),
]  # fmt: skip


def test_what_the_cursor_means(shell):
    results = shell(CELL, *[ask(code, cursor=None if "|" in code else 0) for code, _ in PLACES])
    for (code, expected), result in list(zip(PLACES, results[1:]))[:-1]:
        found = text(result)
        if expected is None:
            assert (code, found) == (code, None)
        else:
            first = found.split("\n")[0].removeprefix("Signature: ")
            assert first.startswith(expected), (code, first)


def test_hostile_objects_are_told_of_or_not_but_never_fail(shell):
    cell = """
import types
class Liar:
    def __getattr__(self, name): raise SystemExit(name)
    __doc__ = property(lambda self: 1/0)
    @property
    def __class__(self): raise ValueError
class Meta(type):
    def __getattribute__(self, name): raise KeyError(name)
    def __hash__(self): 1/0
    def __eq__(self, other): 1/0
class Odd(metaclass=Meta): pass
class Text(str):
    def __str__(self): 1/0
    def expandtabs(self): 1/0
class Documented: pass
class Any:
    def __getattr__(self, name): return self
    def __call__(self, *args): print("called"); return self
liar, odd, documented, any_one = Liar(), Odd(), Documented(), Any()
documented.__doc__ = Text("  odd text")
def loop(a): "doc"
loop.__wrapped__ = loop
def number(a): pass
number.__doc__ = 5; number.__module__ = 7
def huge(a): pass
huge.__doc__ = "x" * 1_000_000
"""
    names = "liar odd Odd Liar documented any_one any_one.x loop number huge".split()
    questions = [ask(name + "|", level) for name in names for level in (0, 1)]
    results = shell(cell, *questions, ask("liar(|"), ask("Odd(|"), ask("any_one(|"))
    for name, result in zip([name for name in names for _ in (0, 1)], results[1:]):
        found = text(result)
        assert found is not None and found.split("\n")[-1].startswith("Type:"), name
        assert len(found) < 250_000
