"""
Issue 6, "Proof": what VS Code runs unseen, as a replay over bare sockets (clients.md 1.4 and
section 10). The cells are of the same kind as the extension's, in words of our own.
"""

import json

import pytest

HIDDEN = {"silent": False, "store_history": False, "stop_on_error": False, "allow_stdin": True}
BACKGROUND = {**HIDDEN, "allow_stdin": False}


def hidden(kernel, code, **options):
    return kernel.execute(code, **{**HIDDEN, **options})


# --- at the start -----------------------------------------------------------------------------

START = """\
import IPython as _vsc_ipython, sys as _vsc_sys
if "vscode" not in _vsc_sys.modules:
    _vsc_module = type(_vsc_ipython)("vscode")
    def _vsc_show(data, _display=_vsc_ipython.display.display):
        _display({"application/vnd.vscode.chat+json": data}, raw=True, metadata={"id": 7})
    _vsc_module.show = _vsc_show
    _vsc_sys.modules["vscode"] = _vsc_module
del _vsc_ipython, _vsc_sys, _vsc_module
__vsc_ipynb_file__ = "/home/ada/a.ipynb"
%config Completer.use_jedi = False
try:
    %config InlineBackend.figure_formats = {"png"}
except:
    pass
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_the_combined_start_cell(start, newline):
    """A module of its own, the notebook's path, line magics at top level and within a block."""
    kernel = start()
    result = hidden(kernel, START.replace("\n", newline))
    assert (result.status, result.outputs) == ("ok", [])
    result = kernel.execute("import vscode; vscode.show({'a': 1})\nprint(__vsc_ipynb_file__,"
                            " get_ipython().Completer.use_jedi,"
                            " get_ipython().kernel.shell.user_ns['__vsc_ipynb_file__'])")
    assert result.count == 1
    assert result.outputs == [
        ("display", {"application/vnd.vscode.chat+json": {"a": 1}}, {"metadata": {"id": 7}}),
        ("stdout", "/home/ada/a.ipynb False /home/ada/a.ipynb\n")]


def test_the_probe_for_widgets_is_on_stdout(kernel):
    """It prints a mark in any case; what it prints is the first output."""
    result = hidden(kernel, "try:\n    import ipywidgets as _w\n    print('mark', _w.__version__)\n"
                            "    del _w\nexcept:\n    print('mark none')")
    name, text = result.outputs[0]
    assert name == "stdout" and text.startswith("mark ")


def test_the_prewarming_completion(kernel):
    reply = kernel.ask("shell", "complete_request", {"code": "__file__.", "cursor_pos": 9})
    assert reply.content["status"] == "ok"


def test_the_gate_of_the_debugger(kernel):
    """`ipykernel.__version__` is X.Y.Z with X >= 6, and nothing else is printed."""
    result = hidden(kernel, "import ipykernel\nprint(ipykernel.__version__)")
    (name, text), = result.outputs
    major, minor, patch = text.strip().split(".")
    assert name == "stdout" and int(major) >= 6 and minor.isdigit() and patch.isdigit()


def test_the_interpreter_is_the_environments(kernel):
    result = hidden(kernel, "import sys\nprint(sys.executable)\nprint(sys.prefix)")
    executable, prefix = result.stdout.split()
    assert executable.startswith(prefix + "/bin/python")


# --- hidden cells leave no trace -----------------------------------------------------------------

TRACES = ("import json; print(json.dumps([len(In), sorted(Out), sorted(_n for _n in globals()"
          " if _n[:1] == '_' and _n[1:].strip('i').isdigit())]))")


@pytest.mark.parametrize("code, status", [
    ("40 + 2", "ok"), ("get_ipython()", "ok"), ("%who_ls", "ok"), ("!true", "ok"),
    ("def", "error"), ("1/0", "error"), ("import re; re.compile('x')", "ok"), ("", "ok"),
    ("import asyncio; await asyncio.sleep(0); 5", "ok"), ("x_ = 1;", "ok")])
@pytest.mark.parametrize("silent", [False, True])
def test_in_out_history_and_counter_stay(start, code, status, silent):
    """Also of cells that run before IPython is loaded, and of silent ones."""
    kernel = start()
    kernel.run("7")
    before = kernel.execute(TRACES)
    result = hidden(kernel, code, silent=silent)
    assert result.status == status
    assert result.count in (None, 2)
    after = kernel.execute(TRACES)
    assert (before.count, after.count) == (2, 3)
    inputs, outputs, names = json.loads(before.stdout)
    assert (inputs, outputs, names) == (3, [1], ["_1", "_i1", "_i2"])
    assert json.loads(after.stdout) == [4, [1], ["_1", "_i1", "_i2", "_i3"]]
    history = kernel.ask("shell", "history_request", {
        "output": False, "raw": True, "hist_access_type": "range", "session": 0,
        "start": 1, "stop": 9}).content["history"]
    assert [line for _, _, line in history] == ["7", TRACES, TRACES]


def test_a_failed_hidden_cell_aborts_nothing(kernel):
    first = kernel.send_execute("1/0", **HIDDEN)
    second = kernel.send_execute("print('still')", **HIDDEN)
    assert kernel.finish_execute(first, "1/0", **HIDDEN).status == "error"
    assert kernel.finish_execute(second, "print('still')", **HIDDEN).stdout == "still\n"


# --- completion and hover from a thread ----------------------------------------------------------

ASK = """\
def _vsc_ask(work):
    from threading import Thread
    from IPython.display import display
    handle = display({"application/vnd.vscode.bg+json": {"state": "waiting"}}, raw=True,
                     display_id=True)
    def run():
        global _vsc_go
        _vsc_go.wait(60)
        try:
            answer = {"result": work()}
        except Exception as error:
            answer = {"error": repr(error)}
        handle.update({"application/vnd.vscode.bg+json": answer}, raw=True)
    Thread(target=run, daemon=True).start()
import threading
_vsc_go = threading.Event()
_vsc_ask(lambda: get_ipython().kernel.%s)
"""


@pytest.mark.parametrize("call, check", [
    ("do_complete('some_n', 6)", lambda r: r["matches"] == ["some_name"]),
    ("do_complete('some_name.bit_l', 15)", lambda r: "bit_length" in r["matches"][0]),
    ("do_inspect('some_name', 3, 0)", lambda r: r["found"] and "text/plain" in r["data"]),
])
def test_an_answer_that_comes_after_idle(start, call, check):
    """The thread is the cell's: its update has the cell's request as parent, after its idle."""
    kernel = start()
    kernel.run("some_name = 3")
    asked = hidden(kernel, ASK % call, allow_stdin=False)
    (kind, data, extra), = asked.outputs
    assert kind == "display" and data == {"application/vnd.vscode.bg+json": {"state": "waiting"}}
    other = kernel.execute("_vsc_go.set()", store_history=False)
    update = kernel.take("iopub", lambda m: m.type == "update_display_data")
    assert update.parent_id == asked.reply.parent_id
    assert update.content["transient"] == extra["transient"]
    answer = update.content["data"]["application/vnd.vscode.bg+json"]
    assert set(answer) == {"result"} and check(answer["result"]), answer
    assert other.outputs == []


def test_it_is_answered_while_a_cell_runs(kernel):
    kernel.run("some_name = 3; import threading, time")
    hidden(kernel, ASK % "do_complete('some_n', 6)", allow_stdin=False)
    code = "print('go', flush=True)\n_vsc_go.set()\nwhile not done: time.sleep(0.01)"
    kernel.run("done = []")
    running = kernel.started(code)
    kernel.take("iopub", lambda m: m.type == "update_display_data")
    assert kernel.interrupt().content["status"] == "ok"
    assert kernel.finished(running).error[0] == "KeyboardInterrupt"


# --- the variables view ---------------------------------------------------------------------------


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("code", [
    "_vsc_names = %who_ls\nprint(_vsc_names)",
    "def _vsc_list():\n    def inner():\n        names = %who_ls\n        return names\n"
    "    return inner()\nprint(_vsc_list())",
    "if True:\n    names_ = %who_ls\n    print(names_)"], ids=["top", "function", "block"])
def test_the_names_of_the_user(start, code, newline):
    kernel = start()
    kernel.run("%config Completer.use_jedi = False\nalpha = 1; beta = [2]\ndef gamma(): pass")
    kernel.run("del alpha")
    printed = hidden(kernel, code.replace("\n", newline)).stdout
    names = json.loads(printed.replace("'", '"'))
    assert [n for n in names if n in ("alpha", "beta", "gamma")] == ["beta", "gamma"]
    assert not {"In", "Out", "exit", "quit", "get_ipython"} & set(names)


def test_a_helper_s_result_is_the_first_output(kernel):
    """A value by execute_result, as the repr of a plain Python."""
    result = hidden(kernel, "('127.0.0.1', 5678)")
    assert result.outputs == [("result", {"text/plain": "('127.0.0.1', 5678)"})]


def test_two_statements_on_a_line_and_crlf(kernel):
    assert hidden(kernel, "a = 1; a;b = 2\r\nif a:\r\n    print(a, b)\r\n").outputs == [
        ("stdout", "1 2\n")]


# --- the Interactive Window -----------------------------------------------------------------------

HOOK = """\
def _vsc_hook():
    import hashlib, os
    shell = get_ipython()
    original = shell.run_cell.__func__
    calls = []
    def run_cell(self, *args, **kwargs):
        text = kwargs["raw_cell"] if "raw_cell" in kwargs else args[0]
        store = kwargs["store_history"] if "store_history" in kwargs else (
            args[1] if len(args) > 1 else False)
        if not store:
            return original(self, *args, **kwargs)
        digest = hashlib.sha1(text.encode()).hexdigest()[:12]
        os.environ["IPYKERNEL_CELL_NAME"] = f"<ipython-input-{self.execution_count}-{digest}>"
        calls.append((text, self.execution_count))
        try:
            return original(self, *args, **kwargs)
        finally:
            del os.environ["IPYKERNEL_CELL_NAME"]
    shell.run_cell = run_cell.__get__(shell, type(shell))
    return calls
_vsc_calls = _vsc_hook()
"""


def test_the_hook_around_each_cell(start):
    """Built of run_cell.__func__, put on the instance; it names the file of each cell."""
    kernel = start()
    kernel.run("def before(): pass")
    assert hidden(kernel, HOOK).status == "ok"
    name = "def f(): pass\nprint(f.__code__.co_filename)"
    first = kernel.execute(name)
    import hashlib
    digest = hashlib.sha1(name.encode()).hexdigest()[:12]
    assert first.stdout == f"<ipython-input-{first.count}-{digest}>\n"
    assert hidden(kernel, "def g(): pass\nprint('ipython-input' in g.__code__.co_filename)"
                  ).stdout == "False\n"
    assert kernel.run("import inspect; print(inspect.getsource(f), end='')") == [
        ("stdout", "def f(): pass\n")]
    assert json.loads(hidden(kernel, "import json; print(json.dumps(_vsc_calls))").stdout)[0] == [
        name, first.count]
    error = kernel.fail("def h():\n    1/0\nh()")
    assert error.error == ("ZeroDivisionError", "division by zero")
    assert f"Cell In[{error.count}], line 2" in error.traceback


def test_the_cell_knows_its_metadata(kernel):
    result = kernel.execute("print(get_ipython().get_parent()['metadata']['cellId'])",
                            metadata={"cellId": "W0sZmlsZQ=="})
    assert result.stdout == "W0sZmlsZQ==\n"


def test_the_end_by_sigterm(start):
    """No shutdown_request: SIGTERM to the descendants, then to the kernel, which ends within 1 s."""
    import os
    import signal
    import time

    from client import descendants_of, within
    kernel = start()
    kernel.run("import atexit, sys; get_ipython()")
    kernel.expect_log(".*")
    for pid in descendants_of(kernel.pid):
        os.kill(pid, signal.SIGTERM)
    os.kill(kernel.pid, signal.SIGTERM)
    before = time.monotonic()
    kernel.exit_status(within(5))
    assert time.monotonic() - before < within(5)
    kernel.stopped = True
