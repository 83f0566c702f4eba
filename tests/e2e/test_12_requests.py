"""
Issue 2, "Requests": history, comms, completion, inspection, completeness, as clients ask for
them; which are answered while a cell runs, and which give way to it.
"""

import os

import pytest

from client import IPYTHON, plain, text

HELD = "import threading\nprint('go')\nthreading.Event().wait()"


def history(kernel, access, **options):
    content = {"output": False, "raw": True, "hist_access_type": access, **options}
    reply = kernel.ask("shell", "history_request", content)
    assert reply.type == "history_reply" and reply.content["status"] == "ok"
    return reply.content["history"]


def complete(kernel, code, cursor_pos=None):
    content = {"code": code} | ({} if cursor_pos is None else {"cursor_pos": cursor_pos})
    reply = kernel.ask("shell", "complete_request", content).content
    assert reply["status"] == "ok"
    assert set(reply) == {"status", "matches", "cursor_start", "cursor_end", "metadata"}
    return reply


# --- history -------------------------------------------------------------------------


def test_history_of_the_session(fresh):
    """Range, tail and search; with outputs; a range has the session that was asked for."""
    for code in ("x = 'ä'", "x", "import math", "x", "print(1)"):
        fresh.execute(code)
    fresh.execute("'silent'", silent=True)
    fresh.execute("'unstored'", store_history=False)
    fresh.execute("1/0")
    everything = [[1, 1, "x = 'ä'"], [1, 2, "x"], [1, 3, "import math"], [1, 4, "x"],
                  [1, 5, "print(1)"], [1, 6, "1/0"]]
    assert history(fresh, "tail", n=2) == everything[4:]
    assert history(fresh, "tail", n=1000) == everything
    assert history(fresh, "range", session=0, start=2, stop=4) == [[0, 2, "x"], [0, 3, "import math"]]
    assert history(fresh, "search", pattern="?", n=5) == [[1, 2, "x"], [1, 4, "x"]]
    assert history(fresh, "search", pattern="x*", unique=True) == [everything[0], everything[3]]
    assert history(fresh, "tail", n=4, output=True) == [
        [1, 3, ["import math", None]], [1, 4, ["x", "'ä'"]], [1, 5, ["print(1)", None]],
        [1, 6, ["1/0", None]]]


def test_what_is_wrong_with_a_history_request_is_told(kernel):
    """An error reply that names it."""
    reply = kernel.ask("shell", "history_request", {"hist_access_type": "tail", "n": "all"})
    assert (reply.content["status"], reply.content["ename"]) == ("error", "ProtocolError")
    assert "'n'" in reply.content["evalue"]


def test_history_and_comm_info_are_answered_while_a_cell_runs(kernel):
    """Issue: comm_info, kernel_info, connect, history are answered while a cell runs."""
    cell = kernel.started(HELD)
    assert history(kernel, "tail", n=1)[0][2] == HELD
    assert kernel.ask("shell", "comm_info_request").content["status"] == "ok"
    assert kernel.ask("shell", "connect_request").content["status"] == "ok"
    kernel.interrupt()
    assert kernel.finished(cell).status == "error"


# --- comms ---------------------------------------------------------------------------

ECHO = """
from einkorn import comms
opened, closed = [], []
def target(comm, message):
    opened.append(message["content"]["data"])
    comm.on_close(lambda message: closed.append(comm.comm_id))
    @comm.on_msg
    def echo(message):
        print("heard", message["content"]["data"])
        comm.send({"echo": message["content"]["data"]}, {"m": 1}, message["buffers"])
comms.get_comm_manager().register_target("echo", target)
"""


def test_a_comm_from_the_frontend(fresh):
    """peers 7.5, 7.16: open, messages with buffers both ways, close; output of a handler is its message's."""
    fresh.run(ECHO)
    opened = fresh.iopub(fresh.send("shell", "comm_open", {
        "comm_id": "c1", "target_name": "echo", "data": {"x": [1, None, "é"]}}))
    assert [m.state or m.type for m in opened] == ["busy", "idle"]
    assert fresh.ask("shell", "comm_info_request").content == {
        "status": "ok", "comms": {"c1": {"target_name": "echo"}}}
    assert fresh.ask("shell", "comm_info_request", {"target_name": "no"}).content["comms"] == {}
    heard = fresh.iopub(fresh.send("shell", "comm_msg", {"comm_id": "c1", "data": {"n": 5}},
                                   buffers=[b"\x00\xff", b"x" * 3_000_000]))
    assert [m.state or m.type for m in heard] == ["busy", "stream", "comm_msg", "idle"]
    assert heard[1].content == {"name": "stdout", "text": "heard {'n': 5}\n"}
    assert heard[2].content == {"comm_id": "c1", "data": {"echo": {"n": 5}}}
    assert heard[2].metadata == {"m": 1}
    assert [bytes(b) for b in heard[2].buffers] == [b"\x00\xff", b"x" * 3_000_000]
    fresh.iopub(fresh.send("shell", "comm_close", {"comm_id": "c1", "data": {}}))
    assert fresh.ask("shell", "comm_info_request").content["comms"] == {}
    assert fresh.run("opened, closed") == [("result", text("([{'x': [1, None, 'é']}], ['c1'])"))]


KEEP = """
from einkorn import comms
kept = []
def target(comm, message):
    comm.on_msg(lambda message: kept.append(message["buffers"]))
comms.get_comm_manager().register_target("keep", target)
"""


def keep(kernel, *buffers):
    """Sends buffers that stay in `kept` of the session."""
    kernel.iopub(kernel.send("shell", "comm_msg", {"comm_id": "k", "data": {}}, buffers=buffers))


@pytest.fixture
def keeper(fresh):
    fresh.run(KEEP)
    fresh.iopub(fresh.send("shell", "comm_open", {"comm_id": "k", "target_name": "keep"}))
    return fresh


@pytest.mark.parametrize("more", [0, 2_000_000], ids=["by the area", "in a memfd"])
def test_large_buffers_are_memoryviews_as_small_ones_are(keeper, more):
    """Read-only, of bytes, hashable, aligned for numbers, and there as long as somebody has them."""
    keep(keeper, b"small")
    keep(keeper, b"\x01\x02\x03", bytes(range(256)) * 4000, b"x" * 300_001, b"", b"m" * more)
    assert keeper.run(
        "small, large = kept\n"
        "kinds = {(type(b).__name__, b.readonly, b.format, b.ndim, b.contiguous) for b in small + large}\n"
        "kinds, [len(b) for b in large]") == [
            ("result", text("({('memoryview', True, 'B', 1, True)}, [3, 1024000, 300001, 0, %d])" % more))]
    assert keeper.run("kept.clear(); import gc; gc.collect()\n"
                      "(large[1] == bytes(range(256)) * 4000, large[2] == b'x' * 300_001,\n"
                      " hash(large[2]) == hash(b'x' * 300_001), bytes(large[0]), large[1][-2:].tolist(),"
                      " large[1].cast('d').shape, large[4] == b'm' * len(large[4]))") == [
        ("result", text("(True, True, True, b'\\x01\\x02\\x03', [254, 255], (128000,), True)"))]
    assert keeper.run("part = large[1][10:20]; del large, small; gc.collect(); bytes(part)") == [
        ("result", text("b'\\n\\x0b\\x0c\\r\\x0e\\x0f\\x10\\x11\\x12\\x13'"))]


@pytest.mark.parametrize("size", [1_500_000, 2_500_000])
def test_a_forked_child_has_the_large_buffers_of_its_parent(keeper, size):
    """It reads and drops them, and the parent's stay."""
    keep(keeper, b"z" * size)
    keep(keeper, b"other" * (size // 5))
    assert keeper.run("import os\npid = os.fork()\nif pid == 0:\n"
                      "    good = bytes(kept[0][0]) == b'z' * %d\n    kept.clear()\n"
                      "    os._exit(42 if good else 1)\n"
                      "os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), kept[0][0] == b'z' * %d" % (size, size)) == [
        ("result", text("(42, True)"))]


FACTS = """
import os
def facts():
    with open('/proc/self/maps') as file:
        maps = file.read()
    return len(os.listdir('/proc/self/fd')), maps.count('einkorn-payload')
"""


def test_large_requests_leave_no_fd_and_no_mapping(keeper):
    """Comm messages and cells, when nobody has their bytes any more."""
    keeper.run(FACTS)
    before = keeper.run("facts()")
    for size in [200_000] * 100 + [2_200_000] * 20:
        keep(keeper, b"y" * size)
    assert keeper.run("len(kept), facts()[1]") == [("result", text("(120, 20)"))]
    keeper.run("kept.clear()")
    for size in [200_000] * 20 + [2_200_000] * 5:
        keeper.run("#" + "c" * size)
    assert keeper.run("facts()") == before
    assert len(os.listdir(f"/proc/{keeper.pid}/fd")) < 60


@pytest.mark.parametrize("size", [32_000, 33_000, 200_000, 2_097_000, 3_000_000])
def test_a_cell_of_any_size_runs(kernel, size):
    """Code below and above what goes through the socket."""
    assert kernel.run(f"s = '{'é' * (size // 2)}'\nlen(s)") == [("result", text(str(size // 2)))]


def test_a_large_request_that_python_has_no_fd_for_is_told(fresh):
    """An error reply that says so, text for the eye, and the next small request runs."""
    fresh.run("import os, resource\nlimit = resource.getrlimit(resource.RLIMIT_NOFILE)\n"
              "lowest = os.dup(0)\nos.close(lowest)\n"
              "resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, limit[1]))")
    cell = fresh.send_execute("x = 1 #" + "c" * 3_000_000)
    reply = fresh.reply("shell", cell)
    why = "[Errno 24] a large request cannot be received: Too many open files"
    assert (reply.content["status"], reply.content["ename"]) == ("error", "OSError")
    assert reply.content["evalue"] == why
    shown = fresh.iopub(cell)
    assert [m.content for m in shown if m.type == "stream"] == [{"name": "stderr", "text": why + "\n"}]
    assert shown[-1].state == "idle"
    fresh.run("resource.setrlimit(resource.RLIMIT_NOFILE, limit)")
    assert fresh.run("y = 2 #" + "c" * 3_000_000 + "\n'x' in globals(), y") == [("result", text("(False, 2)"))]


def test_a_comm_from_python(fresh):
    """Opened in a cell: comm_open with the cell as parent, known to comm_info, closed."""
    cell = fresh.send_execute("from einkorn import comms\nc = comms.create_comm("
                              "target_name='t', comm_id='from-python', data={'a': 1})\nc.send({'b': 2})")
    assert fresh.reply("shell", cell).content["status"] == "ok"
    assert [(m.type, m.content) for m in fresh.iopub(cell)[2:-1]] == [
        ("comm_open", {"comm_id": "from-python", "target_name": "t", "target_module": None,
                       "data": {"a": 1}}),
        ("comm_msg", {"comm_id": "from-python", "data": {"b": 2}})]
    assert "from-python" in fresh.ask("shell", "comm_info_request").content["comms"]
    closing = fresh.send_execute("c.close()")
    assert [m.type for m in fresh.iopub(closing)[2:-1]] == ["comm_close"]
    assert fresh.reply("shell", closing).content["status"] == "ok"
    assert fresh.ask("shell", "comm_info_request").content["comms"] == {}


def test_a_handler_that_raises_or_hangs_leaves_the_kernel_well(fresh):
    """The error is on the message's stderr; an interrupt ends a handler that hangs."""
    fresh.run("from einkorn import comms\nimport time\n"
              "def target(comm, message):\n    comm.on_msg(lambda m: time.sleep(60) if m['content']['data'] "
              "else 1 / 0)\ncomms.get_comm_manager().register_target('bad', target)")
    fresh.iopub(fresh.send("shell", "comm_open", {"comm_id": "c", "target_name": "bad", "data": {}}))
    raised = fresh.iopub(fresh.send("shell", "comm_msg", {"comm_id": "c", "data": {}}))
    assert [m.state or m.type for m in raised] == ["busy", "stream", "idle"]
    assert raised[1].content["name"] == "stderr"
    assert raised[1].content["text"].rstrip().endswith(": division by zero")
    hangs = fresh.send("shell", "comm_msg", {"comm_id": "c", "data": {"x": 1}})
    assert fresh.take("iopub", lambda m: m.parent_id == hangs).state == "busy"
    fresh.interrupt()
    assert fresh.iopub(hangs)[-1].state == "idle"
    assert fresh.run("6 * 7") == [("result", text("42"))]


# --- completion, inspection, completeness ---------------------------------------------


C047 = [
    # code, cursor_pos, a match, what the match replaces
    ('s = "😀😀"; math.sq', 18, "sqrt", (15, 17)), ('s = "😀"; math.sq + 1', 16, "sqrt", (14, 16)),
    ("naï", 3, "naïve_value", (0, 3)), ("math.sq", 7, "sqrt", (5, 7)),
    ("math.sq", 3, "math", (0, 3)), ("math.sq", 400, "sqrt", (5, 7)),
    ("math.sq", -1, "sqrt", (5, 7)), ("math.sq", None, "sqrt", (5, 7)),
]
C049 = [
    ("x = 1\nmath.sq", 13, "sqrt", (11, 13)), ("for i in ran  # c", 12, "range", (9, 12)),
    ('foo(math.pi, d["be"])', 18, "beta", (16, 18)), ("foo(x=1, k", 10, "key=", (9, 10)),
    ("from os.path import isd", 23, "isdir", (20, 23)),
    ("import coll", 11, "collections", (7, 11)), ("", 0, "print", (0, 0)),
]


def test_completion_counts_code_points(fresh):
    """
    C047: offsets are code points of the whole code, what is odd means its end. (The case's
    first code ends at 17, so its 18 is one of the odd ones.)
    """
    fresh.run("import math\nnaïve_value = 1")
    for code, at, match, span in C047:
        reply = complete(fresh, code, at)
        assert match in reply["matches"], (code, reply)
        assert (reply["cursor_start"], reply["cursor_end"]) == span, (code, at)
    types = complete(fresh, "math.sq", 7)["metadata"]["_jupyter_types_experimental"]
    assert {"text": "sqrt", "type": "function"}.items() <= types[0].items()
    found = fresh.ask("shell", "inspect_request", {"code": 's="😀";math.sqrt', "cursor_pos": 14})
    assert found.content["found"] is True
    assert "square root" in found.content["data"]["text/plain"]


def test_completion_replaces_what_was_typed_and_nothing_else(fresh):
    """C049: lines, middles of lines, keys, keywords; no name in a comment or a text."""
    fresh.run("import math\nd = {\"alpha key\": 1, \"beta\": 2, 3: 4}\n"
              "def foo(x, y=2, *, key=None):\n    return x")
    for code, at, match, span in C049:
        reply = complete(fresh, code, at)
        assert match in reply["matches"], (code, reply)
        assert (reply["cursor_start"], reply["cursor_end"]) == span, (code, at)
    reply = complete(fresh, 'd["al', 5)
    key, = reply["matches"]  # no magic, no file, no keyword
    assert reply["cursor_end"] == 5
    whole = 'd["al'[:reply["cursor_start"]] + key
    assert value_of(fresh, whole + ("" if whole.endswith("]") else '"]')) == 1
    for code in ("x = 5 # math.sq", '"math.sq', "zzz_not_there"):
        reply = complete(fresh, code, len(code))
        assert reply["matches"] == [] and reply["cursor_end"] == len(code), reply


def test_what_completion_offers(fresh, tmp_path):
    """Issue: names, attributes, keywords, imports, dict keys, file paths in strings."""
    (tmp_path / "some file.csv").write_text("")
    fresh.run("class Box:\n    side = 1\nbox = Box()\nkeys = {'one': {'two': 2}}\nlong_name = 1")
    for code, match in (("long_", "long_name"), ("box.si", "side"), ("whil", "while"),
                        ("import json.deco", "decoder"), ("from json import dum", "dumps"),
                        ("keys['one']['t", "two" if IPYTHON else "two']"), (f"open('{tmp_path}/some", None)):
        reply = complete(fresh, code, len(code))
        if match is None:
            whole = code[:reply["cursor_start"]] + reply["matches"][0]
            assert whole.startswith(f"open('{tmp_path}/some file.csv"), reply
        else:
            words = reply["matches"] + [each.rpartition(".")[2] for each in reply["matches"]]
            assert match in words, (code, reply)


def test_completion_and_inspection_run_nothing_but_attribute_access(fresh):
    """Issue: no user code beyond what attribute access needs."""
    fresh.run("ran = []\ndef call():\n    ran.append('call')\n    return box\n"
              "class Box:\n    side = 1\n    def __getitem__(self, key): ran.append('item')\n"
              "    def __call__(self): ran.append('called')\n"
              "    @property\n    def loud(self):\n        ran.append('property')\nbox = Box()")
    for code in ("call().si", "box[0].si", "box().si", "box.lou", "[call()][0].si", "box.loud"):
        complete(fresh, code, len(code))
        content = {"code": code, "cursor_pos": len(code), "detail_level": 1}
        assert fresh.ask("shell", "inspect_request", content).content["status"] == "ok"
    assert set(value_of(fresh, "ran")) <= {"property"}


def value_of(kernel, expression):
    (_, data), = kernel.run(expression)
    return eval(data["text/plain"])


def test_inspection(fresh):
    """Signature first, then the docstring; the source at level 1; nothing found is no error."""
    fresh.run('def area(r, *, unit="m"):\n    """An area."""\n    return r')
    for level, words in ((0, "An area."), (1, "return r")):
        reply = fresh.ask("shell", "inspect_request",
                          {"code": "area(", "cursor_pos": 5, "detail_level": level}).content
        assert (reply["status"], reply["found"], set(reply["data"])) == ("ok", True, {"text/plain"})
        shown = plain(reply["data"]["text/plain"])
        assert "area(r, *, unit='m')" in shown.splitlines()[0] and words in shown
    nothing = fresh.ask("shell", "inspect_request", {"code": "nothing_here", "cursor_pos": 4})
    assert nothing.content == {"status": "ok", "found": False, "data": {}, "metadata": {}}


COMPLETE, INVALID = {"status": "complete"}, {"status": "invalid"}
GOES_ON = {"status": "incomplete", "indent": ""}
IN_BLOCK = {"status": "incomplete", "indent": "    "}
C050 = {
    "1": COMPLETE, "for i in x:": IN_BLOCK, "for i in x:\n    pass": IN_BLOCK,
    "for i in x:\n    pass\n": COMPLETE, "x = (1,": GOES_ON, "x = (1,\n2)": COMPLETE,
    '"""abc': GOES_ON, "if 1:\n    x\nelse:": IN_BLOCK, "@dec": GOES_ON, "x = 5 \\": GOES_ON,
    "": COMPLETE, "   ": COMPLETE, "raise = 2": INVALID, "1 +": INVALID,
    "if True: pass": COMPLETE, "await x": COMPLETE, "!ls": COMPLETE, "%time 1": COMPLETE,
    "%%bash": GOES_ON, "x?": COMPLETE, "def f():\n\treturn 1": IN_BLOCK, 'f"{x}"': COMPLETE,
}


def test_is_complete(kernel):
    """C050: `indent` is there exactly when incomplete; nothing runs, nothing is printed."""
    kernel.run("x = 1")
    for code, content in C050.items():
        assert (code, kernel.ask("shell", "is_complete_request", {"code": code}).content) == (
            code, content)


def test_questions_wait_for_the_cell_that_runs(kernel):
    """C050, peers 7.15: while a cell runs they wait their turn, and nothing is stuck after it."""
    kernel.run("import math, os\nr, w = os.pipe()")
    cell = kernel.started("print('go')\nx = os.read(r, 1)")
    asked = [kernel.send("shell", kind, {"code": "math.sqrt", "cursor_pos": 9})
             for kind in ("inspect_request", "is_complete_request", "complete_request")]
    assert kernel.kernel_info().content["status"] == "ok"  # they have arrived
    assert not kernel.queue["shell"]
    kernel.interrupt()
    kernel.finished(cell)
    inspected, is_complete, completed = (kernel.finish(m).reply.content for m in asked)
    assert inspected["found"] and is_complete == COMPLETE and completed["matches"] == ["sqrt"]
    assert kernel.run("6 * 7") == [("result", text("42"))]


@pytest.mark.parametrize("kind, content, word", [
    ("complete_request", {}, "'code' is missing"),
    ("complete_request", {"code": "x", "cursor_pos": "1"}, "'cursor_pos' is no whole number"),
    ("inspect_request", {"code": 5, "cursor_pos": 0}, "'code' is no string"),
    ("inspect_request", {"code": "x", "detail_level": []}, "'detail_level' is no whole number"),
    ("is_complete_request", {"code": None}, "'code' is no string"),
])
def test_wrong_fields_are_named(kernel, kind, content, word):
    reply = kernel.ask("shell", kind, content).content
    assert (reply["status"], reply["ename"]) == ("error", "ProtocolError")
    assert word in reply["evalue"]


def test_completions_give_way(fresh):
    """A newer one supersedes those that wait, and a cell drops them: they get no matches, at once."""
    cell = fresh.started(HELD)
    old = [fresh.send("shell", "complete_request", {"code": "pri", "cursor_pos": 3}) for _ in range(3)]
    for msg_id in old[:2]:
        reply = fresh.finish(msg_id).reply.content
        assert reply == {"status": "ok", "matches": [], "cursor_start": 3, "cursor_end": 3,
                         "metadata": {}}
    after = fresh.send_execute("6 * 7", stop_on_error=False)
    assert fresh.finish(old[2]).reply.content["matches"] == []
    fresh.interrupt()
    assert fresh.finished(cell).status == "error"
    assert fresh.finish_execute(after, "6 * 7").status == "aborted"


def test_a_completion_that_hangs_gives_way_to_a_cell(fresh):
    """An attribute that takes for ever; children of cells are not hit by what ends it."""
    fresh.run("import subprocess, time\nchild = subprocess.Popen(['sleep', '60'])\n"
              "class Slow:\n    @property\n    def attribute(self):\n        time.sleep(60)\nslow = Slow()")
    hangs = fresh.send("shell", "complete_request", {"code": "slow.attribute.x", "cursor_pos": 16})
    assert fresh.take("iopub", lambda m: m.parent_id == hangs).state == "busy"
    cell = fresh.send_execute("6 * 7")
    assert fresh.reply("shell", hangs).type == "complete_reply"
    assert fresh.iopub(hangs)[-1].state == "idle"
    assert fresh.finish_execute(cell, "6 * 7").outputs == [("result", text("42"))]
    assert fresh.run("child.poll() is None, child.kill()") == [("result", text("(True, None)"))]
