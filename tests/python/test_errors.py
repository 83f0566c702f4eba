"""Errors as the ``error`` message shows them."""

import re
import sys

import pytest


def test_the_layout_is_ipythons(shell):
    result = shell("def f(n, *a, k=1):\n    # why\n    x = 1\n    return n / 0\n    pass\n\nf(1)")[0]
    rule, head, outer, inner, last = result["traceback"]
    assert rule == "\x1b[31m" + "-" * 75 + "\x1b[0m"  # an item of its own: nbclient compares them
    assert last == "\x1b[31mZeroDivisionError\x1b[0m: division by zero"
    assert (result["ename"], result["evalue"]) == ("ZeroDivisionError", "division by zero")
    assert result.plain == (
        "-" * 75 + "\n"
        "ZeroDivisionError                         Traceback (most recent call last)\n"
        "Cell In[1], line 7\n"
        "      5     pass\n"
        "      6 \n"
        "----> 7 f(1)\n"
        "\n"
        "Cell In[1], line 4, in f(n, k, a)\n"
        "      2     # why\n"
        "      3     x = 1\n"
        "----> 4     return n / 0\n"
        "      5     pass\n"
        "      6 \n"
        "\n"
        "ZeroDivisionError: division by zero"
    )
    assert outer.startswith("Cell \x1b[32mIn[1], line 7\x1b[0m\n")


def test_blanks_at_the_end_of_a_line_are_not_shown(shell):
    """As in IPython."""
    assert "\n      1 x = 1\n----> 2 x / 0\n\n" in shell("x = 1  \nx / 0\t ")[0].plain


def test_frames_of_files_show_their_place_and_source(shell, tmp_path):
    (tmp_path / "helper.py").write_text("def f():\n    raise KeyError('k')\n")
    result = shell("import helper", "helper.f()")[1]
    assert "Cell In[2], line 1\n----> 1 helper.f()" in result.plain
    assert re.search(r"File \S*helper.py:2, in f\(\)\n      1 def f\(\):\n----> 2     raise", result.plain)


def test_an_error_keeps_the_source_of_the_cell_it_came_from(shell):
    results = shell("def f():\n    1 / 0", "old = f", "def f():\n    pass", "old()")
    assert "Cell In[1], line 2, in f()\n      1 def f():\n----> 2     1 / 0" in results[3].plain


def test_endless_recursion_is_folded(shell):
    """C013."""
    results = shell(
        "def f(n):\n    return f(n + 1)\nf(0)",
        "class A:\n    def __repr__(self):\n        return repr(self)\nA()",
        "class H:\n    def __hash__(self):\n        return hash((1, self))\n{H()}",
        'import json\njson.loads("[" * 100000)',
        "def a(n): return b(n)\ndef b(n): return a(n)\na(0)",
        "print(6 * 7)",
    )
    for result in results[:1] + results[2:5]:
        assert result["ename"] == "RecursionError"
        assert len("".join(result["traceback"])) < 100_000
    assert results[0]["evalue"].startswith("maximum recursion depth exceeded")
    assert re.search(r"\[Previous line repeated 9\d\d more times\]", results[0].plain)
    assert len(results[0]["traceback"]) < 10
    assert [item["ename"] for item in results[1].of("error")] == ["RecursionError"]
    decoding = "maximum recursion depth exceeded while decoding a JSON array from a unicode string"
    assert results[3]["evalue"] == decoding
    assert re.search(r"\.\.\. \(9\d\d frames skipped\)", results[4].plain)
    assert results[5].stdout == "42\n"


def test_system_exit_is_an_error_like_others(shell):
    """C014."""
    results = shell("import sys\nsys.exit()", "raise SystemExit(0)", 'sys.exit("text")', "print(1)")
    assert [(item["ename"], item["evalue"]) for item in results[:3]] == [
        ("SystemExit", ""), ("SystemExit", "0"), ("SystemExit", "text"),
    ]  # fmt: skip
    assert results[3].stdout == "1\n"


def test_notes_groups_and_chains_are_shown(shell):
    """C033."""
    results = shell(
        'try:\n    int("x")\nexcept ValueError as e:\n    e.add_note("while reading row 7")\n'
        '    e.add_note("second note")\n    raise',
        'raise ExceptionGroup("batch", [ValueError("a"), ExceptionGroup("inner", [KeyError("k")])])',
        "try:\n    try:\n        1 / 0\n    except ZeroDivisionError as e:\n"
        '        raise LookupError("outer") from e\nexcept LookupError as e:\n'
        '    raise RuntimeError("last")',
        'raise ValueError("hidden cause") from None',
        'try:\n    1 / 0\nexcept Exception:\n    raise ValueError("hidden cause") from None',
    )
    assert '----> 2     int("x")' in results[0].plain
    message = "ValueError: invalid literal for int() with base 10: 'x'"
    assert results[0].plain.endswith(f"{message}\nwhile reading row 7\nsecond note")
    assert results[1]["evalue"] == "batch (2 sub-exceptions)"
    assert results[1].plain.endswith(
        "ExceptionGroup: batch (2 sub-exceptions)\n"
        "  +-+---------------- 1 ----------------\n"
        "    | ValueError: a\n"
        "    +---------------- 2 ----------------\n"
        "    | ExceptionGroup: inner (1 sub-exception)\n"
        "    +-+---------------- 1 ----------------\n"
        "      | KeyError: 'k'\n"
        "      +------------------------------------"
    )
    positions = [results[2].plain.index(text) for text in (
        "ZeroDivisionError: division by zero",
        "\nThe above exception was the direct cause of the following exception:\n",
        "LookupError: outer",
        "\nDuring handling of the above exception, another exception occurred:\n",
        "RuntimeError: last",
    )]  # fmt: skip
    assert positions == sorted(positions)
    for result in results[3:]:
        assert "ZeroDivision" not in result.plain and "another exception" not in result.plain


def test_syntax_errors_name_the_line_and_point_at_the_place(shell):
    """C037."""
    results = shell(
        'print("first")\nfor i in range(3)\n    print(i)', "x = (1,\n     2", "if True:\nprint(1)",
        "total = 0\n   total += 1", 'z = "é😀" +* 3', 'raise SyntaxError("custom")',
        'raise SyntaxError("custom2", ("f.cfg", 3, 5, "a b c", 3, 7))',
        'compile("a +", "other.py", "exec")', "break", "a = 5 +\u00a0 6", "", "# only a comment",
        "x = 1\r\nprint(x)\r\n", "\tif x:\n\ty", "if 1:\n\tx = \"é\" +* 3",
    )  # fmt: skip
    assert results[0]["messages"] == []
    assert results[0].plain == (
        "  Cell In[1], line 2\n    for i in range(3)\n                     ^\nSyntaxError: expected ':'"
    )
    assert "'(' was never closed" in results[1]["evalue"]
    assert results[2]["ename"] == "IndentationError"
    assert "expected an indented block after 'if' statement on line 1" in results[2]["evalue"]
    assert results[3]["ename"] == "IndentationError"
    assert "Cell In[4], line 2\n    total += 1" in results[3].plain
    assert "unexpected indent" in results[3]["evalue"]
    assert results[4].plain == (
        '  Cell In[5], line 1\n    z = "é😀" +* 3\n              ^\nSyntaxError: invalid syntax'
    )
    assert '----> 1 raise SyntaxError("custom")' in results[5].plain
    assert results[5].plain.endswith("\nSyntaxError: custom")
    assert results[6].plain.endswith("  File f.cfg:3\n    a b c\n        ^\nSyntaxError: custom2")
    assert "File other.py:1\n    a +\n       ^" in results[7].plain
    assert '----> 1 compile("a +", "other.py", "exec")' in results[7].plain
    assert "'break' outside loop" in results[8]["evalue"]
    assert "invalid non-printable character U+00A0" in results[9]["evalue"]
    assert [item["status"] for item in results[10:13]] == ["ok"] * 3
    assert results[10]["messages"] == results[11]["messages"] == []
    assert results[12].stdout == "1\n"
    assert results[14].plain.split("\n")[1:3] == ['    x = "é" +* 3', "             ^"]


HOSTILE = [
    "class E(Exception):\n    def __str__(self): raise KeyError(1)\nraise E",
    "class E(Exception):\n    def __str__(self): return 5\nraise E",
    "class E(Exception):\n    __cause__ = __traceback__ = property(lambda s: 1/0)\n"
    "    __notes__ = property(lambda s: 1/0)\nraise E('m')",
    "a, b = ValueError('a'), ValueError('b')\na.__cause__ = b\nb.__cause__ = a\nraise a",
    "a, b, c = ValueError('a'), ValueError('b'), ValueError('c')\n"
    "a.__cause__ = b\nb.__cause__ = a\nraise c from a",
    "raise ValueError('\\ud800 \\x00')",
    "class M(type):\n    __name__ = property(lambda c: 1/0)\n"
    "class E(Exception, metaclass=M): pass\nraise E('m')",
    "class S(str):\n    __getitem__ = __len__ = __format__ = lambda *a: 1/0\n"
    "class E(Exception):\n    __str__ = lambda s: S('sub')\nraise E",
    "e = ValueError('n')\ne.__notes__ = 7\nraise e",
    "e = ValueError('n')\ne.__notes__ = [object, 1]\nraise e",
    "raise SyntaxError('m', (1, 'x', [], {}, None, 4))",
    "e = SyntaxError('m')\ne.lineno, e.offset, e.text = 10**30, -5, 'abc'\nraise e",
    "e = SyntaxError(5)\ne.lineno, e.offset, e.text, e.filename = 1, 99, 'abc', None\nraise e",
    "class G(ExceptionGroup):\n    exceptions = property(lambda s: 1/0)\nraise G('g', [ValueError(1)])",
]


@pytest.mark.parametrize("code", HOSTILE)
def test_hostile_exceptions_are_described_all_the_same(shell, code):
    results = shell(code, "1")
    assert results[0]["status"] == "error"
    assert results[0]["ename"] in ("E", "ValueError", "SyntaxError", "G")
    assert "Cell In[1], line" in results[0].plain
    assert results[1].text == "1"


def test_a_failing_str_is_said_so(shell):
    result = shell(HOSTILE[0])[0]
    assert (result["ename"], result["evalue"]) == ("E", "<exception str() failed>")


def test_evalue_and_source_lines_are_bounded(shell):
    results = shell("raise ValueError('x' * 300_000)", "1/0 #" + "y" * 1_000_000,
                    "e = None\nfor i in range(3000):\n    n = ValueError(i)\n    n.__cause__ = e\n"
                    "    e = n\nraise e")  # fmt: skip
    assert results[0]["evalue"] == "x" * 100_000 + "... (200000 characters left out)"
    assert len("".join(results[0]["traceback"])) < 110_000
    assert len("".join(results[1]["traceback"])) < 1_000
    assert len("".join(results[2]["traceback"])) < 10_000
    assert "... (2990 exceptions skipped)" in results[2].plain


def test_a_place_far_to_the_right_is_shown(shell):
    place, code, caret, last = shell("x = " + "1 + " * 999 + "* 3 + " + "2 + " * 999)[0].plain.split("\n")
    assert code.startswith("    …") and code.endswith("…") and len(code) == 204
    assert code[caret.index("^")] == "*" and last == "SyntaxError: invalid syntax"


def test_frames_of_ours_are_left_out(shell):
    results = shell(
        "class A:\n    def _ipython_display_(self): 1/0\ndisplay(A())",
        {"answers": [None]}, "input()", "import asyncio\nasync def f(): 1/0\nawait f()",
        "asyncio.run(f())",
    )  # fmt: skip
    texts = [results[0].of("error")[0]["traceback"], results[2]["traceback"], results[3]["traceback"]]
    for text in texts + [results[4]["traceback"]]:
        assert "bridge/python/einkorn" not in "".join(text)  # a clone may have that name, too
    assert len(results[3]["traceback"]) == 5
    assert "asyncio" in results[4].plain.replace("asyncio.run(f())", "")


def test_the_last_error_is_where_pdb_looks_for_it(shell):
    results = shell("1/0", "import sys\nsys.last_value, sys.last_type is ZeroDivisionError")
    assert results[1].text == "(ZeroDivisionError('division by zero'), True)"


def test_deep_groups_and_wide_groups_are_bounded(shell):
    result = shell(
        "raise ExceptionGroup('g', [ValueError('v' * 5000) for i in range(1000)])",
    )[0]
    assert len("".join(result["traceback"])) < 60_000
    assert sys.getsizeof(result["evalue"]) < 200


def test_a_magic_command_is_told_to_be_one(shell):
    """design: magics give one clear sentence; what only looks like one does not."""
    results = shell("%time 1", "!ls", "print?", "x = 1 +", "x = (5\n% )")
    says = ["Magic commands" in result.plain for result in results]
    assert says == [True, True, True, False, False]
    assert all(result["ename"] == "SyntaxError" for result in results)


def test_an_interrupt_of_the_description_leaves_the_name(shell):
    code = (
        "import os, signal\nclass Slow(Exception):\n    def __str__(self):\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n        return 'never'\nraise Slow"
    )
    (result,) = shell(code)
    assert (result["ename"], result["evalue"]) == ("Slow", "")


def test_a_memory_error_lets_go_of_what_its_frames_hold(shell):
    code = (
        "import sys, weakref\nclass Big: pass\n"
        "def fill():\n    global seen\n    big = Big()\n    seen = weakref.ref(big)\n"
        "    try:\n        raise MemoryError('inner')\n"
        "    except MemoryError:\n        raise MemoryError('outer')\nfill()"
    )
    results = shell(code, "seen(), type(sys.last_value), sys.last_traceback")
    assert "line 8" in results[0].plain and "line 10" in results[0].plain
    assert results[1].text == "(None, <class 'MemoryError'>, None)"
