"""
bridge/python/einkorn/ipython/history.py in a plain Python (EINKORN_TEST_PYTHON, of any IPython):
with a stand-in for the runner and a file that IPython itself has made.
"""

import json
import os
import pathlib
import subprocess

import pytest

from client import PYTHON, ROOT

BEGIN = """
import json, sqlite3, sys, threading, types
runner = types.ModuleType("_einkorn")
file, sessions = sys.argv[1], json.loads(sys.argv[2])
runner.settings = f"history={file}" if file else ""
runner.history_session = lambda: sessions.pop(0) if len(sessions) > 1 else sessions[0]
sys.modules["_einkorn"] = runner
from IPython.core.interactiveshell import InteractiveShell
from IPython.core import history as theirs
if file and not __import__("os").path.exists(file):
    class Shell(InteractiveShell):
        pass
    old = Shell()
    old.history_manager.end_session()
    old.history_manager.save_thread.stop()
    manager = theirs.HistoryManager(shell=old, hist_file=file)
    for line, source in enumerate(["first", "x = 1", "first"], 1):
        manager.store_inputs(line, source, source)
    manager.writeout_cache()
    manager.end_session()
    manager.save_thread.stop()
from einkorn.ipython.history import HistoryManager
class Ours(InteractiveShell):
    def init_history(self):
        self.history_manager = HistoryManager(shell=self, parent=self)
shell = Ours()
manager = shell.history_manager
def show(*values):
    print(json.dumps(values, default=str))
"""


@pytest.fixture
def run(tmp_path):
    def run(code, sessions=(2,), file=tmp_path / "h.sqlite"):
        """Runs code in a Python with such a shell. -> what it showed"""
        done = subprocess.run(
            [PYTHON, "-c", BEGIN + code, file or "", json.dumps(sessions)], text=True,
            capture_output=True, timeout=60, env={
                **os.environ, "IPYTHONDIR": str(tmp_path / "ipython"),
                "PYTHONPATH": str(pathlib.Path(ROOT) / "bridge" / "python")})
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    return run


CELLS = """
for i, cell in enumerate(["mine = 1", "first", "mine"], 1):
    shell.run_cell(cell, store_history=True)
"""


def test_no_thread_and_no_connection(run):
    """IPython's constructor would have both, and a row of its own."""
    assert run("""
show([thread.name for thread in threading.enumerate() if "History" in thread.name],
     manager.save_thread, isinstance(manager, theirs.HistoryManager))
with sqlite3.connect(file) as db:
    show(db.execute("SELECT count(*) FROM sessions").fetchone())
""") == [[[], None, True], [[1]]]


def test_the_session_is_the_kernels(run):
    """It is waited for while it is on its way, and nothing here changes it."""
    assert run("""
show(manager.session_number)
manager.session_number = 7
manager.new_session()
manager.end_session()
manager.reset()
show(manager.session_number)
""", sessions=[None, None, 2]) == [[2], [2]]


def test_this_session_and_the_file_are_one_history(run):
    assert run(CELLS + """
show(list(manager.get_range(0, 1, None)))
show(list(manager.get_range(-1, 1, 3)))
show(list(manager.get_tail(3, include_latest=True)))
show(list(manager.get_tail(3)))
show(list(manager.search("first")))
show(list(manager.search("first", unique=True)))
show(list(manager.search("*", n=2)))
show(list(manager.get_range(1, 2, 3, raw=False, output=True)))
show(manager.get_session_info(-1)[0], manager.get_session_info(-1)[3], manager.get_last_session_id())
show(len(list(manager.get_range_by_str("~1/ 1-2"))))
""") == [
        [[[0, 1, "mine = 1"], [0, 2, "first"], [0, 3, "mine"]]],
        [[[1, 1, "first"], [1, 2, "x = 1"]]],
        [[[2, 1, "mine = 1"], [2, 2, "first"], [2, 3, "mine"]]],
        [[[1, 3, "first"], [2, 1, "mine = 1"], [2, 2, "first"]]],
        [[[1, 1, "first"], [1, 3, "first"], [2, 2, "first"]]],
        [[[2, 2, "first"]]],
        [[[2, 2, "first"], [2, 3, "mine"]]],
        [[[1, 2, ["x = 1", None]]]],
        [1, 3, 2],
        [5],
    ]


def test_nothing_is_written(run, tmp_path):
    file = tmp_path / "h.sqlite"
    run("")
    before = file.read_bytes()
    run(CELLS + """
manager.writeout_cache()
manager.end_session()
manager.close() if hasattr(manager, "close") else None
shell.atexit_operations()
""")
    assert file.read_bytes() == before
    assert sorted(path.name for path in tmp_path.glob("h*")) == ["h.sqlite"]


def test_lines_keep_their_numbers(run):
    """After what IPython does not store, and after a reset."""
    assert run("""
manager.store_inputs(1, "a")
manager.store_inputs(2, "exit")
manager.store_inputs(3, "b\\n")
show(manager.input_hist_raw)
manager.reset()
manager.store_inputs(4, "c")
show(manager.input_hist_parsed, list(manager.search("?")))
""") == [[["", "a", "", "b"]], [["", "", "", "", "c"], [[2, 4, "c"]]]]


def test_the_connection_for_users_of_their_own(run):
    """`history_manager.db` is what recipes on the web use."""
    assert run(CELLS + """
show(manager.db.execute("SELECT session, line, source FROM history WHERE line = 1").fetchall())
[(start,)] = manager.db.execute("SELECT start FROM sessions").fetchall()
show(type(start).__name__)
""") == [[[[1, 1, "first"], [2, 1, "mine = 1"]]], ["datetime"]]


@pytest.mark.parametrize("content", [None, b"", b"no database" * 99])
def test_a_file_that_is_of_no_use(run, tmp_path, content):
    """This session is seen all the same, and the file stays what it is."""
    file = tmp_path / "other.sqlite"
    file.write_bytes(content or b"")
    code = "" if content is not None else "__import__('os').unlink(file)\n"
    assert run(code + CELLS + """
show(list(manager.search("m*")), list(manager.get_tail(1, include_latest=True)))
show(manager.get_session_info(1))
""", file=file) == [[[[2, 1, "mine = 1"], [2, 3, "mine"]], [[2, 3, "mine"]]], [None]]
    assert file.exists() == (content is not None)
    assert content is None or file.read_bytes() == content


def test_no_file_at_all(run):
    assert run(CELLS + """
show(manager.session_number, manager.hist_file, list(manager.search("mine")))
""", sessions=[0], file=None) == [[0, ":memory:", [[1, 3, "mine"]]]]


def test_characters_that_no_file_holds(run):
    assert run("""
manager.store_inputs(1, "'\\ud800ä'")
show(list(manager.search("*ä*")))
""") == [[[[2, 1, "'\ufffdä'"]]]]
