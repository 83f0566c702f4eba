"""What a cell is: an expression or statements, in a namespace that lasts."""

import json

import pytest


@pytest.mark.parametrize(
    "code, stdout",
    [
        ("print('hello')", "hello\n"),
        ("21 * 2", "42\n"),
        ("'text'", "'text'\n"),
        ("None", ""),
        ("x = 41", ""),
        ("1\n2", ""),
        ("(1,\n 2)", "(1, 2)\n"),
        ("\n  \n# nothing", ""),
        ("", ""),
        ("1;", ""),
        ("print(5) or 6", "5\n6\n"),
        ("__name__", "'__openai4s__'\n"),
        ("# a comment\n\nx = 41", ""),
        ("x == 41", "True\n"),
        ("# a comment\n\nx == 41", "True\n"),
        ("x += 1; print(x)", "42\n"),
        ("importance = 1", ""),
        ("importance", "1\n"),
    ],
)
def test_the_whole_cell_is_an_expression_or_statements(worker, code, stdout):
    result = worker.execute(code)
    assert (result["stdout"], result["error"]) == (stdout, None)
    assert "".join(result.chunks) == stdout


def test_the_namespace_lasts_and_holds_nothing_of_ours(start):
    worker = start()
    names = worker.execute("sorted(globals())")["stdout"]
    assert names == "['__builtins__', '__name__', 'host', 'openai4s']\n"
    worker.execute("x = 41")
    assert worker.execute("print(x + 1)")["stdout"] == "42\n"
    assert worker.execute("'_' in globals()")["stdout"] == "False\n"


def test_classes_of_cells_are_found_by_name(worker):
    worker.execute(
        "import pickle, sys, dataclasses\n"
        "@dataclasses.dataclass\n"
        "class Point:\n"
        "    x: int\n"
    )
    result = worker.execute("pickle.loads(pickle.dumps(Point(3)))")
    assert (result["stdout"], result["error"]) == ("Point(x=3)\n", None)
    assert worker.execute("sys.modules[__name__].__dict__ is globals()")["stdout"] == "True\n"


@pytest.mark.parametrize(
    "request_",
    [
        {"id": "a", "code": "print(1)"},
        {"type": "execute", "id": "a", "code": "print(1)", "origin": "user", "more": [1]},
    ],
)
def test_the_type_may_be_left_out(worker, request_):
    worker.send(request_)
    assert worker.finish("a")["stdout"] == "1\n"


@pytest.mark.parametrize("identity", ["x", "", 5, None, [1, {"a": None}], "\U0001f600 ä", True])
def test_the_id_comes_back_as_it_was(worker, identity):
    worker.send({"type": "execute", "id": identity, "code": "print('here')"})
    assert worker.finish(identity)["stdout"] == "here\n"


def test_without_id_and_code(worker):
    worker.send({"type": "execute"})
    assert worker.finish("unknown")["error"] is None


@pytest.mark.parametrize(
    "code, kind, line, function",
    [
        ("a = 1\nb = 2\nraise ValueError('boom')", "ValueError: boom", 3, None),
        ("def f():\n    return 1 / 0\n\nf()", "ZeroDivisionError", 2, "f"),
        ("int('x')", "ValueError", 1, None),
        ("import json\njson.loads('{')", "JSONDecodeError", 2, None),
        ("1 +", "SyntaxError", None, None),
        ("x = 1\nraise KeyboardInterrupt('manual')", "KeyboardInterrupt: manual", 2, None),
        ("raise BaseException('b')", "BaseException: b", 1, None),
        ("list(map(lambda x: 1 / x, [0]))", "ZeroDivisionError", 1, "<lambda>"),
        ("raise ValueError() from KeyError('why')", "KeyError: 'why'", 1, None),
        ("'\ud800'.encode()", "UnicodeEncodeError", None, None),
        ("a\0b", "null bytes", None, None),
    ],
)
def test_errors_say_where(worker, code, kind, line, function):
    worker.send(json.dumps({"id": "e", "code": code}))
    result = worker.finish("e")
    assert kind in result["error"]
    assert result["trace"] == {"error_lineno": line, "error_call": function}
    assert result["interrupted"] is False
    assert "einkorn" not in result["error"], "a frame of ours"


def test_an_error_in_what_an_earlier_cell_defined_has_no_line_of_this_one(worker):
    """The echo's repr, where no frame of the cell's own is behind it."""
    worker.execute("class R:\n    def __repr__(self): return 1 / 0")
    result = worker.execute("R()")
    assert "ZeroDivisionError" in result["error"]
    assert result["trace"] == {"error_lineno": None, "error_call": None}
    assert (result["interrupted"], result["stdout"]) == (False, "")


def test_a_traceback_shows_the_source_also_of_earlier_cells(start):
    worker = start()
    worker.execute("def f():\n    return undefined_name")
    error = worker.execute("f()")["error"]
    assert error.startswith("Traceback (most recent call last):\n")
    assert '  File "<kernel:2>", line 1, in <module>\n    f()\n' in error
    assert '  File "<kernel:1>", line 2, in f\n    return undefined_name\n' in error


def test_the_last_128_cells_are_kept(start):
    worker = start()
    worker.execute("import linecache")
    worker.execute("def first(): pass  # two")
    for _ in range(126):
        worker.execute("pass")
    assert "# two" in worker.execute("print(linecache.getline('<kernel:2>', 1))")["stdout"]
    gone = worker.execute("import inspect\ninspect.getsource(first)")
    assert "OSError" in gone["error"], "the 128 cells after it have taken its place"
    names = worker.execute("print(sum(name.startswith('<kernel:') for name in linecache.cache))")
    assert names["stdout"] == "128\n"


def test_a_cell_that_clears_linecache_has_its_source_in_tracebacks(worker):
    error = worker.execute("import linecache\nlinecache.clearcache()\n1 / 0  # here")["error"]
    assert "1 / 0  # here" in error


@pytest.mark.parametrize(
    "code, text",
    [
        ("raise SystemExit(3)", "SystemExit trapped (worker kept alive): 3"),
        ("import sys\nsys.exit()", "SystemExit trapped (worker kept alive): "),
        ("exit()", "SystemExit trapped (worker kept alive): None"),
        ("raise GeneratorExit('g')", "GeneratorExit trapped (worker kept alive): g"),
        ("class E(SystemExit): pass\nraise E('own')", "E trapped (worker kept alive): own"),
    ],
)
def test_exit_is_trapped(worker, code, text):
    worker.execute("x = 7")
    result = worker.execute(code)
    assert result["error"] == text
    assert result["trace"] == {"error_lineno": None, "error_call": None}
    assert worker.execute("print(x)")["stdout"] == "7\n"


@pytest.mark.parametrize(
    "code, text",
    [
        ("class E(Exception):\n    def __str__(self): raise SystemExit\nraise E", "E: <exception str() failed>"),
        ("class E(Exception):\n    def __str__(self): return 5\nraise E", "E: <exception str() failed>"),
        ("class E(Exception):\n    def __str__(self): raise KeyboardInterrupt\nraise E", "E: <exception str() failed>"),
        ("class E(SystemExit):\n    def __str__(self): 1 / 0\nraise E", None),
        ("class E(Exception):\n    @property\n    def __cause__(self): raise SystemExit\nraise E", None),
    ],
)
def test_an_exception_whose_own_code_fails_is_an_error_all_the_same(worker, code, text):
    """Python's own traceback bears most; where it does not, the class at least is told."""
    error = worker.execute(code)["error"]
    if text is None:
        assert error == "E: <traceback could not be formatted>\n"
    else:
        assert error.startswith("Traceback") and error.endswith(text + "\n")
    worker.alive()


def test_input_gets_the_end_of_the_file(worker):
    assert "EOFError" in worker.execute("input('? ')")["error"]
    assert worker.execute("import sys\nprint(repr(sys.stdin.read()))")["stdout"] == "''\n"


@pytest.mark.parametrize("code", ["exit()", "import sys\nsys.stdin.close()", "import os\nos.close(0)"])
def test_input_gets_it_also_after_somebody_closed_stdin(start, code):
    worker = start()
    worker.execute(code)
    assert "EOFError" in worker.execute("input()")["error"]


def test_cells_do_not_import_from_the_current_directory(start, tmp_path):
    for name in ("json", "_json", "traceback", "linecache", "host", "einkorn"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('mine')")
    worker = start(cwd=tmp_path)
    result = worker.execute("import sys\nprint('' in sys.path, sys.argv)\nimport host")
    assert result["stdout"] == "False ['']\n"
    assert "ModuleNotFoundError" in result["error"]
    assert worker.execute("import json\njson.loads('1')")["error"] is None


def test_the_file_name_counts_every_cell(start):
    worker = start()
    for n in (1, 2, 3):
        assert f'"<kernel:{n}>"' in worker.execute("1 / 0")["error"]


def test_context_variables_last(worker):
    worker.execute("import contextvars\nv = contextvars.ContextVar('v')\ntoken = v.set(5)")
    assert worker.execute("v.get()")["stdout"] == "5\n"


def test_annotations_are_what_the_cell_says(worker):
    """No __future__ of ours gets into cells."""
    worker.execute("def f(x: int): pass")
    assert worker.execute("f.__annotations__['x'] is int")["stdout"] == "True\n"


@pytest.mark.parametrize("mode, has_host", [("repl", True), ("python", True), ("jupyter", False)])
def test_the_mode_says_whether_there_is_a_host(start, mode, has_host):
    worker = start(env={"OPENAI4S_KERNEL_MODE": mode})
    result = worker.execute("print('host' in globals(), 'openai4s' in globals())")
    assert result["stdout"] == f"{has_host} {has_host}\n"
    worker.execute("import os\nos.environ['OPENAI4S_KERNEL_MODE'] = 'repl'")
    assert worker.execute("print('host' in globals())")["stdout"] == f"{has_host}\n"
    result = worker.execute("import _einkorn\n_einkorn.host_call('ping', [])")
    assert ("this kernel has no host" in (result["error"] or "")) is not has_host


def test_the_host_comes_back_to_a_namespace_without_one(start):
    worker = start()
    worker.execute("del host, openai4s")
    assert worker.execute("print(host is openai4s)")["stdout"] == "True\n"


def test_usage(worker):
    result = worker.execute("sum(range(1000))")
    assert set(result["usage"]) == {"wall_s", "cpu_s", "peak_rss_kb"}
    assert result["usage"]["wall_s"] >= 0 and result["usage"]["peak_rss_kb"] > 0


def test_usage_counts_the_process_and_children_that_ended(worker):
    code = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', %r])"
    burn = "import time\nwhile time.process_time() < 0.3: pass"
    assert worker.execute(code % burn)["usage"]["cpu_s"] >= 0.3
    own = worker.execute("import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass")
    assert own["usage"]["cpu_s"] >= 0.29
    assert worker.execute("pass")["usage"]["cpu_s"] < 0.29, "each cell's own"
    assert worker.execute("import time\ntime.sleep(0.3)")["usage"]["wall_s"] >= 0.3


def test_an_error_in_a_callback_is_told_on_stderr_and_the_hook_is_not_pythons_own(start):
    """With Python's own sys.excepthook PyQt ends the process by abort()."""
    worker = start()
    assert worker.execute("import sys\nprint(sys.excepthook is sys.__excepthook__)")["stdout"] == "False\n"
    result = worker.execute("try: 1 / 0\nexcept ZeroDivisionError: sys.excepthook(*sys.exc_info())")
    assert (result["error"], result["stdout"]) == (None, "")
    assert result["stderr"].startswith("Traceback (most recent call last):\n  File \"<kernel:2>\", line 1")
    assert result["stderr"].endswith("ZeroDivisionError: division by zero\n")


def test_user_warnings_are_stderr(worker):
    result = worker.execute("import sys\nsys.stderr.write('warn!\\n')\nprint('out')")
    assert (result["stdout"], result["stderr"]) == ("out\n", "warn!\n")
    assert result.chunks == ["out", "\n"] or "".join(result.chunks) == "out\n"
