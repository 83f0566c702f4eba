"""
Issue 6, "history": cells go into IPython's history.sqlite, from a thread of the kernel's own, and
history_request sees what earlier sessions ran; where the file cannot be had, memory goes on.
"""

import contextlib
import os
import pathlib
import sqlite3
import time

import pytest

from client import DEADLINE, IPYTHON, text, wait_for_file, wait_gone, within

SCHEMA = """
    CREATE TABLE sessions (session integer primary key autoincrement, start timestamp,
                           end timestamp, num_cmds integer, remark text);
    CREATE TABLE history (session integer, line integer, source text, source_raw text,
                          PRIMARY KEY (session, line));
    CREATE TABLE output_history (session integer, line integer, output text,
                                 PRIMARY KEY (session, line));
"""


@pytest.fixture
def directory(tmp_path):
    """An IPYTHONDIR for several kernels."""
    return tmp_path / "ipython"


@pytest.fixture
def begin(start, directory):
    """Starts a kernel with that directory."""
    def begin(*args, **options):
        return start(args=args, env={"IPYTHONDIR": str(directory)}, **options)
    return begin


def file_in(directory, profile="default"):
    return directory / f"profile_{profile}" / "history.sqlite"


def query(file, sql, *parameters):
    with contextlib.closing(sqlite3.connect(file, timeout=DEADLINE)) as database:
        return database.execute(sql, parameters).fetchall()


def lines(file):
    return query(file, "SELECT session, line, source FROM history ORDER BY session, line")


def wait_for_lines(file, expected):
    """Looks into the file until it has these lines; nobody asks the kernel for them."""
    end = time.monotonic() + DEADLINE
    found = None
    while time.monotonic() < end:
        with contextlib.suppress(sqlite3.OperationalError):  # not there yet
            found = lines(file)
            if found == expected:
                return
        time.sleep(0.01)
    assert found == expected


def ask(kernel, access, **options):
    content = {"output": False, "raw": True, "hist_access_type": access, **options}
    reply = kernel.ask("shell", "history_request", content)
    assert reply.type == "history_reply" and reply.content["status"] == "ok", reply
    return reply.content["history"]


@contextlib.contextmanager
def locked(file):
    """Somebody writes into the file and does not come to an end."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as database:
        database.execute("BEGIN EXCLUSIVE")
        yield
        database.execute("ROLLBACK")


def threads(kernel):
    tasks = pathlib.Path(f"/proc/{kernel.pid}/task")
    return [(task / "comm").read_text().strip() for task in tasks.iterdir()]


def has_sqlite(kernel):
    return "libsqlite3" in pathlib.Path(f"/proc/{kernel.pid}/maps").read_text()


# --- the file -------------------------------------------------------------------------


def test_a_session_is_written_as_ipython_writes_it(begin, directory):
    """Raw inputs, no results; silent and unstored cells are not there; the end is noted."""
    kernel = begin()
    kernel.execute("a = 1\n\n")
    kernel.execute("a")
    kernel.execute("'silent'", silent=True)
    kernel.execute("'unstored'", store_history=False)
    kernel.execute("  ")
    kernel.execute("1/0")
    kernel.stop()
    file = file_in(directory)
    assert query(file, "SELECT * FROM history") == [
        (1, 1, "a = 1", "a = 1"), (1, 2, "a", "a"), (1, 3, "1/0", "1/0")]
    assert query(file, "SELECT * FROM output_history") == []
    [(number, began, ended, commands, remark)] = query(file, "SELECT * FROM sessions")
    assert (number, commands, remark) == (1, 3, "")
    assert began < ended
    assert file.parent.stat().st_mode & 0o777 == 0o700


def test_results_are_written_when_that_is_wanted(begin, directory):
    kernel = begin("--HistoryManager.db_log_output=True")
    for code in ("1 + 1", "None", "'ä'"):
        kernel.execute(code)
    kernel.stop()
    assert query(file_in(directory), "SELECT * FROM output_history") == [(1, 1, "2"), (1, 3, "'ä'")]


def made(directory):
    """Was anything made there? Where IPython is the shell it makes the directory for itself."""
    return (file_in(directory) if IPYTHON else directory).exists()


def test_nothing_is_there_before_the_first_stored_cell(begin, directory):
    """No thread, no file; the first stored cell brings both. SQLite is there only while it writes."""
    kernel = begin()
    kernel.execute("1", silent=True)
    kernel.execute("1", store_history=False)
    assert ask(kernel, "range", session=0, start=1) == []
    assert "history" not in threads(kernel) and not has_sqlite(kernel)
    assert not made(directory)
    kernel.execute("1")
    wait_for_lines(file_in(directory), [(1, 1, "1")])
    assert "history" in threads(kernel)
    end = time.monotonic() + DEADLINE
    while has_sqlite(kernel) and time.monotonic() < end:
        time.sleep(0.01)
    assert not has_sqlite(kernel)


def test_the_file_is_not_kept_open(begin, directory):
    """An idle kernel holds no descriptor of it."""
    kernel = begin()
    kernel.execute("1")
    assert ask(kernel, "search", pattern="1") == [[1, 1, "1"]]
    descriptors = pathlib.Path(f"/proc/{kernel.pid}/fd")

    def held():
        found = []
        for each in descriptors.iterdir():
            with contextlib.suppress(FileNotFoundError):
                found.append(os.readlink(each))
        return [name for name in found if "history.sqlite" in name]

    assert held() == []


def test_what_was_run_a_second_ago_survives_kill_9(begin, directory):
    """Every line is in the file within a second, though nobody asks for it."""
    kernel = begin()
    kernel.execute("1")
    wait_for_lines(file_in(directory), [(1, 1, "1")])
    kernel.execute("2")
    replied = time.monotonic()
    wait_for_lines(file_in(directory), [(1, 1, "1"), (1, 2, "2")])
    assert time.monotonic() - replied < within(3)  # 0.5 s, and a busy machine
    kernel.process.kill()
    assert wait_gone(kernel.pid)
    kernel.stopped = True
    assert query(file_in(directory), "SELECT end, num_cmds FROM sessions") == [(None, None)]
    assert ask(begin(), "tail", n=2) == [[1, 1, "1"], [1, 2, "2"]]


def test_two_kernels_at_once(begin, directory):
    one, other = begin(), begin()
    for i in range(30):
        one.execute(f"'one {i}'")
        other.execute(f"'other {i}'")
    one.stop()
    other.stop()
    found = lines(file_in(directory))
    assert len(found) == 60
    for name in "one", "other":
        mine = [line for line in found if f"'{name} " in line[2]]
        assert {session for session, _, _ in mine} == {mine[0][0]}
        assert [(n, code) for _, n, code in mine] == [(i + 1, f"'{name} {i}'") for i in range(30)]
    assert query(file_in(directory), "SELECT num_cmds FROM sessions") == [(30,), (30,)]


def test_exit_is_not_written(begin, directory):
    """As for IPython: who goes through the history does not want to come across it."""
    kernel = begin()
    kernel.execute("import os\nexit = quit = lambda: 0")
    for code in ("exit()", "  quit ( ) \n", "exit", "exit() or 1", "exits = 1"):
        kernel.execute(code)
    kernel.stop()
    assert [code for _, _, code in lines(file_in(directory))] == [
        "import os\nexit = quit = lambda: 0", "exit() or 1", "exits = 1"]


def test_the_worker_knows_the_sessions_number(begin):
    """0 before there is one; then that of the row."""
    asked = "import _einkorn, time\nwhile _einkorn.history_session() is None:\n    time.sleep(0.01)\n"
    begin().execute("1")
    second = begin()
    assert second.run("import _einkorn; _einkorn.history_session()", store_history=False) == [
        ("result", text("0"))]
    assert second.run(f"{asked}_einkorn.history_session()") == [("result", text("2"))]
    assert second.run("import os\nif os.fork() == 0:\n"
                      "    print(_einkorn.history_session(), flush=True)\n    os._exit(0)\n"
                      "_ = os.wait()") == [("stdout", "0\n")]


def test_a_replaced_python_is_another_session(begin, directory):
    kernel = begin("--on-death", "restart")
    kernel.execute("1")
    wait_for_lines(file_in(directory), [(1, 1, "1")])
    kernel.expect_log(r"einkorn: .*exit status 3.*", r"einkorn: .*death-.*")
    assert kernel.execute("import os; os._exit(3)").status == "error"
    told = [kernel.take("iopub", lambda m: m.parent == {}) for _ in range(2)]
    assert [m.state for m in told] == ["restarting", "idle"]
    assert ask(kernel, "range", session=0, start=1) == []
    kernel.execute("'new'")
    assert ask(kernel, "range", session=1, start=1) == [
        [1, 1, "1"], [1, 2, "import os; os._exit(3)"]]
    assert ask(kernel, "tail", n=1) == [[2, 1, "'new'"]]


# --- questions --------------------------------------------------------------------------


def test_earlier_sessions_are_told(begin):
    """Tail, search and range over sessions, with absolute and relative numbers."""
    first = begin()
    for code in ("x = 1", "x", "import math"):
        first.execute(code)
    first.stop()
    second = begin()
    assert ask(second, "tail", n=2) == [[1, 2, "x"], [1, 3, "import math"]]
    assert ask(second, "range", session=-1, start=1) == [
        [1, 1, "x = 1"], [1, 2, "x"], [1, 3, "import math"]]
    second.execute("x")
    second.execute("'ä'")
    assert ask(second, "tail", n=3) == [[1, 3, "import math"], [2, 1, "x"], [2, 2, "'ä'"]]
    assert ask(second, "tail", n=2) == [[2, 1, "x"], [2, 2, "'ä'"]]
    assert ask(second, "tail", n=3, output=True) == [
        [1, 3, ["import math", None]], [2, 1, ["x", None]], [2, 2, ["'ä'", "'ä'"]]]
    assert ask(second, "range", session=-1, start=2, stop=3) == [[1, 2, "x"]]
    assert ask(second, "range", session=1, start=3) == [[1, 3, "import math"]]
    for current in 0, 2:
        assert ask(second, "range", session=current, start=2) == [[current, 2, "'ä'"]]
    assert ask(second, "range", session=7, start=1) == []
    assert ask(second, "search", pattern="x*") == [[1, 1, "x = 1"], [1, 2, "x"], [2, 1, "x"]]
    assert ask(second, "search", pattern="x", unique=True) == [[2, 1, "x"]]
    assert ask(second, "search", pattern="*", n=2) == [[2, 1, "x"], [2, 2, "'ä'"]]


def test_a_question_in_the_first_cell_is_answered_while_it_runs(begin):
    """The file's answer comes although Python is busy, with a busy and an idle of its own."""
    first = begin()
    first.execute("'before'")
    first.stop()  # its line is in the file then, and not only on the way there
    kernel = begin()
    cell = kernel.started("print('go'); import threading; threading.Event().wait()")
    assert [line for _, _, line in ask(kernel, "tail", n=2)][0] == "'before'"
    kernel.interrupt()
    assert kernel.finished(cell).status == "error"


def test_a_file_that_others_have_replaced(begin, directory):
    kernel = begin()
    kernel.execute("1")
    file = file_in(directory)
    wait_for_lines(file, [(1, 1, "1")])
    file.unlink()
    with contextlib.closing(sqlite3.connect(file)) as database:
        database.executescript(SCHEMA)
        database.execute("INSERT INTO sessions VALUES (1, 'somebody', NULL, NULL, '')")
        database.commit()
    kernel.execute("2")
    wait_for_lines(file, [(2, 2, "2")])


# --- where there is none -------------------------------------------------------------------


@pytest.mark.parametrize("option", [
    "--no-history", "--HistoryManager.enabled=False", "--HistoryManager.hist_file=:memory:"])
def test_no_history_is_written_when_none_is_wanted(begin, directory, option):
    """No file, no thread, no SQLite; the session's own is in memory."""
    kernel = begin(option)
    kernel.execute("1")
    assert ask(kernel, "tail", n=5) == [[1, 1, "1"]]
    assert ask(kernel, "search", pattern="?") == [[1, 1, "1"]]
    assert kernel.run("import _einkorn; _einkorn.history_session()")[0] == ("result", text("0"))
    assert "history" not in threads(kernel) and not has_sqlite(kernel)
    kernel.stop()
    assert not made(directory)


@pytest.mark.parametrize("args, place", [
    (["--profile=p"], "ipython/profile_p/history.sqlite"),
    (["--profile-dir", "{}/d"], "d/history.sqlite"),
    (["--ProfileDir.location={}/d"], "d/history.sqlite"),
    (["--ipython-dir={}/i"], "i/profile_default/history.sqlite"),
    (["--HistoryManager.hist_file={}/h/x.sqlite"], "h/x.sqlite"),
])
def test_the_place_can_be_chosen(begin, tmp_path, args, place):
    kernel = begin(*(arg.format(tmp_path) for arg in args))
    kernel.execute("1")
    kernel.stop()
    assert lines(tmp_path / place) == [(1, 1, "1")]
    assert [p.name for p in tmp_path.rglob("*.sqlite*")] == [pathlib.Path(place).name]


def test_the_home_is_the_place_when_nothing_is_said(start, tmp_path):
    """~/.ipython/profile_default; an empty IPYTHONDIR says nothing."""
    kernel = start(env={"IPYTHONDIR": "", "HOME": str(tmp_path)})
    kernel.execute("1")
    kernel.stop()
    assert lines(tmp_path / ".ipython/profile_default/history.sqlite") == [(1, 1, "1")]


def goes_on_in_memory(kernel, reason):
    """One line with the reason, and the session's own history."""
    kernel.expect_log(rf"einkorn: history: .*{reason}.*; this session's stays in memory")
    kernel.execute("1")
    assert ask(kernel, "search", pattern="1") == [[1, 1, "1"]]
    kernel.execute("2")
    assert ask(kernel, "tail", n=5) == [[1, 1, "1"], [1, 2, "2"]]
    kernel.stop()
    assert kernel.stderr().count("\n") == 1


def test_a_home_that_cannot_be_written(start):
    goes_on_in_memory(start(env={"IPYTHONDIR": "", "HOME": "/proc/self"}), "/proc/self/.ipython")


def test_a_corrupt_file(begin, directory):
    """It stays as it is."""
    file = file_in(directory)
    file.parent.mkdir(parents=True)
    file.write_bytes(b"no database " * 1000)
    goes_on_in_memory(begin(), "not a database")
    assert file.read_bytes() == b"no database " * 1000


def test_a_locked_file_holds_nothing_up(begin, directory):
    """user-problems 38: the start, cells, and the first answer do not wait; then it is given up."""
    with locked(file_in(directory)):
        began = time.monotonic()
        kernel = begin()
        assert kernel.run("1") == [("result", text("1"))]
        assert kernel.run("2") == [("result", text("2"))]
        assert time.monotonic() - began < within(4)  # the lock is waited for 5 s
        kernel.expect_log(r"einkorn: history: .*database is locked.*",
                          r"einkorn: history: the file does not answer.*")
        question = kernel.send("shell", "history_request", {
            "output": False, "raw": True, "hist_access_type": "search", "pattern": "*"})
        assert kernel.run("3") == [("result", text("3"))]
        reply = kernel.reply("shell", question)
        assert [m.state for m in kernel.iopub(question)] == ["busy", "idle"]
        assert reply.content["history"][:2] == [[1, 1, "1"], [1, 2, "2"]]
        wait_for_file(kernel.directory / "stderr", lambda log: "database is locked" in log)
        kernel.execute("4")
        assert ask(kernel, "tail", n=1) == [[1, 4, "4"]]
    kernel.stop()


def test_the_end_does_not_wait_for_a_lock(begin, directory):
    with locked(file_in(directory)):
        kernel = begin()
        kernel.execute("1")
        kernel.expect_log(r"einkorn: history: .*")
        began = time.monotonic()
        kernel.stop()
        assert time.monotonic() - began < within(4)
