"""What a profile says of the history reaches the kernel process, which writes it."""

import contextlib
import sqlite3

import pytest

import client
import differential


@pytest.fixture
def profile(tmp_path):
    """A function that starts Einkorn with a profile of that configuration."""
    def start_with(start, text, name="ipython_config.py", args=()):
        directory = tmp_path / "ipython" / "profile_default"
        directory.mkdir(parents=True)
        (directory / name).write_text(text)
        return start(env={"IPYTHONDIR": str(tmp_path / "ipython")}, args=list(args))

    return start_with


def rows(file, table="history"):
    """All of a table of that file."""
    with contextlib.closing(sqlite3.connect(file)) as database:
        return database.execute(f"SELECT * FROM {table} ORDER BY session, line").fetchall()


def files(directory):
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*.sqlite"))


@pytest.mark.parametrize("name", ["ipython_config.py", "ipython_kernel_config.py"])
@pytest.mark.parametrize("text", [
    "c.HistoryManager.enabled = False",
    "c.HistoryAccessor.enabled = False",
    "c.HistoryManager.hist_file = ':memory:'",
    "c.HistoryAccessor.hist_file = ':memory:'",
])
def test_a_profile_that_wants_no_file_gets_none(start, profile, tmp_path, name, text):
    """Not even for the first cell; the session's own lines are there all the same."""
    kernel = profile(start, text, name)
    kernel.execute("first = 1")
    kernel.execute("1 + 1")
    assert kernel.execute("%history").stdout == "first = 1\n1 + 1\n%history\n"
    manager = "get_ipython().history_manager"
    assert kernel.run(f"{manager}.session_number, str({manager}.hist_file)") == [
        ("result", client.text("(0, ':memory:')"))]
    content = {"output": False, "raw": True, "hist_access_type": "tail", "n": 9}
    told = kernel.ask("shell", "history_request", content).content["history"]
    assert [line for _, _, line in told][:2] == ["first = 1", "1 + 1"]
    kernel.stop()
    assert files(tmp_path) == []


def test_a_question_before_the_first_cell_opens_no_file_either(start, profile, tmp_path):
    """A console asks for the last lines before anything runs."""
    kernel = profile(start, "c.HistoryManager.enabled = False")
    content = {"output": False, "raw": True, "hist_access_type": "tail", "n": 9}
    assert kernel.ask("shell", "history_request", content).content["history"] == []
    kernel.stop()
    assert files(tmp_path) == []


def test_the_file_is_where_the_profile_says(start, profile, tmp_path):
    file = tmp_path / "elsewhere" / "mine.sqlite"
    text = f"c.HistoryManager.hist_file = {str(file)!r}\nc.HistoryManager.db_log_output = True"
    kernel = profile(start, text + "\nc.HistoryManager.db_cache_size = 7")
    kernel.execute("first = 1")
    kernel.execute("'seen'")
    assert kernel.run("get_ipython().history_manager.session_number") == [("result", client.text("1"))]
    assert "first = 1" in kernel.execute("%history -g first*").stdout
    kernel.stop()
    assert files(tmp_path) == ["elsewhere/mine.sqlite"]
    assert [row[:2] + row[3:] for row in rows(file)][:2] == [(1, 1, "first = 1"), (1, 2, "'seen'")]
    assert rows(file, "output_history")[0] == (1, 2, "'seen'")


def test_a_question_waits_for_the_place(start, profile, tmp_path):
    """What is asked while the profile is read is answered from the file that it names."""
    file = tmp_path / "mine.sqlite"
    text = f"c.HistoryManager.hist_file = {str(file)!r}"
    kernel = profile(start, text)
    kernel.execute("'of the first session'")
    kernel.stop()
    kernel = start(env={"IPYTHONDIR": str(tmp_path / "ipython")})
    content = {"output": False, "raw": True, "hist_access_type": "tail", "n": 1}
    told = kernel.ask("shell", "history_request", content).content["history"]
    assert told == [[1, 1, "'of the first session'"]]


@pytest.mark.parametrize("text", ["c.HistoryManager.hist_file = ':memory:'",
                                  "c.HistoryManager.hist_file = '/nowhere/at/all.sqlite'"])
def test_the_command_line_goes_before_the_profile(start, profile, tmp_path, text):
    file = tmp_path / "said.sqlite"
    kernel = profile(start, text, args=[f"--HistoryManager.hist_file={file}"])
    kernel.execute("first = 1")
    kernel.stop()
    assert [row[3] for row in rows(file)] == ["first = 1"]
    assert files(tmp_path) == ["said.sqlite"]


@pytest.mark.parametrize("text, arg", [
    ("c.HistoryManager.enabled = False", "--HistoryManager.enabled=True"),
    ("c.HistoryAccessor.enabled = False", "--HistoryManager.enabled=1"),
    ("c.HistoryAccessor.enabled = False", "--HistoryAccessor.enabled=True"),
])
def test_a_history_that_the_command_line_wants_is_written(start, profile, tmp_path, text, arg):
    kernel = profile(start, text, args=[arg])
    kernel.execute("first = 1")
    assert "first = 1" in kernel.execute("%history -g first*").stdout
    kernel.stop()
    assert rows(tmp_path / "ipython/profile_default/history.sqlite")[0][3] == "first = 1"


@pytest.mark.parametrize("said, found", [(True, [(1, 1, "'seen'")]), (False, [])])
def test_whether_results_are_written_is_the_command_lines_to_say(start, profile, tmp_path, said, found):
    text = f"c.HistoryManager.db_log_output = {not said}"
    kernel = profile(start, text, args=[f"--HistoryManager.db_log_output={said}"])
    kernel.execute("'seen'")
    assert kernel.run("get_ipython().history_manager.db_log_output") == [("result", client.text(str(said)))]
    kernel.stop()
    file = tmp_path / "ipython/profile_default/history.sqlite"
    assert [row[:2] + row[3:] for row in rows(file)][0] == (1, 1, "'seen'")
    assert rows(file, "output_history")[:1] == found


def test_no_history_is_none_whatever_the_profile_says(start, profile, tmp_path):
    text = f"c.HistoryManager.hist_file = {str(tmp_path / 'mine.sqlite')!r}"
    kernel = profile(start, text, args=["--no-history"])
    kernel.execute("first = 1")
    kernel.stop()
    assert files(tmp_path) == []


def test_a_profile_that_says_nothing_of_it_changes_nothing(start, profile, tmp_path):
    kernel = profile(start, "c.InteractiveShell.ast_node_interactivity = 'all'")
    kernel.execute("first = 1")
    kernel.stop()
    assert [row[3] for row in rows(tmp_path / "ipython/profile_default/history.sqlite")] == ["first = 1"]


# --- what IPython made of a cell -------------------------------------------------------------


SOURCES = [
    "plain = 1",
    "%time 1",
    "x = !echo hi",
    "%%capture said\nprint('said')",
    "plain?",
    "\n\n  indented = 1",
    ">>> 1 + 1\n2",
    "'ä'\n%time 'ä'\n\n",
    "await __import__('asyncio').sleep(0)\n%time 2",
    "get_ipython().run_cell('%time 3');",
    "1 +",
    "!echo $plain",
]


def of_both(code_of_rows):
    """The rows of both kernels' own files, by a cell that reads them."""
    pair = differential.Pair()
    try:
        for cell in SOURCES:
            pair.both(cell)
        return [code_of_rows(one) for one in (pair.ours, pair.theirs)]
    finally:
        pair.close()


def test_the_file_has_what_ipykernels_has():
    """`source` is what IPython ran, `source_raw` what was typed."""
    def stored(one):
        one.client.history(hist_access_type="tail", n=1000, reply=True, timeout=client.DEADLINE)
        found = rows(f"{one.directory}/ipython/profile_default/history.sqlite")
        return [row[1:] for row in found]  # the question had all written

    ours, theirs = of_both(stored)
    assert ours == theirs
    assert len(ours) == len(SOURCES) and sum(row[1] != row[2] for row in ours) > 6


@pytest.mark.parametrize("args", [(), ("--HistoryManager.hist_file=:memory:",)])
def test_what_ipython_ran_can_be_asked_for(args):
    """From the file and from memory: by `raw`."""
    queries = [{"hist_access_type": "range", "session": 0, "start": 1, "stop": 5},
               {"hist_access_type": "tail", "n": 3},
               {"hist_access_type": "search", "pattern": "get_ipython()*"},  # of what was typed
               {"hist_access_type": "search", "pattern": "%time*"},
               {"hist_access_type": "search", "pattern": "*plain*", "unique": True, "n": 3}]
    pair = differential.Pair(*args)
    try:
        for cell in SOURCES:
            pair.both(cell)
        for query in queries:
            ours, theirs = ([[line for _, line in sorted((row[1], row[2]) for row in one.client.history(
                **query, raw=raw, reply=True, timeout=client.DEADLINE)["content"]["history"])]
                for raw in (True, False)] for one in (pair.ours, pair.theirs))
            assert ours == theirs, query
            assert ours[0] != ours[1] or query.get("pattern") == "get_ipython()*"
    finally:
        pair.close()
