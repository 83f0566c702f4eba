"""
Issue 6, "history": one file for IPython, ipykernel and Einkorn. Answers equal ipykernel's for the
same file; IPython's own HistoryAccessor reads what Einkorn wrote; in a session with IPython its
magics see both the file and what the session has just run.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys

import jupyter_client
import pytest

from client import DEADLINE, PYTHON, text

OUTPUTS = "--HistoryManager.db_log_output=True"


def cells_of_ipykernel(directory, cells, queries=()):
    """Runs cells in an ipykernel, asks, ends it. -> the answers"""
    manager = jupyter_client.KernelManager()
    manager.kernel_spec.argv = [sys.executable, "-m", "ipykernel_launcher", "-f",
                                "{connection_file}", OUTPUTS]
    manager.start_kernel(env={**os.environ, "IPYTHONDIR": str(directory)})
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=DEADLINE)
        for cell in cells:
            # After an error ipykernel aborts what comes in the next moment, unless told otherwise.
            client.execute(cell, stop_on_error=False, reply=True, timeout=DEADLINE)
        return [client.history(**query, reply=True, timeout=DEADLINE)["content"]["history"]
                for query in queries]
    finally:
        client.stop_channels()
        manager.shutdown_kernel()


def cells_of_einkorn(start, directory, cells, queries=()):
    """The same with Einkorn."""
    kernel = start(args=[OUTPUTS], env={"IPYTHONDIR": str(directory)})
    for cell in cells:
        kernel.execute(cell)
    answers = [ask(kernel, **query) for query in queries]
    kernel.stop()
    return answers


def ask(kernel, hist_access_type, **options):
    content = {"output": False, "raw": True, "hist_access_type": hist_access_type, **options}
    return kernel.ask("shell", "history_request", content).content["history"]


def queries():
    """Every kind of question; each with and without results."""
    table = [{"hist_access_type": "tail", "n": n} for n in (0, 1, 2, 3, 5, 7, 1000)]
    table += [{"hist_access_type": "tail"}]
    table += [{"hist_access_type": "range", "session": session, "start": start, "stop": stop}
              for session in (-3, -2, -1, 0, 1, 2, 3, 4)
              for start, stop in ((1, None), (2, 3), (1, 100), (3, 2), (1, 0))]
    table += [{"hist_access_type": "range", "session": 0, "start": start, "stop": stop}
              for start, stop in ((-1, None), (1, -1), (-2, -1))]
    patterns = "*", "x", "x*", "?", "[xy]", "[^x]*", "*ä*", "none", "*\n*", "X", "*\\*"
    for pattern in patterns:
        for unique in False, True:
            table += [{"hist_access_type": "search", "pattern": pattern, "unique": unique}]
            table += [{"hist_access_type": "search", "pattern": pattern, "unique": unique, "n": n}
                      for n in (0, 1, 3, 100)]
    return [{**query, "output": output} for query in table for output in (False, True)]


def test_answers_equal_ipykernels(start, tmp_path):
    """
    Two sessions, one of each; then the same questions to both, each with a copy of the file.
    ipykernel calls its session 0 even where it is asked for by its number, 3; jupyter_kernel_test
    wants the number.
    """
    first = ["x = 1", "x", "y = 'ä'", "y", "x\n\n", "def f():\n    return 1\n"]
    second = ["x", "a = '\\\\'", "x = 2", "x", "1/0"]
    third = ["x", "x = 3", "'é'", "x"]
    cells_of_ipykernel(tmp_path / "one", first)
    cells_of_einkorn(start, tmp_path / "one", second)
    shutil.copytree(tmp_path / "one", tmp_path / "other")
    asked = queries()
    theirs = cells_of_ipykernel(tmp_path / "one", third, asked)
    ours = cells_of_einkorn(start, tmp_path / "other", third, asked)
    assert any(len(answer) > 10 for answer in theirs) and len(asked) > 200
    for query, one, other in zip(asked, theirs, ours):
        if query.get("session") == 3:
            one = [[3, *rest] for _, *rest in one]
        assert other == one, query


def test_ipykernel_goes_on_with_our_file(start, tmp_path):
    cells_of_einkorn(start, tmp_path, ["'ours'"])
    [[line]] = cells_of_ipykernel(tmp_path, [], [{"hist_access_type": "tail", "n": 1}])
    assert line == [1, 1, "'ours'"]


def test_ipythons_accessor_reads_our_file(start, tmp_path):
    """Sessions' times are datetimes; a session that goes on has no end."""
    cells_of_einkorn(start, tmp_path, ["1 + 1", "2"])
    code = (
        "import datetime, json, sys\n"
        "from IPython.core.history import HistoryAccessor\n"
        "history = HistoryAccessor(hist_file=sys.argv[1])\n"
        "number, start, end, commands, remark = history.get_session_info(1)\n"
        "print(json.dumps([list(history.get_tail(5, include_latest=True, output=True)), number,\n"
        "    type(start) is type(end) is datetime.datetime, start <= end, commands, remark]))\n")
    file = tmp_path / "profile_default" / "history.sqlite"
    done = subprocess.run([PYTHON, "-c", code, file], capture_output=True, text=True, check=True,
                          timeout=60, env={**os.environ, "IPYTHONDIR": str(tmp_path / "none")})
    assert json.loads(done.stdout) == [
        [[1, 1, ["1 + 1", "2"]], [1, 2, ["2", "2"]]], 1, True, True, 2, ""]


# --- in a session with IPython --------------------------------------------------------------


@pytest.fixture
def kernel(start, tmp_path):
    """The second session of a file."""
    directory = tmp_path / "ipython"
    first = start(env={"IPYTHONDIR": str(directory)})
    first.execute("first = 1")
    first.execute("'of the first session'")
    first.stop()
    return start(env={"IPYTHONDIR": str(directory)})


def test_the_manager_is_a_reader(kernel, tmp_path):
    """The number is that of the row; there is no thread, and nothing that Python has open."""
    assert kernel.run("get_ipython().history_manager.session_number") == [("result", text("2"))]
    assert kernel.run(
        "import os, threading\n"
        "from IPython.core.history import HistoryManager\n"
        "manager = get_ipython().history_manager\n"
        "held = [os.readlink(f'/proc/self/fd/{n}') for n in os.listdir('/proc/self/fd')\n"
        "        if os.path.exists(f'/proc/self/fd/{n}')]\n"
        "(isinstance(manager, HistoryManager), manager.save_thread, len(threading.enumerate()),\n"
        " [name for name in held if 'sqlite' in name], str(manager.hist_file))") == [
            ("result", text(f"(True,\n None,\n 1,\n [],\n '{tmp_path}/ipython/profile_default/history.sqlite')"))]
    kernel.execute("%reset -f")
    assert kernel.run("get_ipython().history_manager.session_number") == [("result", text("2"))]


def test_magics_see_the_file_and_the_session(kernel, tmp_path):
    """%history, %recall, %save, %rerun and %notebook."""
    kernel.execute("x = 5")
    kernel.execute("print('seen')")
    assert kernel.execute("%history").stdout == "x = 5\nprint('seen')\n%history\n"
    assert kernel.execute("%history ~1/").stdout == "first = 1\n'of the first session'\n"
    assert kernel.execute("%history -n 1-2").stdout.split() == ["1:", "x", "=", "5", "2:",
                                                               "print('seen')"]
    found = kernel.execute("%history -g first = *").stdout.splitlines()
    assert [line.strip() for line in found] == ["1/1: first = 1", "6: %history -g first = *"]
    assert "print('seen')" in kernel.execute("%history -g *seen*").stdout
    assert "'of the first session'" in kernel.execute("%history -l 9").stdout
    recalled = kernel.execute("%recall 1").reply.content["payload"]
    assert [(item["source"], item["text"]) for item in recalled] == [("set_next_input", "x = 5")]
    kernel.execute("x = 0")
    assert "5" not in kernel.execute("x").stdout
    assert "seen" in kernel.execute("%rerun 2").stdout
    file = tmp_path / "saved.py"
    assert f"written to file `{file}`" in kernel.execute(f"%save {file} 1-2").stdout
    assert file.read_text().endswith("x = 5\nprint('seen')\n")
    # It imports nbformat; on a busy machine such a Python needs longer to end than it has.
    kernel.expect_log("einkorn: Python does not end: killed")
    notebook = tmp_path / "saved.ipynb"
    kernel.execute(f"%notebook {notebook}")
    cells = json.loads(notebook.read_text())["cells"]
    assert ["".join(cell["source"]) for cell in cells[:2]] == ["x = 5", "print('seen')"]


def test_what_ran_before_ipython_was_there_is_seen(kernel):
    """The session went on from a plain one."""
    kernel.execute("plain = 1")
    assert "IPython.core.history" not in kernel.execute("import sys; print(list(sys.modules))").stdout
    assert kernel.execute("%history 1").stdout == "plain = 1\n"
    assert kernel.run("In[1]") == [("result", text("'plain = 1'"))]


def test_a_question_in_a_session_with_ipython(kernel):
    """history_request is the kernel's; magics are there as they were typed."""
    kernel.execute("%time 1")
    assert ask(kernel, "tail", n=2) == [[1, 2, "'of the first session'"], [2, 1, "%time 1"]]


@pytest.mark.parametrize("option", ["--no-history", "--HistoryManager.hist_file=:memory:"])
def test_magics_without_a_file(start, tmp_path, option):
    """This session is all there is."""
    kernel = start(args=[option], env={"IPYTHONDIR": str(tmp_path / "ipython")})
    kernel.execute("x = 1")
    assert kernel.execute("%history").stdout == "x = 1\n%history\n"
    assert "x = 1" in kernel.execute("%history -g x*").stdout
    assert kernel.run("get_ipython().history_manager.session_number") == [("result", text("0"))]
    kernel.stop()
    assert list(tmp_path.rglob("*.sqlite")) == []


def test_magics_beside_a_lock(kernel, tmp_path):
    """A file that cannot be read costs its own lines, and a warning, not the magic."""
    import sqlite3

    file = tmp_path / "ipython" / "profile_default" / "history.sqlite"
    kernel.execute("'mine'")
    assert kernel.run("get_ipython().history_manager.session_number") == [("result", text("2"))]
    ask(kernel, "search", pattern="*")  # all is written
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as database:
        database.execute("BEGIN EXCLUSIVE")
        found = kernel.execute("%history -g *mine*", store_history=False).stdout
        assert "'mine'" in found
    names = sorted(path.name for path in file.parent.glob("history*"))
    assert names == ["history.sqlite"]  # IPython would have moved it away
