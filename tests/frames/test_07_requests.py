"""Requests that are none, and such as no host should send: answered, never fatal."""

import pytest

from client import RESPONSE_KEYS

BAD = {
    "type": "response",
    "id": "unknown",
    "stdout": "",
    "stderr": "",
    "error": "invalid JSON request",
    "interrupted": False,
    "trace": {"error_lineno": None, "error_call": None},
    "usage": {},
}


@pytest.mark.parametrize(
    "line",
    [
        b"this is no json",
        b"{",
        b'{"type":"execute","id":"x","code":"1"',
        b'{"id":"x"} {"id":"y"}',
        b"{'id': 'x'}",
        b"\xff\xfe",
        b'{"id":"\xff"}',
        b"\x00",
        b'"' + b"x" * 100,
        b"nul",
        b"-",
        b'{"a":1,}',
        b"[" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
        b"1" * 5000,
        b"[1, 2, 3]",
        b"5",
        b"null",
        b"true",
        b'"text"',
        b"NaN",
        b"{" + b"x" * 5_000_000,
    ],
    ids=lambda line: repr(line[:20]),
)
def test_what_is_no_request_is_answered(worker, line):
    worker.send(line)
    assert worker.read() == BAD
    worker.alive()


@pytest.mark.parametrize("code", [None, 5, [1], {"a": 1}, True])
def test_code_that_is_no_text(worker, code):
    worker.send({"type": "execute", "id": "c", "code": code})
    answer = worker.read()
    assert answer["type"] == "response" and answer["id"] == "c"
    assert "code is not a string" in answer["error"]
    assert answer["trace"] == {"error_lineno": None, "error_call": None}
    assert (answer["guards"], answer["files_read"], answer["interrupted"]) == ({}, [], False)
    worker.alive()


@pytest.mark.parametrize(
    "request_",
    [
        {"type": "unknown", "id": "x", "code": "print(1)"},
        {"type": None, "code": "print(1)"},
        {"type": 5},
        {"type": ["execute"]},
        {"type": "host_response", "id": "hc-1-1", "data": 5},
        {"type": "host_ack", "id": "hc-1-1"},
        {"type": "initialize", "id": "again", "skill_attestation_key": "00" * 32},
        {"type": "response"},
        "",
        "   ",
        "\t\r",
    ],
)
def test_what_means_nothing_here_is_ignored(worker, request_):
    worker.send(request_)
    worker.alive()


@pytest.mark.parametrize("origin", ["user", 5, None, {"a": []}])
def test_any_origin(worker, origin):
    result = worker.execute("import _einkorn\nprint(repr(_einkorn.cell_origin()))", origin=origin)
    assert result["stdout"] == repr(origin) + "\n"


def test_the_origin_is_the_agent_where_none_is_said(worker):
    assert worker.execute("import _einkorn\nprint(repr(_einkorn.cell_origin()))")["stdout"] == "'agent'\n"
    result = worker.execute("_einkorn.cell_id()", id="c-77")
    assert result["stdout"] == "'c-77'\n"


@pytest.mark.parametrize("text", ["\\ud800", "\\udc00\\ud800", "\\u0000"])
def test_escapes_in_code(worker, text):
    worker.send('{"id":"s","code":"x = \'' + text + '\'"}')
    assert "Error" in worker.finish("s")["error"]
    worker.alive()


def test_the_last_of_two_members_counts(worker):
    worker.send('{"id":"a","id":"b","code":"1","code":"print(2)"}')
    assert worker.finish("b")["stdout"] == "2\n"


def test_a_request_of_20_megabytes(worker):
    text = "ä" * 10_000_000
    result = worker.execute(f"x = '{text}'\nprint(len(x))")
    assert result["stdout"] == "10000000\n"
    worker.alive()


def test_an_answer_of_20_megabytes(worker):
    result = worker.execute(
        "print(len(host._call('much', [])))", host=lambda method, args: "x" * 20_000_000
    )
    assert result["stdout"] == "20000000\n"


def test_a_line_that_comes_byte_by_byte(worker):
    import os
    import time

    for byte in b'{"id":"slow","code":"print(1)"}\n':
        os.write(worker.to_worker, bytes([byte]))
        time.sleep(0.001)
    assert worker.finish("slow")["stdout"] == "1\n"


def test_requests_are_served_in_order(worker):
    for n in range(200):
        worker.send({"id": f"n{n}", "code": f"print({n})"})
    for n in range(200):
        assert worker.finish(f"n{n}")["stdout"] == f"{n}\n"


@pytest.mark.parametrize(
    "limit, good",
    [(1, True), (500, True), (None, False), (0, False), (501, False), (-1, False), (True, False)]
    + [(2.0, False), ("5", False), ([], False), (10**30, False), (-(10**30), False)],
)
def test_the_limit_of_an_inspection(worker, limit, good):
    worker.send({"type": "inspect_variables", "id": "v", "limit": limit})
    answer = worker.read()
    if good:
        assert answer["limit"] == limit
        assert set(answer) == {"type", "id", "variables", "truncated", "limit"}
    else:
        assert answer == {
            "type": "variables_response",
            "id": "v",
            "variables": [],
            "truncated": False,
            "limit": 0,
            "error": "invalid variable inspection limit",
        }


def test_an_exception_of_our_own_is_answered_and_never_fatal(start):
    """What stands for `stdout` in sys cannot be compared: no cell can be given its streams."""
    worker = start()
    spoil = (
        "import sys\n"
        "class Key(str):\n"
        "    def __hash__(self): return hash('stdout')\n"
        "    def __eq__(self, other): raise ValueError('no key')\n"
        "del sys.stdout\n"
        "vars(sys)[Key('stdout')] = 1"
    )
    for code in (spoil, "print(1)", "2"):
        result = worker.execute(code)
        assert result["error"] == "einkorn could not serve this request: ValueError: no key"
        assert set(result) == RESPONSE_KEYS and result["trace"] == {"error_lineno": None, "error_call": None}
    worker.send({"type": "inspect_variables", "id": "v"})
    assert [entry["name"] for entry in worker.read()["variables"]] == ["Key", "sys"]


@pytest.mark.parametrize("identity", ["NaN", "Infinity", "-Infinity", "1e400", "123456789012345678901234567890"])
def test_a_number_that_json_has_not_comes_back_as_python_writes_it(worker, identity):
    worker.send('{"id":%s,"code":"1"}' % identity)
    chunk, response = worker.read_line(), worker.read_line()
    shown = b'"id":' + identity.replace("1e400", "Infinity").encode() + b","
    assert shown in chunk and shown in response


def test_an_inspection_is_no_cell(start):
    worker = start()
    worker.send({"type": "inspect_variables"})
    answer = worker.read()
    assert (answer["type"], answer["id"], answer["limit"]) == ("variables_response", "unknown", 200)
    assert '"<kernel:1>"' in worker.execute("1 / 0")["error"]

