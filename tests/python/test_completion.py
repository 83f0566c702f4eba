"""complete: what can stand at a position in a cell."""

import pytest


def ask(code, cursor=None):
    """A step that asks at ``cursor``, or where "|" stands in ``code``."""
    if cursor is None:
        cursor = code.index("|")
        code = code.replace("|", "", 1)
    return {"call": "complete", "arguments": [code, cursor], "code_": code}


def texts(step):
    """The matches, after a check of what every reply has to hold."""
    reply = step["result"]
    types = reply["metadata"]["_jupyter_types_experimental"]
    assert reply["status"] == "ok"
    assert [item["text"] for item in types] == reply["matches"]
    assert all((item["start"], item["end"]) == (reply["cursor_start"], reply["cursor_end"])
               and isinstance(item["type"], str) and isinstance(item["signature"], str)
               for item in types)  # fmt: skip
    assert step["messages"] == []
    return reply["matches"]


def test_the_samples_of_jupyter_kernel_test(shell):
    results = shell("x1 = 1", *[ask(text + "|") for text in ("zi", "prin", "x1", "__imp")])
    assert [texts(item) for item in results[1:]] == [["zip"], ["print"], ["x1"], ["__import__"]]


C047 = [
    # code, cursor, a match, start, end
    ('s = "\U0001f600\U0001f600"; math.sq', 18, "sqrt", 15, 17),
    ('s = "\U0001f600"; math.sq + 1', 16, "sqrt", 14, 16),
    ("naï", 3, "naïve_value", 0, 3), ("math.sq", 7, "sqrt", 5, 7), ("math.sq", 3, "math", 0, 3),
    ("math.sq", 400, "sqrt", 5, 7), ("math.sq", -1, "sqrt", 5, 7),
]  # fmt: skip

C049 = [
    # code, cursor, matches (or one that has to be among them), start, end
    ("x = 1\nmath.sq", 13, ["sqrt"], 11, 13), ("for i in ran  # c", 12, ["range"], 9, 12),
    ('d["al', 5, ['alpha key"]'], 3, 5), ('foo(math.pi, d["be"])', 18, ["beta"], 16, 18),
    ("foo(x=1, k", 10, "key=", 9, 10), ("from os.path import isd", 23, "isdir", 20, 23),
    ("import coll", 11, "collections", 7, 11), ("x = 5 # math.sq", 15, [], 15, 15),
    ('"math.sq', 8, [], 1, 8), ("zzz_not_there", 13, [], 0, 13), ("", 0, "print", 0, 0),
]  # fmt: skip


@pytest.mark.parametrize("cases", [C047, C049], ids=["C047", "C049"])
def test_matches_replace_exactly_what_was_typed(shell, cases):
    results = shell(
        "import math\nnaïve_value = 1\nd = {'alpha key': 1, 'beta': 2, 3: 4}\n"
        "def foo(x, y=2, *, key=None):\n    return x",
        *[ask(code, cursor) for code, cursor, *_ in cases],
    )
    for (code, _, expected, start, end), result in zip(cases, results[1:]):
        found = texts(result)
        assert found == expected if isinstance(expected, list) else expected in found, code
        reply = result["result"]
        assert (code, reply["cursor_start"], reply["cursor_end"]) == (code, start, end)
        assert result["took"] < 2


NAMESPACE = '''
import os, math, collections
value, _private, values = 1, 2, 3
class Box:
    """A box."""
    side = 1
    def __init__(self, width, height=2): self.sub = self
    def area(self, unit="m"): pass
    @classmethod
    def make(cls, size): pass
    @staticmethod
    def check(size, /, *rest): pass
    @property
    def loud(self):
        print("ran")
        return "text"
box = Box(1)
def foo(x, y=2, *, key=None): pass
d = {"a": {"bb": "x"}, 'it"s': 1, "tab\\t": 1, 3: 4, 35: 5, b"by": 6, (1, 2): 7, "{f}": 8, "é": 9}
dd = collections.defaultdict(list, key1=1)
listed = [box, "text"]
'''

CODE = [
    # code with "|" at the cursor, matches in their order
    ("val|", ["value", "values"]), ("_priv|", ["_private"]), ("box.a|", ["area"]),
    ("box.sub.sub.si|", ["side"]), ("box . a|", ["area"]), ("box.\\\n  a|", ["area"]),
    ("x = [box.a|]", ["area"]), ("(box).a|", []), ("box.area().a|", []), ("nothing.a|", []),
    ("1.re|", []), ("1 .re|", []), ("'abc'.isdi|", ["isdigit"]), ("b''.isdi|", ["isdigit"]),
    ("f'{box.a|", ["area"]), ("f'{box.a|}'", ["area"]), ("f'{box.side:{val|", ["value", "values"]),
    ("f'{{box.a|", []), ("f'{box.side}' + box.a|", ["area"]), ("f'''{1}\n{box.a|", ["area"]),
    ("f'{foo(ke|", ["key="]), ("x = 'open\nbox.a|", ["area"]),
    ("x = f'{open\nbox.a|", ["area"]), ("'''open\nbox.a|", []), ("# box.a|", []),
    ("# c\nbox.a|", ["area"]), ("d['a']['b|", ["bb']"]), ("d['a']['bb'].isdi|", ["isdigit"]),
    ("listed[0].a|", ["area"]), ("listed[-1].isdi|", ["isdigit"]), ("listed[9].a|", []),
    ("dd['k|", ["key1']"]), ("dd['new'].a|", []), ("d['a|']", ["a"]), ("d['a|]", ["a'"]),
    ("d['a|'", ["a"]), ("d['it|", ["it\"s']"]), ('d["it|', ['it\\"s"]']), ("d['ta|", ["tab\\t']"]),
    ("d[r'ta|", []), ("d[b'|", ["by']"]), ("d[f'{{|", []), ("d['{|", ["{f}']"]),
    ('d["""a|', ['a"""]']), ("d['\\x61|", ["a']"]), ("d[b'b|'", ["by"]), ("d[3|", ["3]", "35]"]),
    ("d[3|]", ["3", "35"]), ("unknown['a|", []), ("['a|", []), ("f()['a|", []),
    ("import os.pat|", ["path"]), ("import math, coll|", ["collections"]),
    ("import json.deco|", ["decoder"]), ("import math |", ["as"]), ("import math as m|", []),
    ("from math |", ["import"]), ("from math import sq|", ["sqrt"]), ("from . import a|", []),
    ("from os.path import (join,\n   isab|", ["isabs"]), ("from math import sqrt |", ["as"]),
    ("from math import sqrt as s|", []), ("if 1: import os.pat|", ["path"]),
    ("x = 1; from math import sq|", ["sqrt"]), ("import no_such.a|", []),
    ("import sched, wave\nwave|", []), ("from zipapp import create_ar|", ["create_archive"]),
    ("foo(ke|", ["key="]), ("foo(1, key=2, |val", None), ("foo(key=2, k|", []),
    ("foo(ke|=2)", ["key"]), ("foo(y=val|", ["value", "values"]), ("foo(bar(1), ke|", ["key="]),
    ("foo([ke|", []), ("box.area(un|", ["unit="]), ("Box(wi|", ["width="]),
    ("Box.make(si|", ["size="]),
    ("Box.check(siz|", []), ("sorted([], ke|", ["key="]), ("def foo(ke|", []),
    ("class Box(wid|", []),
    ("def foo(a: val|", ["value", "values"]), ("class Box(val|", ["value", "values"]),
    ("foo()(ke|", []),
    ("def foo(a=val|", ["value", "values"]), ("def val|", []), ("class val|", []),
    ("x as val|", []),
    ("whi|", ["while"]), ("x = whi|", []), ("x = lamb|", ["lambda"]), ("if 1: whi|", ["while"]),
    ("x = {1: whi|", []), ("value i|", ["if", "import", "in", "is"]), ("value pr|", []),
    ("f(1) an|", ["and"]), ("x = not i|n", None), ("yield fro|", ["from", "frozenset"]),
    ("matc|", ["match"]),
    ("match val|", ["value", "values"]), ("%val|", []), ("!val|", []), ("5val|", []),
    ("value % val|", ["value", "values"]), ("lambda: val|", ["value", "values"]),
    ("os.environ['HOM|", ["HOME']"]), ("for x in val|:", ["value", "values"]),
    ("value\nval|", ["value", "values"]), ("if value:\n    val|", ["value", "values"]),
    ("value; val|", ["value", "values"]), ("(value\nval|", []), ("@val|", ["value", "values"]),
    ("Box.loud.isd|", []), ("...|", []), (".|", []), ("|.", None), ("]|", None), (")a|", None),
]  # fmt: skip


def test_what_fits_and_nothing_else(shell):
    results = shell(NAMESPACE, *[ask(code) for code, _ in CODE], env={"HOME": "/"})
    for (code, expected), result in zip(CODE, results[1:]):
        if expected is not None:
            assert (code, texts(result)) == (code, expected)
        else:
            texts(result)


def test_private_names_only_to_those_who_ask(shell):
    public, private = shell(NAMESPACE, ask("box.|"), ask("box._|"))[1:]
    assert texts(public) == ["area", "check", "loud", "make", "side", "sub"]
    assert "__init__" in texts(private) and all(name[0] == "_" for name in texts(private))


def test_types_and_signatures(shell):
    questions = ["box.|", "Box.|", "Bo|", "foo|", "mat|", "valu|", "lamb|", "foo(ke|", "os.pat|",
                 "''.joi|", "sorte|", "from math import sq|"]  # fmt: skip
    found = {}
    for code, result in zip(questions, shell(NAMESPACE, *[ask(code) for code in questions])[1:]):
        for item in result["result"]["metadata"]["_jupyter_types_experimental"]:
            found[code, item["text"]] = (item["type"], item["signature"])
    assert found["box.|", "area"] == ("function", "(unit='m')")
    assert found["Box.|", "area"] == ("function", "(self, unit='m')")
    assert found["box.|", "make"] == found["Box.|", "make"] == ("function", "(size)")
    assert found["box.|", "check"] == ("function", "(size, /, *rest)")
    assert found["box.|", "loud"] == ("property", "")
    assert found["box.|", "side"] == ("instance", "")
    assert found["Bo|", "Box"] == ("class", "(width, height=2)")
    assert found["foo|", "foo"] == ("function", "(x, y=2, *, key=None)")
    assert found["mat|", "math"] == found["os.pat|", "path"] == ("module", "")
    assert found["mat|", "match"] == found["lamb|", "lambda"] == ("keyword", "")
    assert found["valu|", "value"] == ("instance", "")
    assert found["foo(ke|", "key="] == ("param", "")
    assert found["''.joi|", "join"] == ("function", "(iterable, /)")
    assert found["sorte|", "sorted"] == ("function", "(iterable, /, *, key=None, reverse=False)")
    assert found["from math import sq|", "sqrt"] == ("function", "(x, /)")


def test_files_in_strings(shell, tmp_path):
    (tmp_path / "data dir").mkdir()
    (tmp_path / "data dir" / "inner.csv").touch()
    for name in ("data.csv", "it's", ".hidden", "é😀"):
        (tmp_path / name).touch()
    cases = [
        ('open("da|', ["data dir/", "data.csv"]), ('open("data dir/|', ["inner.csv"]),
        ("'it|", ["it\\'s"]), ("r'it|", []), ('r"it|', ["it's"]), ('".h|', [".hidden"]),
        ("'é|", ["é😀"]),
        (f"'{tmp_path}/data.|", ["data.csv"]), ("'none/|", []), ("'''data.\n|", []), ("b'da|", []),
        ("f'{1}da|", []), ("f'data.|", ["data.csv"]), ("'\\x64ata.|", ["data.csv"]),
    ]  # fmt: skip
    results = shell(*[ask(code) for code, _ in cases], ask('open("|'))
    for (code, expected), result in zip(cases, results):
        assert (code, texts(result)) == (code, expected)
    assert texts(results[-1]) == ["data dir/", "data.csv", "it's", "é😀"]
    types = results[0]["result"]["metadata"]["_jupyter_types_experimental"]
    assert [item["type"] for item in types] == ["path", "path"]


def test_modules_on_the_path_are_found_and_not_imported(shell, tmp_path):
    (tmp_path / "mine_alone.py").write_text("print('ran')\ndef inside(): pass\n"
                                            "if 1:\n    a_name, = b_name = 1,\n")  # fmt: skip
    (tmp_path / "mine_package" / "sub").mkdir(parents=True)
    (tmp_path / "mine_package" / "__init__.py").write_text("from os import sep as divider\n1/0")
    (tmp_path / "mine_package" / "sub" / "__init__.py").touch()
    (tmp_path / "mine_package" / "mod.py").write_text("deep = 1")
    (tmp_path / "mine_space" / "part").mkdir(parents=True)
    (tmp_path / "mine_space" / "part" / "__init__.py").touch()
    (tmp_path / "mine_data").mkdir()
    (tmp_path / "mine_broken.py").write_text("def (")
    cases = [
        ("import mine_|", ["mine_alone", "mine_broken", "mine_package", "mine_space"]),
        ("import mine_package.|", ["mod", "sub"]), ("from mine_space.|", ["part"]),
        ("from mine_package import |", ["divider", "mod", "sub"]),
        ("from mine_package.mod import |", ["deep"]), ("from mine_broken import |", []),
        ("from mine_alone import |", ["a_name", "b_name", "inside"]),
    ]  # fmt: skip
    results = shell(
        "import sys; sys.path[:0] = ['', 5, '\\0', '/none']", *[ask(code) for code, _ in cases],
        "[name for name in sys.modules if 'mine' in name]",
    )  # fmt: skip
    for (code, expected), result in zip(cases, results[1:]):
        assert (code, texts(result)) == (code, expected)
    assert results[-1].text == "[]"


def test_names_of_pythons_own_modules_in_c_are_offered_before_their_import(shell, tmp_path):
    (tmp_path / "mine_c.so").write_bytes(b"")
    loaded = "[name in sys.modules for name in ('cmath', 'resource', 'mine_c')]"
    setup = ("import sys\nsys.modules.pop('cmath', None); sys.modules.pop('resource', None)\n"
             "class Finder:\n    @staticmethod\n    def find_spec(name, *rest):\n        if name in ('cmath', 'resource'): print('asked')\n"
             "sys.meta_path.insert(0, Finder); sys.path.insert(0, '.')")  # fmt: skip
    cases = [
        ("from cmath import sq|", ["sqrt"]), ("from resource import getrl|", ["getrlimit"]),
        ("from _ctypes import sizeo|", ["sizeof"]), ("from mine_c import |", []),
        ("from no_such import |", []),
    ]  # fmt: skip
    results = shell(setup, *[ask(code) for code, _ in cases], loaded)
    for (code, expected), result in zip(cases, results[1:]):
        assert (code, texts(result)) == (code, expected)
    assert results[-1].text == "[False, False, False]"


HOSTILE = """
import sys, types
class Liar:
    good = 1
    def __getattr__(self, name): raise SystemExit(name)
    def __dir__(self): raise MemoryError
    @property
    def __class__(self): raise ValueError
    @property
    def __dict__(self): raise ValueError
class Meta(type):
    def __eq__(self, other): 1/0
    def __hash__(self): 1/0
    def __getattribute__(self, name): raise KeyError(name)
    def __dir__(self): return ["fine", 5, None]
    def __instancecheck__(self, other): 1/0
class Odd(metaclass=Meta): fine = 2
class Listed:
    def __dir__(self): return ["not an identifier", "ok", "9", type("S", (str,), {})("sub")]
class Signed:
    __signature__ = 5
    def __call__(self, a): pass
class Default:
    def __repr__(self): print("repr"); return "boo"
def func(a, b=Default(), c=[Default()], *d, e: Default() = {1: 2}, **f) -> Default(): pass
func.__wrapped__ = func
module = types.ModuleType("module"); module.__getattr__ = lambda name: 1/0; module.__path__ = 5
sys.modules["odd"] = Liar(); sys.modules[7] = None; sys.modules["gone"] = None
globals()[5] = 1; globals()["not a name"] = 1
liar, odd_one, listed, signed = Liar(), Odd(), Listed(), Signed()
"""


def test_hostile_objects_cost_only_their_own_completions(shell):
    codes = ["liar.|", "liar.x.|", "odd_one.|", "Odd.|", "listed.|", "module.|", "signed(|",
             "func(|", "from odd import |", "import odd.|", "import gone.|", "from gone import |",
             "import odd|", "liar(|", "liar[|", "liar['|", "odd_one['|", "func.|", "f|", "Odd(|"]  # fmt: skip
    results = shell(HOSTILE, ask("|"), *[ask(code) for code in codes])
    assert {"liar", "Odd", "func", "print"} <= set(texts(results[1]))
    found = {code: texts(result) for code, result in zip(codes, results[2:])}
    assert "good" in found["liar.|"] and found["liar.x.|"] == []
    assert found["listed.|"] == ["ok"] and found["Odd.|"] == ["fine"]
    assert found["odd_one.|"] in (["fine"], [])


def test_the_number_of_matches_and_the_time_are_bounded(shell):
    results = shell(
        "class Many:\n    def __dir__(self): return [f'a{n}' for n in range(5000)]\nmany = Many()\n"
        "big = {f'k{n}': 1 for n in range(1_000_000)}\n"
        "import time\nclass Slow:\n    def __getattr__(self, name): time.sleep(0.01); return 1\n"
        "    def __dir__(self): return [f'a{n}' for n in range(500)]\nslow = Slow()",
        ask("many.|"), ask("big['|"), ask("slow.|"), ask("x = (1 + 2)\n" * 100_000 + "print|"),
        ask("x = '" + "\\\\" * 100_000 + "|"), ask("(" * 50_000 + "prin|"),
    )  # fmt: skip
    assert [len(texts(item)) for item in results[1:3]] == [1000, 1000]
    assert texts(results[4]) == ["print"] and texts(results[6]) == ["print"]
    assert max(item["took"] for item in results[1:]) < 2


def test_an_interrupt_gets_through(shell):
    result = shell(
        "class Waits:\n    @property\n    def part(self): raise KeyboardInterrupt\nw = Waits()\n"
        "import sys\ntry:\n    sys.modules['einkorn.hooks'].complete('w.part.x', 8)\n"
        "except KeyboardInterrupt:\n    print('out')",
    )[0]  # fmt: skip
    assert result.stdout == "out\n"
