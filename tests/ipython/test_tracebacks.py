"""Tracebacks across the load of IPython: cells are called by their number, with their source."""

import pytest


def test_a_plain_cells_function_in_ipythons_traceback(start):
    kernel = start(args=["--shell=auto"])
    kernel.run("def fails():\n    return 1 / 0")
    kernel.run("get_ipython()")
    traceback = kernel.fail("fails()").traceback
    assert "Cell In[1], line 2, in fails()" in traceback
    assert "return 1 / 0" in traceback
    assert "Cell In[3], line 1" in traceback and "<cell" not in traceback


def test_a_shell_cells_frames_in_our_traceback(kernel):
    """Of a comm handler, which no cell's error is."""
    kernel.run("get_ipython()")
    kernel.run("import comm\ndef opened(comm, message):\n    1 / 0  # in the handler\n"
               "comm.get_comm_manager().register_target('t', opened)")
    msg_id = kernel.send("shell", "comm_open", {"comm_id": "c1", "target_name": "t", "data": {}})
    shown = "".join(str(m.content) for m in kernel.iopub(msg_id))
    assert "in the handler" in shown and "Cell In" in shown.replace("\\x1b[32m", "")
    kernel.run("None")


@pytest.mark.parametrize("shell", ["auto", "ipython"])
def test_the_source_of_a_cells_class(start, shell):
    kernel = start(args=[f"--shell={shell}"])
    kernel.run("class Box:\n    def open(self): return 'the lid'")
    kernel.run("get_ipython()")
    assert kernel.run("import inspect\nprint(inspect.getsource(Box))")[0][1].startswith("class Box:")


def test_the_same_text_again_is_another_cell(start):
    """IPython names cells by their text; the number in a traceback is that of the last run."""
    kernel = start(args=["--shell=ipython"])
    assert "Cell In[1], line 1" in kernel.fail("1 / 0").traceback
    assert "Cell In[2], line 1" in kernel.fail("1 / 0").traceback


def test_a_str_that_fails_or_prints_is_asked_for_once_more_at_most(start):
    kernel = start(args=["--shell=ipython"])
    failed = kernel.fail("class E(Exception):\n    def __str__(self): 1 / 0\nraise E")
    assert failed.error[0] == "E"
    assert [m.type for m in failed.body] == ["error"]


@pytest.mark.parametrize("code", ["class A:\n    def __repr__(self): 1 / 0\nA()",
                                  "class A:\n    def _repr_html_(self): 1 / 0\nA()"])
def test_an_error_of_showing_a_result_is_replied_by_its_name(start, code):
    kernel = start(args=["--shell=ipython"])
    assert kernel.fail(code).error == ("ZeroDivisionError", "division by zero")
    assert kernel.run("1 + 1") == [("result", {"text/plain": "2"})]


def test_a_forked_child_ends_with_its_cell(start):
    kernel = start(args=["--shell=ipython"])
    result = kernel.execute(
        "import os\nfor raised in RuntimeError('x'), SystemExit(3), SystemExit():\n"
        "    pid = os.fork()\n    if pid == 0: raise raised\n"
        "    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))")
    assert result.status == "ok" and result.stdout == "1\n3\n0\n", result.outputs


def test_a_memory_error_is_shown_by_the_runner(start):
    """Its frames are told and let go: their variables are what fills the memory."""
    kernel = start(args=["--shell=ipython"])
    failed = kernel.fail("def f(n):\n    kept = bytearray(10)\n    raise MemoryError('full')\nf(1)")
    assert failed.error == ("MemoryError", "full")
    lines = failed.traceback.splitlines()
    assert "Cell In[1], line 4" in lines and "Cell In[1], line 3, in f(n)" in lines
    assert "interactiveshell" not in failed.traceback
    assert kernel.run("import sys\nprint(sys.last_traceback, sys.last_value.__traceback__)") == [
        ("stdout", "None None\n")]
    awaits = kernel.fail("import asyncio\nawait asyncio.sleep(0)\nraise MemoryError")
    assert awaits.error == ("MemoryError", "") and "line 3" in awaits.traceback
    assert "IPython" not in awaits.traceback


def test_a_memory_error_that_a_cell_shows_itself(start):
    kernel = start(args=["--shell=ipython"])
    result = kernel.execute("try: raise MemoryError\nexcept MemoryError: get_ipython().showtraceback()"
                            "\nprint('after')")
    assert result.status == "ok" and [m.type for m in result.body] == ["error", "stream"]
    result = kernel.execute("def fails(*_): raise MemoryError('callback')\n"
                            "get_ipython().events.register('post_execute', fails)")
    assert [m.content["evalue"] for m in result.body if m.type == "error"] == ["callback"]


def test_what_ipython_fails_to_show_is_shown_by_the_runner(start):
    """It would say so on stdout, and nothing of the error to the client."""
    kernel = start(args=["--shell=ipython"])
    kernel.run("import IPython.core.ultratb as u\n"
               "def fails(*_, **__): raise ImportError('no stack_data')\n"
               "for name in 'format_exception_as_a_whole', 'get_records':\n"
               "    if hasattr(u.VerboseTB, name): setattr(u.VerboseTB, name, fails)")
    failed = kernel.fail("def f(): return 1 / 0\nf()")
    assert failed.error == ("ZeroDivisionError", "division by zero")
    assert [m.type for m in failed.body] == ["error"] and "in f()" in failed.traceback
