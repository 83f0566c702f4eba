"""Calls of the host from cells and threads."""

import json
import time

import pytest

from client import pong


def call(code, worker, **options):
    return worker.execute(f"try:\n    print(repr({code}))\nexcept Exception as e:\n"
                          "    print(type(e).__name__, e)", **options)


def test_a_call_and_its_answer(worker):
    result = call("host._call('ping', [])", worker)
    assert (result["stdout"], result.calls) == ("'pong'\n", [("ping", [])])
    [frame] = [f for f in result.frames if f["type"] == "host_call"]
    assert set(frame) == {"type", "id", "method", "args"}
    prefix, seconds, n = frame["id"].split("-")
    assert prefix == "hc" and abs(int(seconds) - time.time()) < 100 and int(n) > 0


def test_ids_count_up(start):
    """Over all cells."""
    worker = start()
    ids = []
    for _ in range(2):
        result = worker.execute("for _ in range(3): host._call('ping', [])")
        ids += [f["id"] for f in result.frames if f["type"] == "host_call"]
    assert [i.split("-")[2] for i in ids] == ["1", "2", "3", "4", "5", "6"]


@pytest.mark.parametrize(
    "value",
    [
        "None",
        "[1, 2.5, 'ä\U0001f600', None, True, {'a': [{}]}]",
        "[float('inf'), -float('inf'), -1e300, 10 ** 30, 10 ** 4000]",
        "'x' * 1_000_000",
        "['\\u2028\\n\\0']",
    ],
)
def test_what_goes_comes_back(worker, value):
    result = worker.execute(f"v = {value}\nassert host._call('echo', [v]) == [v]")
    assert result["error"] is None


@pytest.mark.parametrize(
    "value",
    [
        "{'a': {'b': (1, (), [], {}, 'c')}, '': -0.0, 'ü\"\\\\': 1e22}",
        "[True, False, None, 0, -1, 2 ** 63 - 1, -(2 ** 63), 2 ** 63, 10 ** 400, 0.1, 5e-324]",
        "{1: 'a', 2.5: 'b', None: 'c', True: 'd'}",
        "[Text('x'), Number(5), Real(2.5), List([1]), Map(a=1), Kind.ONE]",
        "deep(60)",
        "deep(40)",
    ],
)
def test_arguments_come_as_json_writes_them(worker, value):
    """Plain ones and others, which are written in two ways."""
    worker.execute(
        "import enum, json\n"
        "class Text(str): pass\nclass Number(int): pass\nclass Real(float): pass\n"
        "class List(list): pass\nclass Map(dict): pass\nclass Kind(enum.IntEnum): ONE = 1\n"
        "def deep(n): return [deep(n - 1)] if n else {'end': ()}\n"
    )
    result = worker.execute(f"v = {value}\nprint(host._call('echo', [[v]]) == [[json.loads(json.dumps(v))]])")
    assert (result["stdout"], result["error"]) == ("True\n", None)


def test_not_a_number_stays_one(worker):
    result = worker.execute("v, = host._call('echo', [float('nan')])\nassert v != v")
    assert result["error"] is None


@pytest.mark.parametrize(
    "answer, text",
    [
        ({"error": "bad thing"}, "RuntimeError host.m error: bad thing"),
        ({"error": ""}, "RuntimeError host.m error: "),
        ({"error": None, "data": 5}, "5"),
        ({"error": 0}, "RuntimeError host.m error: 0"),
        ({"error": {"a": [1]}}, "RuntimeError host.m error: {'a': [1]}"),
        ({"data": {"error": "x", "detail": 1}}, "{'error': 'x', 'detail': 1}"),
        ({"data": None}, "None"),
        ({}, "None"),
        ({"type": "anything", "data": 1}, "1"),
    ],
)
def test_answers(worker, answer, text):
    def on_call(frame, host):
        worker.send({"type": "host_response", "id": frame["id"], **answer})

    assert call("host._call('m', [])", worker, on_call=on_call)["stdout"] == text + "\n"


@pytest.mark.parametrize(
    "args, kind",
    [
        ("[object()]", "TypeError Object of type object is not JSON serializable"),
        ("[{1: {2}}]", "TypeError Object of type set is not JSON serializable"),
        ("(lambda a: a.append(a) or a)([])", "ValueError Circular reference detected"),
        ("[b'']", "TypeError Object of type bytes is not JSON serializable"),
    ],
)
def test_what_is_no_json_is_refused_and_not_sent(worker, args, kind):
    result = call(f"host._call('ping', {args})", worker)
    assert (result["stdout"], result.calls) == (kind + "\n", [])


def test_a_lone_surrogate_in_an_argument(worker):
    assert call("host._call('echo', ['a\\ud800b'])", worker)["stdout"] == "['a\ufffdb']\n"


def test_the_wire_cap_is_kept_before_anything_is_written(worker):
    result = worker.execute(
        "big = 'x' * 15_000_001\n"
        "try: host._call('ping', [big])\n"
        "except ValueError as e: print('capped:', e)\n"
        "print(host._call('ping', []))"
    )
    first, second = result["stdout"].splitlines()
    assert first.startswith("capped: host call 'ping' payload is 150000")
    assert first.endswith(
        " bytes, exceeding the 15MB wire cap (the host rejects oversized frames)"
    )
    assert second == "pong" and result.calls == [("ping", [])]


def test_the_wire_cap_to_the_byte(worker):
    code = (
        "def frame(n): return host._call('big', ['x' * n])\n"
        "import json, re\n"
        "try: frame(15_000_000)\n"
        "except ValueError as e: over = int(re.search(r'(\\d+) bytes', str(e))[1]) - 15_000_000\n"
        "print(frame(15_000_000 - over))\n"
        "try: frame(15_000_000 - over + 1)\n"
        "except ValueError: print('capped')\n"
    )
    seen = []

    def on_call(frame, host):
        seen.append(len(frame["args"][0]))
        worker.send({"id": frame["id"], "data": "taken"})

    assert worker.execute(code, on_call=on_call)["stdout"] == "taken\ncapped\n"
    assert len(seen) == 1


def stale(n):
    return {"type": "host_response", "id": f"stale-{n}", "data": "old"}


NOISE = [stale(n) for n in range(6)] + ["this line is not json", [1, 2, 3]]


@pytest.mark.parametrize(
    "noise, good",
    [
        (NOISE, True),
        (NOISE + [stale(7)], False),
        ([stale(n) for n in range(9)], False),
        (["no json"] * 8, True),
        (["no json"] * 9, False),
        ([5, None, "[]", '"text"'], True),
        ([{"type": "host_response"}] * 8, True),
    ],
)
def test_lines_for_nobody_are_borne_up_to_eight(worker, noise, good):
    acks = 20

    def on_call(frame, host):
        for _ in range(acks):
            worker.send({"type": "host_ack", "id": frame["id"]})
        for line in noise:
            worker.send(line if isinstance(line, str) else json.dumps(line))
        if good:
            worker.send({"type": "host_ack", "id": frame["id"]})
            worker.answer(frame, host)

    result = call("host._call('ping', [])", worker, on_call=on_call)
    text = "'pong'" if good else (
        "RuntimeError host.ping: protocol desync, too many out-of-order frames"
    )
    assert result["stdout"] == text + "\n"
    assert call("host._call('ping', [])", worker)["stdout"] == "'pong'\n", "each call has its own"


def test_a_late_answer_is_nobodys(worker):
    late = []

    def on_call(frame, host):
        late.append(frame["id"])
        for n in range(9):
            worker.send(stale(n))

    worker.execute("try: host._call('ping', [])\nexcept RuntimeError: pass", on_call=on_call)
    worker.send({"type": "host_response", "id": late[0], "data": "late"})
    worker.send({"type": "host_ack", "id": late[0]})
    worker.alive()
    assert call("host._call('ping', [])", worker)["stdout"] == "'pong'\n"


def test_a_request_that_comes_within_a_call_is_served_after_its_cell(worker):
    def on_call(frame, host):
        for n in range(20):
            worker.send({"id": f"next-{n}", "code": f"print({n})"})
        worker.send({"type": "inspect_variables", "id": "look"})
        worker.answer(frame, host)

    assert call("host._call('ping', [])", worker, on_call=on_call)["stdout"] == "'pong'\n"
    for n in range(20):
        assert worker.finish(f"next-{n}")["stdout"] == f"{n}\n"
    assert worker.read()["type"] == "variables_response"


def test_the_end_of_the_host_within_a_call(start):
    worker = start()
    worker.start("try: host._call('ping', [])\nexcept RuntimeError as e: text = str(e)\n"
                 "import sys\nsys.__stderr__.write(text)")
    worker.until_call()
    worker.process.stdin.close()
    assert worker.wait() == 0
    assert worker.stderr() == "host channel closed during host_call"


@pytest.mark.parametrize("method", ["save_artifact", "materialise_artifact", "other"])
@pytest.mark.parametrize(
    "argument, producing",
    [
        ("{'path': 'a'}", "c-9"),
        ("{'path': 'a', 'producingCellId': 'given'}", "given"),
        ("{'path': 'a', 'producing_cell_id': 'given'}", None),
        ("{'path': 'a', 'executionCellId': 'made up'}", "c-9"),
        ("5", None),
    ],
)
def test_artifacts_know_their_cell(worker, method, argument, producing):
    # Not by host._call, whose codec would make a camel of the second spelling.
    code = f"import _einkorn\n_einkorn.host_call({method!r}, [{argument}, 2])"
    result = worker.execute(code, id="c-9", host=lambda method, args: 1)
    [(_, [first, second])] = result.calls
    given = eval(argument)
    if method != "other" and isinstance(given, dict):
        given["executionCellId"] = "c-9"
        if producing:
            given["producingCellId"] = producing
    assert (first, second) == (given, 2)


def test_without_an_argument_or_a_cells_id_nothing_is_added(worker):
    code = "import _einkorn\n_einkorn.host_call('save_artifact', %s)"
    assert worker.execute(code % "[]", host=lambda *_: 1).calls == [("save_artifact", [])]
    result = worker.execute(code % "[{'path': 'a'}]", id="", host=lambda *_: 1)
    assert result.calls == [("save_artifact", [{"path": "a"}])]


def test_an_argument_is_not_changed(worker):
    result = worker.execute(
        "spec = {'path': 'a'}\nargs = [spec]\nhost._call('save_artifact', args)\nprint(spec, args)",
        host=lambda method, args: None,
    )
    assert result["stdout"] == "{'path': 'a'} [{'path': 'a'}]\n"


# ---- threads -----------------------------------------------------------------------


def test_calls_of_threads_are_one_after_the_other(worker):
    under_way = []

    def on_call(frame, host):
        assert not under_way, "two calls at the same time"
        under_way.append(frame)
        worker.send({"type": "host_ack", "id": frame["id"]})
        under_way.pop()
        worker.answer(frame, host)

    result = worker.execute(
        "import threading\n"
        "got = []\n"
        "def ask(n): got.extend(host._call('echo', [n, i]) == [n, i] for i in range(50))\n"
        "threads = [threading.Thread(target=ask, args=(n,)) for n in range(6)]\n"
        "[t.start() for t in threads]\n"
        "for i in range(50): got.append(host._call('echo', [i]) == [i])\n"
        "[t.join() for t in threads]\n"
        "print(len(got), all(got))",
        on_call=on_call,
    )
    assert result["stdout"] == "350 True\n"


def test_a_thread_that_waits_between_cells_leaves_requests_alone(worker):
    """The documents' worker loses the execute here: the thread reads it and drops it."""
    worker.execute(
        "import threading\n"
        "answers = []\n"
        "go = threading.Event()\n"
        "def ask():\n"
        "    go.wait()\n"
        "    answers.append(host._call('ping', []))\n"
        "thread = threading.Thread(target=ask)\n"
        "thread.start()"
    )
    cell = worker.start("go.set()")
    frames = [worker.read(), worker.read()]
    [asked] = [f for f in frames if f["type"] == "host_call"]
    assert {f["type"] for f in frames} == {"host_call", "response"} and cell
    for n in range(30):
        assert worker.execute(f"print({n})")["stdout"] == f"{n}\n"
    worker.send("this is no json")
    assert worker.read()["error"] == "invalid JSON request"
    worker.answer(asked, pong)
    result = worker.execute("thread.join()\nprint(answers)")
    assert result["stdout"] == "['pong']\n"


@pytest.mark.parametrize("wait", ["thread.join()", "import time\nwhile thread.is_alive(): time.sleep(0.01)"])
def test_a_threads_call_while_the_loop_reads(worker, wait):
    """The loop waits for a request; the answer that it reads goes to the thread."""
    for n in range(10):
        cell = worker.start(
            "import threading\n"
            "answers = []\n"
            "def ask():\n"
            "    for i in range(5): answers.append(host._call('echo', [i]))\n"
            "thread = threading.Timer(0.01, ask)\n"
            "thread.start()"
        )
        done = 0
        while done < 6:
            frame = worker.read()
            done += 1
            if frame["type"] == "host_call":
                worker.answer(frame, pong)
            else:
                assert frame["id"] == cell
        result = worker.execute(f"{wait}\nprint(answers)")
        assert result["stdout"] == "[[0], [1], [2], [3], [4]]\n"


def test_a_thread_that_waits_for_ever_holds_up_only_other_calls(start):
    worker = start()
    cell = worker.start(
        "import threading\n"
        "threading.Thread(target=lambda: host._call('never', []), daemon=True).start()"
    )
    frames = [worker.read(), worker.read()]
    assert {f["type"] for f in frames} == {"host_call", "response"} and cell
    worker.alive()
    cell = worker.start("print('before')\nhost._call('ping', [])")
    assert worker.read()["text"] == "before"
    worker.interrupt()
    assert worker.finish(cell)["interrupted"] is True
    worker.alive()


def test_a_forked_child_has_no_host(worker):
    result = worker.execute(
        "import os\n"
        "r, w = os.pipe()\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    try: host._call('ping', [])\n"
        "    except RuntimeError as e: os.write(w, str(e).encode())\n"
        "    os._exit(0)\n"
        "os.waitpid(pid, 0)\n"
        "print(os.read(r, 1000).decode())"
    )
    assert result["stdout"] == "a forked child has no connection to the host\n"
    assert result.calls == []


def test_a_thousand_calls(worker):
    result = worker.execute("for i in range(1000): assert host._call('echo', [i]) == [i]")
    assert result["error"] is None and len(result.calls) == 1000
