"""
Issue 1, "Kernel process" and "Bad input": frames, signatures, replays, limits.
Whatever comes, the kernel stays usable, and says so on stderr, if there are not too many, in a line per message.
"""

import hashlib
import hmac
import json
import re

import pytest
import zmq

from client import DELIMITER, VERSION, Client, Result, compact, text

LOGGED = r"einkorn: .*"
EXECUTE = {"code": "print(666)", "silent": False, "store_history": True, "user_expressions": {},
           "allow_stdin": False, "stop_on_error": True}


@pytest.fixture
def raw(kernel):
    """The module's kernel, whose log lines are this file's doing, checked for health at the end."""
    kernel.expect_log(LOGGED)
    yield kernel
    assert kernel.kernel_info("shell", timeout=2).content["status"] == "ok"
    assert kernel.run("print('healthy')", timeout=5) == [("stdout", "healthy\n")]


def parts_of(client, kind="execute_request", content=None, **header):
    """The four signed parts of a message, as bytes."""
    return [compact(client.header(kind, **header)), b"{}", b"{}",
            compact(EXECUTE if content is None else content)]


def refusal(client, msg_id, channel="shell"):
    """A request that is answered with an error, busy and idle. -> evalue"""
    result = client.finish(msg_id, channel, timeout=5)
    content = result.reply.content
    assert content["status"] == "error"
    assert {"ename", "evalue", "traceback"} <= set(content)
    assert type(content["traceback"]) is list
    assert content["ename"] != "" and content["evalue"] != ""
    assert result.never_ran
    return content["evalue"]


# --- dropped: C057 (1)-(7) ---------------------------------------------------


def dropped_messages():
    """name -> a function of the client that returns frames which must have no effect at all."""
    table = {}

    def case(name):
        return lambda make: table.setdefault(name, make)

    case("one frame")(lambda c: [b"garbage"])
    case("an empty frame")(lambda c: [b""])
    case("three frames without a delimiter")(lambda c: [b"a", b"b", b"c"])
    case("delimiter only")(lambda c: [DELIMITER])
    case("delimiter and two frames")(lambda c: [DELIMITER, b"a", b"b"])
    case("delimiter twice")(lambda c: [DELIMITER, DELIMITER])

    @case("a part is missing")
    def _(c):
        parts = parts_of(c)[:3]
        return [DELIMITER, c.sign(parts), *parts]

    @case("zeros as signature")
    def _(c):
        return [DELIMITER, b"0" * 64, *parts_of(c)]

    @case("no signature")
    def _(c):
        return [DELIMITER, b"", *parts_of(c)]

    @case("a signature cut short")
    def _(c):
        parts = parts_of(c)
        return [DELIMITER, c.sign(parts)[:-1], *parts]

    @case("a signature and one byte more")
    def _(c):
        parts = parts_of(c)
        return [DELIMITER, c.sign(parts) + b"0", *parts]

    @case("signed with another key")
    def _(c):
        parts = parts_of(c)
        mac = hmac.new(b"other", b"".join(parts), hashlib.sha256)
        return [DELIMITER, mac.hexdigest().encode(), *parts]

    @case("signed with another digest")
    def _(c):
        parts = parts_of(c)
        mac = hmac.new(c.key, b"".join(parts), hashlib.sha512)
        return [DELIMITER, mac.hexdigest().encode(), *parts]

    @case("content changed after signing")
    def _(c):
        parts = parts_of(c)
        return [DELIMITER, c.sign(parts), *parts[:3], parts[3].replace(b"666", b"667")]

    @case("metadata and content swapped")
    def _(c):
        parts = parts_of(c)
        return [DELIMITER, c.sign(parts), parts[0], parts[1], parts[3], parts[2]]

    def signed(name, header):
        @case(name)
        def _(c):
            parts = [header, b"{}", b"{}", compact(EXECUTE)]
            return [DELIMITER, c.sign(parts), *parts]

    signed("header is no JSON", b"{not json")
    signed("header is empty", b"")
    signed("header is a list", b"[]")
    signed("header has only a msg_id", b'{"msg_id": "q"}')
    signed("msg_id is a number", b'{"msg_id": 5, "msg_type": "execute_request"}')
    signed("msg_type is a list", b'{"msg_id": "q", "msg_type": []}')
    signed("msg_type is null", b'{"msg_id": "q", "msg_type": null}')
    signed("header is not UTF-8", b'{"msg_id": "\xff", "msg_type": "execute_request"}')
    signed("header has more behind it", b'{"msg_id": "q", "msg_type": "execute_request"} x')
    signed("header is nested deeply", b'{"msg_id": "q", "msg_type": "execute_request", "d": '
           + b"[" * 5000 + b"]" * 5000 + b"}")
    signed("header is very large", b'{"msg_id": "q", "msg_type": "execute_request", "x": "'
           + b"x" * 100_000 + b'"}')
    return table


DROPPED = dropped_messages()


@pytest.mark.parametrize("channel", ["shell", "control"])
@pytest.mark.parametrize("name", DROPPED)
def test_a_malformed_message_is_dropped(raw, name, channel):
    """C057 1-7, peers 7.4: no reply, nothing executed, no status; leftovers() would find any."""
    raw.send_frames(channel, DROPPED[name](raw))


@pytest.mark.parametrize("name", DROPPED)
def test_a_malformed_message_on_stdin_is_dropped(raw, name):
    raw.send_frames("stdin", DROPPED[name](raw))


def test_a_valid_answer_that_nobody_asked_for_is_dropped(raw):
    raw.send("stdin", "input_reply", {"value": "stale"})


def test_a_line_is_logged_for_a_bad_signature(fresh):
    """Logged, never fatal; the key and the content stay out of the log."""
    fresh.expect_log(LOGGED)
    fresh.send_frames("shell", [DELIMITER, b"0" * 64, *parts_of(fresh)])
    fresh.run("1")
    lines = fresh.stderr().splitlines()
    assert len(lines) == 1 and "signature" in lines[0], lines
    assert fresh.connection["key"] not in lines[0] and "666" not in lines[0]


def test_the_log_is_not_flooded_by_bad_messages(fresh):
    """Lines for a few of a thousand, and the others are counted."""
    fresh.expect_log(LOGGED)
    for _ in range(500):
        fresh.send_frames("shell", [DELIMITER, b"0" * 64, *parts_of(fresh)])
        fresh.send("control", "no_such_request", {})
    fresh.run("1")
    fresh.stop()
    fresh.queue["iopub"].clear()  # busy and idle of each that was signed
    lines = fresh.stderr().splitlines()
    told = [line for line in lines if re.search(r"wrong or missing signature|unknown type", line)]
    more = [int(n) for n in re.findall(r"(\d+) more (?:messages were )?dropped", fresh.stderr())]
    assert 20 <= len(told) < 100 and len(told) + sum(more) == 1000, lines


def test_garbage_on_iopub_changes_nothing(raw):
    """A zero-length frame from a subscriber, and other bytes."""
    other = raw.context.socket(zmq.XSUB)
    other.linger = 0
    other.connect(raw.endpoint("iopub"))
    for data in (b"", b"\x07junk", b"\x01\xff", b"\x00never"):
        other.send(data)
    raw.run("1")
    other.close()


# --- answered: C057 (8)-(17) --------------------------------------------------


def test_an_unknown_type_is_busy_and_idle_only(raw):
    """Issue: unknown types: busy, idle, log. C057 8."""
    for channel in ("shell", "control"):
        msg_id = raw.send(channel, "frobnicate_request", {})
        assert [m.state for m in raw.iopub(msg_id)] == ["busy", "idle"]


BAD_CONTENT = {
    "no code": (b"{}", "code"),
    "code is a number": (b'{"code": 5}', "code"),
    "code is null": (b'{"code": null}', "code"),
    "code is a list": (b'{"code": ["1"]}', "code"),
    "content is a list": (b"[]", "object"),
    "content is text": (b'"x"', "object"),
    "content is null": (b"null", "object"),
    "content is no JSON": (b'{"code": ', "JSON"),
    "content is empty": (b"", "JSON"),
    "content is NaN": (b'{"code": "1", "x": NaN}', "JSON"),
    "raw byte ff": (b'{"code": "\xff"}', "UTF-8"),
    "raw newline in text": (b'{"code": "a\nb"}', "JSON"),
    "silent is text": (b'{"code": "1", "silent": "no"}', "silent"),
    "store_history is 0": (b'{"code": "1", "store_history": 0}', "store_history"),
    "allow_stdin is null": (b'{"code": "1", "allow_stdin": []}', "allow_stdin"),
    "stop_on_error is text": (b'{"code": "1", "stop_on_error": "x"}', "stop_on_error"),
    "user_expressions is a list": (b'{"code": "1", "user_expressions": []}', "user_expressions"),
    "nested deeply": (b'{"code": "1", "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "deep"),
}


@pytest.mark.parametrize("channel", ["shell", "control"])
@pytest.mark.parametrize("name", BAD_CONTENT)
def test_a_signed_but_invalid_execute_request_is_refused(raw, name, channel):
    """C057 9-11, 16, peers 7.4: status error with what is wrong, busy and idle; the count does not move."""
    content, named = BAD_CONTENT[name]
    before = raw.execute("").count
    parts = parts_of(raw)[:3] + [content]
    raw.send_parts(channel, parts)
    assert named.lower() in refusal(raw, json.loads(parts[0])["msg_id"], channel).lower()
    assert raw.execute("").count == before


@pytest.mark.parametrize("metadata", [b"[]", b"{not", b"\xff", b"null"], ids=repr)
def test_bad_metadata_is_refused(raw, metadata):
    parts = parts_of(raw)
    parts[2] = metadata
    raw.send_parts("shell", parts)
    refusal(raw, json.loads(parts[0])["msg_id"])


@pytest.mark.parametrize("kind, content, channel", [
    ("shutdown_request", {"restart": "perhaps"}, "control"),
    ("shutdown_request", [], "control"),
    ("kernel_info_request", [], "shell"),
    ("interrupt_request", [], "control"),
    ("connect_request", 5, "shell"),
])
def test_other_requests_with_bad_content_are_refused(raw, kind, content, channel):
    """Signed but invalid: an error of the request's own reply type, and the kernel lives on."""
    result = raw.finish(raw.send(channel, kind, content), channel, timeout=5)
    assert result.reply.type == kind.replace("_request", "_reply")
    assert result.reply.content["status"] == "error"


def test_a_header_with_only_id_and_type_will_do(raw):
    """C057 12."""
    header = b'{"msg_id": "only", "msg_type": "kernel_info_request"}'
    raw.send_parts("shell", [header, b"{}", b"{}", b"{}"])
    assert raw.finish("only").reply.content["status"] == "ok"


def test_extra_buffers_do_not_matter(raw):
    """C057 14: buffers are not signed, and any number may follow."""
    for buffers in ([b""], [b"x" * 10] * 3, [b"y" * 1_000_000]):
        msg_id = raw.send("shell", "kernel_info_request", {}, buffers=buffers)
        assert raw.finish(msg_id).reply.content["status"] == "ok"
        msg_id = raw.send("shell", "execute_request", EXECUTE, buffers=buffers)
        assert raw.finish(msg_id, request=EXECUTE).outputs == [("stdout", "666\n")]


def test_a_lone_surrogate_in_code_is_answered(raw):
    """C057 15: the escape \\ud800 in JSON is legal; the cell's text holds a lone surrogate."""
    parts = parts_of(raw)
    parts[3] = b'{"code": "x = \'\\ud800\'; print(len(x), hex(ord(x)))"}'
    raw.send_parts("shell", parts)
    result = raw.finish(json.loads(parts[0])["msg_id"])
    assert result.reply.content["status"] in ("ok", "error")
    if result.reply.content["status"] == "ok":
        streams = [m.content["text"] for m in result.iopub if m.type == "stream"]
        assert "".join(streams) == "1 0xd800\n"


def test_a_nul_in_code_is_a_syntax_error(raw):
    """C057 17."""
    result = raw.fail("a\0b")
    assert result.error[0] in ("SyntaxError", "ValueError")
    assert "null bytes" in result.error[1]


def test_unknown_keys_in_content_are_ignored(raw):
    """Newer clients send keys that we do not know."""
    content = {**EXECUTE, "cellId": 5, "nested": {"code": "raise SystemError"}}
    msg_id = raw.send("shell", "execute_request", content)
    assert raw.finish(msg_id, request=content).outputs == [("stdout", "666\n")]


def test_duplicate_keys_are_survived(raw):
    parts = parts_of(raw)
    parts[3] = b'{"code": "1", "code": "2"}'
    raw.send_parts("shell", parts)
    reply = raw.reply("shell", json.loads(parts[0])["msg_id"])
    raw.iopub(json.loads(parts[0])["msg_id"])
    assert reply.content["status"] in ("ok", "error")


def test_a_replay_is_dropped(raw):
    """C057 13, peers 7.4: the same bytes again run once; on another channel too; a new id runs again."""
    raw.run("hits = 0")
    parts = parts_of(raw, content={**EXECUTE, "code": "hits += 1"})
    raw.send_parts("shell", parts)
    raw.finish(json.loads(parts[0])["msg_id"])
    for channel in ("shell", "control", "shell"):
        raw.send_parts(channel, parts)
    raw.kernel_info("control")
    assert raw.run("hits") == [("result", text("1"))]
    parts[0] = compact(raw.header("execute_request"))
    raw.send_parts("shell", parts)
    raw.finish(json.loads(parts[0])["msg_id"])
    assert raw.run("hits") == [("result", text("2"))]


def test_a_bad_signature_does_not_enter_the_replay_window(raw):
    """peers 7.4: stored after verification only: a right message that a wrong one went before still counts."""
    parts = parts_of(raw, "kernel_info_request", {})
    wrong = parts[:3] + [b'{"x":1}']
    raw.send_frames("shell", [DELIMITER, raw.sign(parts), *wrong])
    raw.send_parts("shell", parts)
    raw.finish(json.loads(parts[0])["msg_id"])


# --- limits -------------------------------------------------------------------


def test_too_many_frames_are_dropped(raw):
    """peers 7.4: limit for the frame count: 2,000 buffers, and 50 identities."""
    parts = parts_of(raw)
    raw.send_frames("shell", [DELIMITER, raw.sign(parts), *parts, *[b""] * 2000])
    parts = parts_of(raw)
    raw.send_frames("shell", [b"id"] * 50 + [DELIMITER, raw.sign(parts), *parts])


def test_a_large_cell_runs(raw):
    """10 MB of code: below every limit, echoed unchanged."""
    code = "size = len('" + "é" * 5_000_000 + "')\nsize"
    assert raw.run(code) == [("result", text("5000000"))]


def test_nesting_below_the_limit_is_fine(raw):
    content = {**EXECUTE, "deep": json.loads("[" * 50 + "]" * 50)}
    msg_id = raw.send("shell", "execute_request", content)
    assert raw.finish(msg_id, request=content).outputs == [("stdout", "666\n")]


# --- the parent header, byte for byte ------------------------------------------


@pytest.mark.parametrize("header", [
    b'  {"msg_id" : "odd-1",\n\t"msg_type":"execute_request" }  ',
    b'{"msg_type":"execute_request","zz":{"a":[1.0,1e400,0.10000000000000001,null]},'
    b'"msg_id":"odd-2"}',
    b'{"msg_id":"odd-3","msg_type":"execute_request","subshell_id":null,"username":"\\u00fc\\/"}',
    '{"msg_id":"odd-4-ü😀","msg_type":"execute_request","date":"yesterday"}'.encode(),
    b'{"msg_id":"odd-5","msg_type":"execute_request","big":123456789012345678901234567890}',
    b'{"msg_id":"odd-6 \\"quoted\\" \\\\","msg_type":"execute_request","session":5,"version":null}',
    b'{"msg_id":"","msg_type":"execute_request","msg":""}',
], ids=lambda h: h[:40].decode(errors="replace").strip())
def test_parent_header_is_echoed_byte_for_byte(raw, header):
    """Issue: byte for byte; unknown keys, numbers and spaces included. The client compares."""
    msg_id = json.loads(header)["msg_id"]
    raw.send_parts("shell", [header, b'{"old": "parent"}', b"{}", compact(EXECUTE)])
    result = raw.finish(msg_id, request=EXECUTE)
    assert result.outputs == [("stdout", "666\n")]
    assert {m.parent_raw for m in [result.reply, *result.iopub]} == {header}


def test_every_identity_frame_is_kept(raw):
    """Proxies add identities; a reply has them all, in order."""
    parts = parts_of(raw)
    raw.sent[json.loads(parts[0])["msg_id"]] = parts[0]
    prefix = [b"proxy", b"", b"\0\xff", b"another"]
    raw.send_frames("shell", [*prefix, DELIMITER, raw.sign(parts), *parts])
    assert raw.sockets["shell"].poll(5000)
    frames = raw.sockets["shell"].recv_multipart()
    assert frames[:5] == [*prefix, DELIMITER]
    assert frames[6:][1] == parts[0]
    raw.iopub(json.loads(parts[0])["msg_id"])


# --- keys and schemes -----------------------------------------------------------


def test_an_empty_key_turns_signing_off(start):
    """C057, peers 7.4, second kernel: everything is accepted and replies carry an empty signature frame."""
    kernel = start(key="")
    kernel.expect_log(LOGGED)
    assert kernel.run("print('healthy')") == [("stdout", "healthy\n")]
    assert kernel.info.signature == b""
    kernel.send_parts("shell", parts_of(kernel), signature=b"")
    for _ in range(2):  # equal bytes twice: there is no signature to remember
        parts = [b'{"msg_id":"again","msg_type":"kernel_info_request"}', b"{}", b"{}", b"{}"]
        kernel.send_parts("shell", parts, signature=b"")
        assert kernel.finish("again").reply.content["status"] == "ok"
    msg_id = next(m for m in reversed(kernel.sent) if kernel.sent[m].find(b"execute") > 0)
    assert kernel.finish(msg_id, request=EXECUTE).outputs == [("stdout", "666\n")]


def test_a_missing_key_means_no_key(start):
    """Old files have none."""
    kernel = start(key="", signature_scheme="hmac-sha256")
    kernel.expect_log(LOGGED)
    assert kernel.info.signature == b""


@pytest.mark.parametrize("scheme", ["hmac-sha512", "hmac-sha1", "hmac-md5", "hmac-sha3_256"])
def test_other_hmac_schemes(start, scheme):
    """Issue: any hmac-* scheme OpenSSL has, by the name that Python's hashlib gives it."""
    kernel = start(signature_scheme=scheme)
    assert kernel.run("1") == [("result", text("1"))]


def test_a_key_of_any_characters(start):
    kernel = start(key="schlüssel \"x\" \t😀" * 20)
    assert kernel.run("1") == [("result", text("1"))]


def test_a_signature_in_capitals_is_wrong(raw):
    """Lowercase hex."""
    parts = parts_of(raw)
    raw.send_frames("shell", [DELIMITER, raw.sign(parts).upper(), *parts])


# --- routing ---------------------------------------------------------------------


def test_a_client_that_comes_back_with_its_identity_wins(kernel):
    """ROUTER_HANDOVER on shell, control and stdin."""
    first = kernel.connect(identity=b"same", channels=("shell", "control", "stdin"))
    for channel in ("shell", "control"):
        msg_id = first.send(channel, "kernel_info_request", {})
        first.reply(channel, msg_id)
        kernel.iopub(msg_id)
    second = kernel.connect(identity=b"same", channels=("shell", "control", "stdin"))
    for channel in ("shell", "control"):
        msg_id = second.send(channel, "kernel_info_request", {})
        assert second.reply(channel, msg_id, 5).content["status"] == "ok"
        kernel.iopub(msg_id)
    code = "input('who? ')"
    msg_id = second.send_execute(code, allow_stdin=True)
    request = second.take("stdin", timeout=5)
    second.answer(request, "second")
    second.reply("shell", msg_id)
    shown = Result(None, kernel.iopub(msg_id), {"code": code}).outputs
    assert shown == [("result", text("'second'"))]
    assert first.silence("shell", 0) and first.silence("stdin", 0)
    first.close()
    second.close()


def test_replies_to_clients_that_are_gone_do_no_harm(kernel):
    """Servers ask on sockets that they close at once."""
    asked = []
    for _ in range(20):
        other = kernel.connect(channels=("shell", "control"))
        for channel in ("shell", "control"):
            asked.append(other.send(channel, "kernel_info_request", {}))
        for each in other.sockets.values():
            each.linger = 200  # the request goes out, the reply finds nobody
        other.close()
    for msg_id in asked:
        assert [m.state for m in kernel.iopub(msg_id)] == ["busy", "idle"]
    assert kernel.run("1") == [("result", text("1"))]


def test_two_clients_share_outputs_but_not_replies(kernel):
    """Broadcast on IOPub with the right parent; replies only to the sender."""
    other = kernel.connect()
    other.welcome()
    kernel.take("iopub", lambda m: m.type == "iopub_welcome")
    mine, theirs = kernel.send_execute("print('a')"), other.send_execute("print('b')")
    assert kernel.finish_execute(mine, "print('a')").outputs == [("stdout", "a\n")]
    assert other.finish_execute(theirs, "print('b')").outputs == [("stdout", "b\n")]
    seen_by_other = Result(None, other.iopub(mine), {"code": "print('a')"}).outputs
    seen_by_me = Result(None, kernel.iopub(theirs), {"code": "print('b')"}).outputs
    assert (seen_by_other, seen_by_me) == ([("stdout", "a\n")], [("stdout", "b\n")])
    assert other.queue["shell"] == [] and other.queue["iopub"] == []
    other.close()


def test_every_process_has_its_own_session_id(start):
    """A new session is how clients see a restart."""
    assert start().kernel_session != start().kernel_session


def test_the_header_of_what_we_send(kernel):
    """Version 5.5, a date in UTC, topics of IOPub: one frame each."""
    result = kernel.execute("print(1)\n2")
    assert {m.header["version"] for m in [result.reply, *result.iopub]} == {VERSION}
    assert all(len(m.identities) == 1 for m in result.iopub)
    assert isinstance(kernel, Client)
