"""
Issue 1, "Cells": namespace, echo, names, tracebacks, sources, await, errors and
displays, in the plain shell (no IPython needed or used).
"""

import re
import subprocess

import pytest

from client import PYTHON, plain, text


def result(value):
    return [("result", text(value))]


def out(value):
    return [("stdout", value)]


def run_all(kernel, *cells):
    """What each of the cells shows."""
    return [kernel.execute(cell).outputs for cell in cells]


# --- the namespace -------------------------------------------------------------


# What IPython users expect, and what every __main__ has. Nothing else.
NAMES = {"In", "Out", "_", "__", "___", "_i", "_ii", "_iii", "_ih", "_oh", "_dh", "_i1", "exit",
         "quit", "__annotations__", "__builtins__", "__doc__", "__loader__", "__name__",
         "__package__", "__spec__"}


def test_the_namespace_is_main_and_has_none_of_our_names(fresh):
    """One namespace that *is* __main__.__dict__ with none of our names left in it."""
    shown = fresh.run("print(__import__('sys').modules['__main__'].__dict__ is globals(),"
                      " __name__)\nprint(*globals())")
    head, names = shown[0][1].splitlines()
    assert head == "True __main__"
    assert set(names.split()) - NAMES == set()
    assert {"In", "Out", "_", "__builtins__", "__name__"} <= set(names.split())


def test_main_has_no_file_and_argv_is_an_interactive_one(kernel):
    """No __file__; '' in sys.path; the executable is the Python that was asked."""
    assert kernel.run(
        "import sys\n"
        "print('__file__' in globals(), sys.path[0] == '', sys.executable)") == out(
            f"False True {PYTHON}\n")


def test_pickling_and_type_hints(kernel):
    """C032."""
    assert kernel.run(
        "import dataclasses, doctest, pickle, sys, typing, __main__\n"
        "class Point:\n    def __init__(self, x):\n        self.x = x\n"
        "p1 = Point(3)\n"
        "print(pickle.loads(pickle.dumps(p1)).x, pickle.loads(pickle.dumps(Point)) is Point,"
        " __main__.__dict__ is globals(), sys.modules[\"__main__\"] is __main__)"
    ) == out("3 True True True\n")
    second = kernel.fail(
        "class Point:\n    def __init__(self, x):\n        self.x = x\n"
        "print(pickle.loads(pickle.dumps(Point(1))).x)\npickle.dumps(p1)")
    assert second.stdout == "1\n"
    assert second.error == ("PicklingError", "Can't pickle <class '__main__.Point'>: "
                            "it's not the same object as __main__.Point")
    assert kernel.run(
        "@dataclasses.dataclass\nclass Node:\n    left: \"Node | None\" = None\n"
        "    size: \"Size\" = 0\nSize = int\nhints = typing.get_type_hints(Node)\n"
        "print(hints[\"size\"], hints[\"left\"] == Node | None)") == out("<class 'int'> True\n")
    shown = kernel.run(
        'def half(x):\n    """\n    >>> half(4)\n    2.0\n    >>> half(3)\n    2\n    """\n'
        "    return x / 2\nr = doctest.testmod()\nprint(r)")
    assert [name for name, _ in shown] == ["stdout"]
    assert shown[0][1].startswith("*" * 70 + "\nFile ")
    assert "Failed example:\n    half(3)\nExpected:\n    2\nGot:\n    1.5\n" in shown[0][1]
    assert shown[0][1].endswith("TestResults(failed=1, attempted=2)\n")
    assert kernel.run("import types\nprint(isinstance(__builtins__, types.ModuleType), "
                      "__doc__ is None or isinstance(__doc__, str))") == out("True True\n")
    kernel.run("del Point, p1, Node, half")


# --- the echo --------------------------------------------------------------------

ECHO = [
    ("1;", []),
    ("1;  # why", []),
    ("1  # c;", result("1")),
    ('"a;b"', result("'a;b'")),
    ('"""x\n;"""', result("'x\\n;'")),
    ("x = 5\nx;\n# trailing comment\n", []),
    ("[1,\n 2]; ", []),
    ("None", []),
    ("x = 1; x", result("1")),
    ("if True:\n    7", []),
    ("x\n\n\n", result("1")),
    ("10", result("10")),
    ("print(_)", out("10\n")),
    ('_ = "mine"', []),
    ("20", result("20")),
    ("print(_)", out("mine\n")),
    ("del _", []),
    ("30", result("30")),
    ("_", result("30")),
    ("f'{x};'", result("'1;'")),
    ("x;;", "SyntaxError"),
    ("(yield_ := 3)", result("3")),
    ("lambda: 0;", []),
    ("'a' # ; \\", result("'a'")),
    ("def f(): return 1; f()", []),
    ("x: int = 4", []),
    ("'é;' 'ü' ;", []),
    ("@staticmethod\ndef g(): pass", []),
]


def test_echo(fresh):
    """C026, peers 7.11: only the last expression; a semicolon silences it, wherever comments stand."""
    for number, (code, shown) in enumerate(ECHO, 1):
        ran = fresh.execute(code)
        if shown == "SyntaxError":
            assert ran.error[0] == "SyntaxError"
        else:
            assert (code, ran.outputs) == (code, shown)
        assert ran.count == number


def test_the_cache_of_results_and_inputs(fresh):
    """peers 7.11: _, __, ___, _N, Out, In, _i; what is not shown is not kept, as in IPython."""
    shown = run_all(fresh, "'a'", "'b'", "'c'", "(_, __, ___)", "(_1, _2, _3)", "Out[2] + Out[3]",
                    "None", "x = 4", "'quiet';", "_", "_6", "(In[1], In[8], _i8, _i, _ii)",
                    "sorted(Out)")
    assert shown == [
        result("'a'"), result("'b'"), result("'c'"), result("('c', 'b', 'a')"),
        result("('a', 'b', 'c')"), result("'bc'"), [], [], [], result("'bc'"),
        result("'bc'"), result("(\"'a'\", 'x = 4', 'x = 4', '_6', '_')"),
        result("[1, 2, 3, 4, 5, 6, 10, 11, 12]"),
    ]


def test_builtins_have_no_underscore(fresh):
    """builtins._ stays as it is: gettext users install their own."""
    assert fresh.run("1")
    assert fresh.run("import builtins; print(hasattr(builtins, '_'))") == out("False\n")



# --- source of old cells -----------------------------------------------------------


def test_getsource(kernel):
    """C030: linecache and inspect.getsource work for old cells."""
    area = 'def area(r):\n    """doc"""\n    return 3 * r\n'
    box = "class Box:\n    side = 2\n    def vol(self):\n        return self.side ** 3\n"
    empty = 'class Empty:\n    tag = "x"\n'
    kernel.run("import inspect\n" + area + box + empty[:-1])
    for name, source in (("area", area), ("Box", box), ("Empty", empty),
                         ("Box.vol", "    def vol(self):\n        return self.side ** 3\n")):
        assert kernel.run(f"print(inspect.getsource({name}), end='')") == out(source)
    kernel.run("old = area\ndef area(r):\n    return 4 * r")
    assert kernel.run(
        "print(inspect.getsource(old))\nprint(inspect.getsource(area))\n"
        "print(old.__code__.co_filename != area.__code__.co_filename)") == out(
            area + "\ndef area(r):\n    return 4 * r\n\nTrue\n")
    assert kernel.run("print(inspect.getsourcelines(area)[1], area.__module__, Box.__module__)"
                      ) == out("2 __main__ __main__\n")


def test_linecache_survives_checkcache(kernel):
    """warnings and traceback call it; old cells stay."""
    kernel.run("def keep():\n    return 'kept'")
    assert kernel.run("import inspect, linecache\nlinecache.checkcache()\n"
                      "print(inspect.getsource(keep), end='')") == out(
                          "def keep():\n    return 'kept'\n")


# --- await ---------------------------------------------------------------------------


def test_asyncio_is_imported_only_when_needed(fresh):
    """On one persistent loop that is imported only when needed."""
    assert fresh.run("import sys\nprint('asyncio' in sys.modules, 'traceback' in sys.modules)"
                     ) == out("False False\n")


def test_await(fresh):
    """C027, peers 7.11: one persistent loop; tasks go on while the kernel is idle."""
    first = fresh.execute("import asyncio\nasync def add(a, b):\n    await asyncio.sleep(0.01)\n"
                          "    return a + b\nasyncio.run(add(1, 2))")
    assert first.outputs == result("3") or first.error == (
        "RuntimeError", "asyncio.run() cannot be called from a running event loop")
    assert fresh.run("await add(1, 2)") == result("3")
    assert fresh.run("[await add(i, 1) for i in range(3)]") == result("[1, 2, 3]")
    assert fresh.run("async def agen():\n    for i in range(3):\n        yield i\ntot = 0\n"
                     "async for v in agen():\n    tot += v\n(tot, v)") == result("(3, 2)")
    assert fresh.run("(tot, v)") == result("(3, 2)")
    bg = fresh.send_execute(
        "async def bg():\n    for i in range(3):\n        await asyncio.sleep(0.05)\n"
        "        log.append(i)\n    print('bg done')\nlog = []\ntask = asyncio.create_task(bg())")
    reply = fresh.reply("shell", bg)
    assert reply.content["status"] == "ok"
    iopub = fresh.iopub(bg)
    late = fresh.take("iopub", lambda m: m.type == "stream", 5)  # while the kernel is idle
    assert (late.parent_id, late.content["text"]) == (bg, "bg done\n")
    assert iopub[-1].state == "idle"
    assert fresh.run("import time\nprint(len(log), task.done())") == out("3 True\n")
    assert fresh.fail("def f():\n    await add(1, 2)").error[0] == "SyntaxError"
    assert fresh.fail("def f():\n    await add(1, 2)").error[1].startswith(
        "'await' outside async function")
    returned = fresh.fail("return 5").error
    assert returned[0] == "SyntaxError" and returned[1].startswith("'return' outside function")
    assert fresh.run("async with asyncio.Lock() as l:\n    q = 9\nq") == result("9")
    assert fresh.run("async def one():\n    return 'same'\n"
                     "loop1 = asyncio.get_running_loop()") == []
    assert fresh.run("await one(); asyncio.get_running_loop() is loop1") == result("True")


def test_an_error_in_a_coroutine(kernel):
    """Errors of awaited code look like any other, and the loop survives."""
    failed = kernel.fail("import asyncio\nasync def bad():\n    await asyncio.sleep(0)\n"
                         "    raise ValueError('in a coroutine')\nawait bad()")
    assert failed.error == ("ValueError", "in a coroutine")
    assert "line 5" in failed.traceback and "line 4" in failed.traceback
    assert kernel.run("await asyncio.sleep(0, 'alive')") == result("'alive'")


def test_gather_and_timeouts(kernel):
    assert kernel.run("import asyncio\n"
                      "await asyncio.gather(*(asyncio.sleep(0.01, i) for i in range(3)))"
                      ) == result("[0, 1, 2]")
    assert kernel.fail("await asyncio.wait_for(asyncio.sleep(20), 0.01)").error[0] == "TimeoutError"


# --- errors ----------------------------------------------------------------------------


def test_traceback_of_a_cell(fresh):
    """Cell In[n], line m; coloured; one frame per list item, none of ours."""
    fresh.run("def inner(x):\n    return 1 / x")
    failed = fresh.fail("def outer():\n    return inner(0)\n\nouter()")
    assert failed.error == ("ZeroDivisionError", "division by zero")
    lines = failed.reply.content["traceback"]
    assert any("\x1b[" in line for line in lines)
    shown = plain(lines)
    places = re.findall(r"Cell In\[(\d+)\], line (\d+)", shown)
    assert places == [("2", "4"), ("2", "2"), ("1", "2")]
    frames = [line for line in map(plain, lines) if "Cell In[" in line]
    assert len(frames) == 3 and all(f.count("Cell In[") == 1 for f in frames)
    assert "einkorn" not in shown
    assert "outer()" in frames[0] and "inner(0)" in frames[1] and "1 / x" in frames[2]
    assert plain(lines[-1]) == "ZeroDivisionError: division by zero"


def test_frames_of_modules_name_their_file(kernel):
    failed = kernel.fail("import json\njson.loads('{')")
    assert failed.error[0] == "JSONDecodeError"
    assert re.search(r"json/decoder\.py:\d+", failed.traceback)


ERRORS = [
    ("raise KeyError('k')", "KeyError", "'k'"),
    ("raise ValueError", "ValueError", ""),
    ("raise ValueError('é😀')", "ValueError", "é😀"),
    ("raise ValueError('two\\nlines')", "ValueError", "two\nlines"),
    ("raise GeneratorExit('g')", "GeneratorExit", "g"),
    ("raise KeyboardInterrupt", "KeyboardInterrupt", ""),
    ("raise BaseException('base')", "BaseException", "base"),
    ("raise StopIteration(3)", "StopIteration", "3"),
    ("raise SystemExit(0)", "SystemExit", "0"),
    ("import sys\nsys.exit()", "SystemExit", ""),
    ("import sys\nsys.exit('text')", "SystemExit", "text"),
    ("class E(Exception):\n    def __str__(self):\n        raise RuntimeError('no str')\nraise E",
     "E", None),
    ("class F(Exception):\n    def __str__(self):\n        return 5\nraise F", "F", None),
    ("class G(Exception):\n    def __repr__(self):\n        raise KeyError\nraise G('g')",
     "G", "g"),
    ("raise 5", "TypeError", "exceptions must derive from BaseException"),
    ("assert 1 == 2, 'no'", "AssertionError", "no"),
    ("undefined_name", "NameError", "name 'undefined_name' is not defined"),
    ("import no_such_module_x", "ModuleNotFoundError", "No module named 'no_such_module_x'"),
    ("raise ValueError('\\ud800 lone')", "ValueError", None),
    ("raise OSError(2, 'gone', 'f')", "FileNotFoundError", "[Errno 2] gone: 'f'"),
    ("raise type('N' * 80, (Exception,), {})('long')", "N" * 80, "long"),
]


@pytest.mark.parametrize("code, ename, evalue", ERRORS, ids=lambda v: str(v)[:40])
def test_one_error_message_and_the_same_reply(kernel, code, ename, evalue):
    """peers 7.11, C014 and others: one error on IOPub, the same in the reply (Result compares)."""
    failed = kernel.fail(code)
    assert [o[0] for o in failed.outputs] == ["error"]
    assert failed.error[0] == ename
    if evalue is not None:
        assert failed.error[1] == evalue
    assert kernel.run("'lives'") == result("'lives'")


def test_system_exit_in_a_session(start):
    """C014: an error each, with the code as evalue; the kernel lives, until it is told to exit."""
    kernel = start()
    assert kernel.fail("kept = 1\nimport sys\nsys.exit()").outputs == [("error", "SystemExit", "")]
    assert kernel.fail("raise SystemExit(0)").outputs == [("error", "SystemExit", "0")]
    assert kernel.fail("sys.exit(\"text\")").outputs == [("error", "SystemExit", "text")]
    assert kernel.run("print(\"kept\", kept)") == out("kept 1\n")
    last = kernel.execute("print(\"bye\")\nexit()")
    assert (last.status, last.outputs) == ("ok", out("bye\n"))
    assert [item["source"] for item in last.reply.content["payload"]] == ["ask_exit"]
    kernel.check_gone(status=0)


def test_recursion(fresh):
    """C013: RecursionError, folded below 100 kB; the process stays the same."""
    worker = fresh.worker
    deep = fresh.fail("def f(n):\n    return f(n + 1)\nf(0)", timeout=10)
    assert deep.error[0] == "RecursionError"
    assert deep.error[1].startswith("maximum recursion depth exceeded")
    assert sum(map(len, deep.reply.content["traceback"])) < 100_000
    shown = fresh.execute("class A:\n    def __repr__(self):\n        return repr(self)\nA()",
                          timeout=10)
    assert [o[:2] for o in shown.outputs][:1] == [("error", "RecursionError")]
    assert fresh.fail("class H:\n    def __hash__(self):\n        return hash((1, self))\n{H()}",
                      timeout=10).error[0] == "RecursionError"
    assert fresh.fail("import json\njson.loads('[' * 100000)", timeout=10).error == (
        "RecursionError",
        "maximum recursion depth exceeded while decoding a JSON array from a unicode string")
    assert fresh.run("print(6 * 7)") == out("42\n")
    assert fresh.worker == worker


def test_notes_groups_and_chains(kernel):
    """C033, peers 7.11."""
    noted = kernel.fail("try:\n    int(\"x\")\nexcept ValueError as e:\n"
                        "    e.add_note(\"while reading row 7\")\n    e.add_note(\"second note\")\n"
                        "    raise")
    assert noted.error == ("ValueError", "invalid literal for int() with base 10: 'x'")
    tail = noted.traceback.splitlines()
    assert [line for line in tail if 'int("x")' in line]
    at = tail.index("ValueError: invalid literal for int() with base 10: 'x'")
    assert tail[at + 1:at + 3] == ["while reading row 7", "second note"]

    group = kernel.fail('raise ExceptionGroup("batch", [ValueError("a"), '
                        'ExceptionGroup("inner", [KeyError("k")])])')
    assert group.error == ("ExceptionGroup", "batch (2 sub-exceptions)")
    places = [group.traceback.index(s) for s in
              ("batch (2 sub-exceptions)", "ValueError: a", "inner (1 sub-exception)",
               "KeyError: 'k'")]
    assert places == sorted(places)

    chain = kernel.fail("try:\n    try:\n        1 / 0\n    except ZeroDivisionError as e:\n"
                        "        raise LookupError(\"outer\") from e\nexcept LookupError as e:\n"
                        "    raise RuntimeError(\"last\")")
    assert chain.error == ("RuntimeError", "last")
    order = ["ZeroDivisionError: division by zero",
             "The above exception was the direct cause of the following exception:",
             "LookupError: outer",
             "During handling of the above exception, another exception occurred:",
             "RuntimeError: last"]
    places = [chain.traceback.index(s) for s in order]
    assert places == sorted(places)

    hidden = kernel.fail('try:\n    1/0\nexcept ZeroDivisionError:\n'
                         '    raise ValueError("hidden cause") from None')
    assert "exception" not in hidden.traceback and "ZeroDivision" not in hidden.traceback.split(
        "ValueError")[-1]


SYNTAX = [
    ('print("first")\nfor i in range(3)\n    print(i)', "SyntaxError", "expected ':'", "line 2"),
    ("x = (1,\n     2", "SyntaxError", "'(' was never closed", "line 1"),
    ("if True:\nprint(1)", "IndentationError",
     "expected an indented block after 'if' statement on line 1", "line 2"),
    ("total = 0\n   total += 1", "IndentationError", "unexpected indent", "line 2"),
    ('z = "é😀" +* 3', "SyntaxError", "invalid syntax", "line 1"),
    ('raise SyntaxError("custom")', "SyntaxError", "custom", "line 1"),
    ('raise SyntaxError("custom2", ("f.cfg", 3, 5, "a b c", 3, 7))', "SyntaxError", "custom2",
     r"f\.cfg.*\b3\b"),
    ('compile("a +", "other.py", "exec")', "SyntaxError", "invalid syntax", r"other\.py.*\b1\b"),
    ("break", "SyntaxError", "'break' outside loop", "line 1"),
    ("a = 5 +\u00a0 6", "SyntaxError", "invalid non-printable character U+00A0", "line 1"),
]


@pytest.mark.parametrize("code, ename, evalue, place", SYNTAX, ids=lambda v: repr(v)[:30])
def test_syntax_errors(kernel, code, ename, evalue, place):
    """C037: nothing of a broken cell runs; the position is shown."""
    failed = kernel.fail(code)
    assert [o[0] for o in failed.outputs] == ["error"]
    assert failed.error[0] == ename
    assert failed.error[1].startswith(evalue)
    assert re.search(place, failed.traceback)
    shown = [line.strip() in failed.traceback for line in code.splitlines()]
    assert any(shown) or code.startswith("compile")
    assert kernel.run("'lives'") == result("'lives'")


def test_the_caret_counts_characters(kernel):
    """C037 5: the caret stands under the '*', counted in characters; 1: after the ')'."""
    for code, column in (('z = "é😀" +* 3', 10), ("for i in range(3)\n    1", 17)):
        lines = kernel.fail(code).traceback.splitlines()
        at = next(i for i, line in enumerate(lines) if line.strip() == "^")
        source = code.splitlines()[0]
        assert lines[at].index("^") - lines[at - 1].index(source) == column


@pytest.mark.parametrize("code, shown", [
    ("", []), ("# only a comment", []), ("x = 1\r\nprint(x)\r\n", out("1\n")),
    ("\n\n  \n", []), ("\f\nx = 2", []),
], ids=repr)
def test_cells_that_look_odd_are_fine(kernel, code, shown):
    """C037 11-13, peers 7.11: empty cells and comments."""
    assert kernel.run(code) == shown


def test_warnings_of_the_compiler_name_the_cell(kernel):
    shown = kernel.run("1 is 1")
    assert shown[-1] == ("result", text("True"))
    assert shown[0][0] == "stderr" and "SyntaxWarning" in shown[0][1]


# --- displays ------------------------------------------------------------------------------


def test_display_is_a_builtin(fresh):
    """Issue: display() in builtins."""
    shown = fresh.run("display('a', 2)\ndisplay()\ndisplay([3])")
    assert shown == [("display", text("'a'")), ("display", text("2")), ("display", text("[3]"))]


def test_representations(kernel):
    """C040, peers 7.11: all formats of an object, one that raises is reported once and falls back."""
    any_ = ("class Any:\n    def __getattr__(self, name):\n"
            "        return lambda *a, **kw: \"anything\"\n"
            "    def __repr__(self):\n        return \"<Any>\"\n")
    assert kernel.run(any_ + "Any()") == result("<Any>")
    assert kernel.run("class AnyH(Any):\n    def _repr_html_(self):\n"
                      "        return \"<b>real</b>\"\nAnyH()") == [
        ("result", {"text/plain": "<Any>", "text/html": "<b>real</b>"})]
    half = kernel.execute("class Half:\n    def __repr__(self):\n"
                          "        raise RuntimeError(\"repr broken\")\n"
                          "    def _repr_html_(self):\n        return \"<i>ok</i>\"\nHalf()")
    assert half.status == "ok"
    assert [o for o in half.outputs if o[0] == "error"] == [
        ("error", "RuntimeError", "repr broken")]
    assert half.outputs[-1][0] == "result" and half.outputs[-1][1]["text/html"] == "<i>ok</i>"
    assert len(half.outputs) == 2
    half2 = kernel.execute("class Half2:\n    def __repr__(self):\n        return \"plain\"\n"
                           "    def _repr_html_(self):\n        raise NotImplementedError\n"
                           "    def _repr_png_(self):\n        raise KeyError(\"png\")\n"
                           "    def _repr_latex_(self):\n        return None\nHalf2()")
    assert half2.status == "ok"
    assert half2.outputs == [("error", "KeyError", "'png'"), ("result", text("plain"))]
    assert kernel.run("class Disp:\n    def _ipython_display_(self):\n        print(\"shown\")\n"
                      "    def __repr__(self):\n        return \"never\"\nDisp()") == out("shown\n")
    assert kernel.run(
        "class MB:\n    def _repr_mimebundle_(self, include=None, exclude=None):\n"
        "        return {\"text/plain\": \"mb\", \"text/html\": \"<p>mb</p>\"}, "
        "{\"text/html\": {\"isolated\": True}}\nMB()") == [
        ("result", {"text/plain": "mb", "text/html": "<p>mb</p>"},
         {"metadata": {"text/html": {"isolated": True}}})]
    shown = kernel.run("MB")
    assert shown in (result("__main__.MB"), result("<class '__main__.MB'>"))


FORMATS = [
    ("_repr_html_", "'<p>x</p>'", "text/html", "<p>x</p>"),
    ("_repr_markdown_", "'# x'", "text/markdown", "# x"),
    ("_repr_latex_", "'$x$'", "text/latex", "$x$"),
    ("_repr_svg_", "'<svg/>'", "image/svg+xml", "<svg/>"),
    ("_repr_javascript_", "'x()'", "application/javascript", "x()"),
    ("_repr_json_", "{'a': [1, None]}", "application/json", {"a": [1, None]}),
    ("_repr_png_", "b'\\x89PNG'", "image/png", "iVBORw=="),
    ("_repr_jpeg_", "b'\\xff\\xd8'", "image/jpeg", "/9g="),
    ("_repr_pdf_", "b'%PDF'", "application/pdf", "JVBERg=="),
]


@pytest.mark.parametrize("method, value, mime, data", FORMATS, ids=[f[0] for f in FORMATS])
def test_every_repr_method(kernel, method, value, mime, data):
    """Issue: all _repr_*_; bytes as base64 without line ends; (data, metadata) pairs too."""
    kernel.run(f"class R:\n    def __repr__(self):\n        return 'R'\n"
               f"    def {method}(self):\n        return {value}")
    assert kernel.run("R()") == [("result", {"text/plain": "R", mime: data})]
    assert kernel.run("display(R())") == [("display", {"text/plain": "R", mime: data})]
    kernel.run(f"class R:\n    def __repr__(self):\n        return 'R'\n"
               f"    def {method}(self):\n        return {value}, {{'width': 5}}")
    assert kernel.run("R()") == [
        ("result", {"text/plain": "R", mime: data}, {"metadata": {mime: {"width": 5}}})]


def test_display_ids_and_updates_without_ipython(fresh):
    """C041 with our display() alone: ids, a handle, updates with the updating cell as parent."""
    first = fresh.run("h = display('A', display_id='spot')\ndisplay('mid')\n"
                      "h2 = display('B', display_id=True)\nprint(type(h).__name__, h.display_id)")
    fresh_id = first[2][2]["transient"]["display_id"]
    assert type(fresh_id) is str and fresh_id not in ("", "spot")
    assert first == [
        ("display", text("'A'"), {"transient": {"display_id": "spot"}}),
        ("display", text("'mid'")),
        ("display", text("'B'"), {"transient": {"display_id": fresh_id}}),
        ("stdout", "DisplayHandle spot\n"),
    ]
    assert fresh.run("_h = display('again', display_id='spot')") == [
        ("display", text("'again'"), {"transient": {"display_id": "spot"}})]
    assert fresh.run("h.update('A2')") == [
        ("update", text("'A2'"), {"transient": {"display_id": "spot"}})]


@pytest.fixture(scope="module")
def without_ipython():
    """Whether the Python under test has IPython: this suite's environment must not."""
    probe = "import importlib.util as u, sys; sys.exit(u.find_spec('IPython') is not None)"
    assert subprocess.run([PYTHON, "-c", probe]).returncode == 0, "IPython must not be installed"


def test_ipython_display_where_ipython_is_not(fresh, without_ipython):
    """C041 as written, peers 7.16, on the small IPython.display; get_ipython() is None; no IPython.core."""
    assert fresh.run("import sys\n'IPython' in sys.modules") == result("False")
    first = fresh.run(
        "from IPython.display import display, update_display, clear_output, HTML\n"
        "h = display(\"A\", display_id=\"spot\")\ndisplay(\"mid\")\n"
        "h2 = display(\"B\", display_id=True)\nprint(type(h).__name__, h.display_id)")
    assert [o[:2] for o in first] == [
        ("display", text("'A'")), ("display", text("'mid'")), ("display", text("'B'")),
        ("stdout", "DisplayHandle spot\n")]
    assert first[0][2] == {"transient": {"display_id": "spot"}}
    assert first[1] == ("display", text("'mid'"))
    assert first[2][2]["transient"]["display_id"] not in ("", "spot")
    assert fresh.run("_h = display(\"again\", display_id=\"spot\")") == [
        ("display", text("'again'"), {"transient": {"display_id": "spot"}})]
    assert fresh.run("h.update(\"A2\")") == [
        ("update", text("'A2'"), {"transient": {"display_id": "spot"}})]
    shown = fresh.run("update_display(HTML(\"<b>z</b>\"), display_id=\"never-shown\")")
    assert len(shown) == 1 and shown[0][0] == "update"
    assert shown[0][1]["text/html"] == "<b>z</b>"
    assert shown[0][2] == {"transient": {"display_id": "never-shown"}}
    fifth = fresh.run("for i in range(3):\n    clear_output(wait=True)\n    print(\"step\", i)\n"
                      "print(\"end\", end=\"\")\nclear_output()\nprint(\"kept\")")
    assert fifth == [
        ("clear", True), ("stdout", "step 0\n"), ("clear", True), ("stdout", "step 1\n"),
        ("clear", True), ("stdout", "step 2\nend"), ("clear", False), ("stdout", "kept\n")]
    assert fresh.run("import IPython\nIPython.get_ipython() is None") == result("True")
    assert fresh.fail("import IPython.core").error[0] == "ModuleNotFoundError"
    assert fresh.run("from IPython.display import Markdown, Image, JSON, SVG, Latex, Javascript\n"
                     "display(Markdown('# m'))")[0][1]["text/markdown"] == "# m"


def test_raw_display_and_metadata(kernel, without_ipython):
    """Display(dict, raw=True, metadata=…)."""
    assert kernel.run(
        "display({'text/plain': 'p', 'application/x+json': {'a': 1}}, raw=True, "
        "metadata={'m': 2})") == [
        ("display", {"text/plain": "p", "application/x+json": {"a": 1}}, {"metadata": {"m": 2}})]


def test_nan_never_reaches_the_wire(kernel):
    """Strict JSON; Result's parsing would accept NaN, so look at the value."""
    shown = kernel.run("display({'application/json': {'x': float('nan'), 'y': [float('inf')]}}, "
                       "raw=True)")
    value = shown[0][1]["application/json"]
    assert value["x"] in (None, "nan", "NaN") and value["y"][0] in (None, "inf", "Infinity")


def test_a_surrogate_in_a_result(kernel):
    """peers 7.5: a lone surrogate in text/plain is replaced, and nothing is lost."""
    shown = kernel.run("class S:\n    def __repr__(self):\n        return 'a\\ud800b'\nS()")
    (_, data), = shown
    assert re.fullmatch("a.+b", data["text/plain"])


def test_a_result_that_prints_while_it_is_shown(kernel):
    """What a repr prints comes before the result."""
    assert kernel.run("class P:\n    def __repr__(self):\n        print('hi')\n"
                      "        return 'P'\nP()") == [("stdout", "hi\n"), ("result", text("P"))]


def test_a_repr_that_is_no_text(kernel):
    shown = kernel.execute("class N:\n    def __repr__(self):\n        return 5\nN()")
    assert shown.outputs[0][:2] == ("error", "TypeError")
    assert kernel.run("'lives'") == result("'lives'")


def test_a_large_display(kernel):
    """10 MB in one message (by a memfd of its own); nothing is cut from displays."""
    (kind, data), = kernel.run("display({'text/plain': 'p', 'text/html': '<' + 'é' * 5_000_000}, "
                               "raw=True)")
    assert kind == "display" and data["text/html"] == "<" + "é" * 5_000_000


def test_magics_are_syntax_errors(kernel):
    """The plain shell has none; the kernel stays usable."""
    for code in ("%matplotlib inline", "!ls", "%%bash\necho", "x = !ls"):
        failed = kernel.fail(code)
        assert failed.error[0] == "SyntaxError"
