"""Skill events: what a host's own loaders run in the worker is told, and signed."""

import base64
import hashlib
import hmac
import json

import pytest

from client import KEY

LOADER = """
import sys, hashlib, base64
def load(source, announce=None, run=True, copy=1):
    code = compile(source, '<sidecar>', 'exec')
    space = {}
    if run:
        exec(code, space)
    event = {'event': 'sidecar_loaded', 'name': 'n', 'sha256': hashlib.sha256(source.encode()).hexdigest(),
             'source_b64': base64.b64encode(source.encode()).decode()}
    event.update(announce or {})
    for _ in range(copy):
        sys.audit('openai4s.skill_sidecar_loaded', event)
    return space
"""
REGISTER = "sys.audit('openai4s.skill_loader_register', load.__code__)"
SOURCE = "x = 'ä'\n"
DIGEST = hashlib.sha256(SOURCE.encode()).hexdigest()


def signed(event):
    text = json.dumps(
        {name: value for name, value in event.items() if name != "attestation_mac"},
        sort_keys=True, separators=(",", ":"), ensure_ascii=False,
    )  # fmt: skip
    return hmac.new(bytes.fromhex(KEY), text.encode(), "sha256").hexdigest() == event["attestation_mac"]


@pytest.fixture
def loader(start):
    """A worker with a registered loader."""
    worker = start()
    result = worker.execute(LOADER + REGISTER, origin="system")
    assert result["error"] is None and result.frames == []
    return worker


def events(worker, code, **keys):
    result = worker.execute(code, **keys)
    assert result["error"] is None, result["error"]
    assert set(frame["type"] for frame in result.frames) <= {"skill_sidecar_load", "stdout_chunk"}
    frames = [frame for frame in result.frames if frame["type"] == "skill_sidecar_load"]
    assert all(frame["id"] == result["id"] and set(frame) == {"type", "id", "event"} for frame in frames)
    return [frame["event"] for frame in frames]


def test_a_sidecar_is_announced_and_told(loader):
    started, loaded = events(loader, f"load({SOURCE!r})['x']")
    identity = started["attestation_id"]
    assert len(identity) == 32 and set(identity) <= set("0123456789abcdef")
    assert started == {
        "event": "sidecar_capture_started",
        "attestation_id": identity,
        "sha256": DIGEST,
        "attestation_mac": started["attestation_mac"],
    }
    assert loaded == {
        "event": "sidecar_loaded",
        "name": "n",
        "sha256": DIGEST,
        "source_b64": base64.b64encode(SOURCE.encode()).decode(),
        "attestation_id": identity,
        "attestation_mac": loaded["attestation_mac"],
    }
    assert signed(started) and signed(loaded)
    again = events(loader, f"load({SOURCE!r})['x']")
    assert again[0]["attestation_id"] == again[1]["attestation_id"] != identity


@pytest.mark.parametrize(
    "call",
    [
        "load({source!r}, {{'sha256': '0' * 64}})",
        "load({source!r}, run=False)",
        "load({source!r}, {{'more': object()}})",
    ],
)
def test_what_is_not_so_is_an_invalid_event(loader, call):
    started, invalid = events(loader, "ignored = " + call.format(source=SOURCE))
    assert invalid == {
        "event": "invalid_sidecar_event",
        "attestation_id": started["attestation_id"],
        "attestation_mac": invalid["attestation_mac"],
    }
    assert signed(invalid)


@pytest.mark.parametrize("more", ["float('nan')", "[-float('inf'), 10 ** 30]", "{'ä': [1.5, -0.0, None]}"])
def test_what_is_sent_is_what_is_signed(loader, more):
    """The numbers too that only Python's JSON has."""
    _, loaded = events(loader, f"ignored = load({SOURCE!r}, {{'more': {more}}})")
    assert json.dumps(loaded["more"]) == json.dumps(eval(more))
    assert signed(loaded)


@pytest.mark.parametrize("name", [None, 5, ["sidecar_loaded"]])
def test_an_event_may_have_any_name(loader, name):
    _, loaded = events(loader, f"ignored = load({SOURCE!r}, {{'event': {name!r}}})")
    assert loaded["event"] == name and signed(loaded)


def test_an_event_may_have_no_name(start):
    worker = start()
    worker.execute(LOADER.replace("'event': 'sidecar_loaded', ", "") + REGISTER, origin="system")
    _, loaded = events(worker, f"ignored = load({SOURCE!r})")
    assert "event" not in loaded and loaded["sha256"] == DIGEST and signed(loaded)


def test_the_events_come_without_the_rule_for_libraries_too(start):
    worker = start(env={"OPENAI4S_SAFETY_AUDIT_HOOK": "0"})
    worker.execute(LOADER + REGISTER, origin="system")
    assert len(events(worker, f"ignored = load({SOURCE!r})")) == 2


def test_a_second_word_for_one_load_is_invalid(loader):
    _, _, second = events(loader, f"ignored = load({SOURCE!r}, copy=2)")
    assert (second["event"], second["attestation_id"]) == ("invalid_sidecar_event", "")
    assert signed(second)


@pytest.mark.parametrize(
    "announce, whole",
    [
        ("{'source_b64': 'x' * 2_666_672}", True),
        ("{'source_b64': 'x' * 2_666_673}", False),
        ("{'source_b64': None}", False),
        ("{'source_b64': 5}", False),
    ],
)
def test_a_source_has_a_bound(loader, announce, whole):
    loaded = events(loader, f"ignored = load({SOURCE!r}, {announce})")[1]
    assert loaded == {"event": "invalid_sidecar_event"} if not whole else loaded["event"] == "sidecar_loaded"


@pytest.mark.parametrize("origin", ["agent", "user", "sidecar_recovery", "nobody"])
def test_only_a_cell_of_the_hosts_own_registers_a_loader(start, origin):
    worker = start()
    worker.execute(LOADER, origin="system")
    worker.execute(REGISTER, origin=origin)
    assert events(worker, f"ignored = load({SOURCE!r})") == []
    worker.execute(REGISTER, origin="recovery")
    assert len(events(worker, f"ignored = load({SOURCE!r})")) == 2


def test_others_compile_and_announce_in_vain(loader):
    code = f"exec(compile({SOURCE!r}, '<s>', 'exec'), {{}})\nimport sys\nsys.audit('openai4s.skill_sidecar_loaded', {{'sha256': {DIGEST!r}}})"
    assert events(loader, code) == []
    assert events(loader, "import sys\nsys.audit('openai4s.skill_loader_register', 5)\nsys.audit('openai4s.skill_loader_register')", origin="system") == []


def test_what_is_not_executed_in_its_cell_never_is(start):
    worker = start()
    generator = LOADER.replace("    space = {}\n", "    yield\n    space = {}\n").replace("return space", "yield space")
    worker.execute(generator + REGISTER, origin="system")
    first = events(worker, f"import sys\ng = load({SOURCE!r})\nnext(g)")
    assert [event["event"] for event in first] == ["sidecar_capture_started"]
    (late,) = events(worker, "ignored = next(g)")
    assert (late["event"], late["attestation_id"]) == ("invalid_sidecar_event", "")


def test_the_key_is_not_in_the_environment(loader):
    assert loader.execute(f"import os\nprint({KEY!r} in str(os.environ))")["stdout"] == "False\n"


# ---- the list of an older kind of loader ------------------------------------------------------------

LIST = "__openai4s_skill_load_events__"


def test_new_entries_of_the_cells_list_come_with_the_response(start):
    worker = start()
    assert "skill_sidecar_loads" not in worker.execute("x = 1")
    assert worker.execute(f"{LIST} = [{{'a': 1}}]")["skill_sidecar_loads"] == [{"a": 1}]
    assert "skill_sidecar_loads" not in worker.execute("x = 1")
    result = worker.execute(f"{LIST} += [{{'b': 2}}, 'no dict', {{'c': 3}}]")
    assert result["skill_sidecar_loads"] == [{"b": 2}, {"c": 3}, {"event": "invalid_sidecar_event"}]
    assert worker.execute(f"{LIST} = [{{'new': 1}}]")["skill_sidecar_loads"] == [{"new": 1}]
    assert worker.execute(f"{LIST}.clear()\n{LIST}.append({{'d': 4}})").get("skill_sidecar_loads") is None
    assert worker.execute(f"{LIST}[:] = []\nx = 1").get("skill_sidecar_loads") is None
    assert worker.execute(f"{LIST}.append({{'e': 5}})")["skill_sidecar_loads"] == [{"e": 5}]
    assert worker.execute(f"{LIST} = 5").get("skill_sidecar_loads") is None


def test_the_list_is_not_told_where_frames_were(loader):
    result = loader.execute(f"{LIST} = [{{'a': 1}}]\nignored = load({SOURCE!r})")
    assert len(result.frames) == 2 and "skill_sidecar_loads" not in result
    assert "skill_sidecar_loads" not in loader.execute("x = 1")


# ---- recovery --------------------------------------------------------------------------------------

REFUSED = "Refusing mutable file/code access during frozen sidecar recovery: "


@pytest.mark.parametrize(
    "code, path",
    [
        ("open('a.txt')", "a.txt"),
        ("import os\nos.open('a.txt', os.O_RDONLY)", "a.txt"),
        ("open(b'a.txt')", "a.txt"),
        ("compile('1', 'a.py', 'eval')", "a.py"),
        ("exec(code)", "b.py"),
        ("import module_here", "module_here.py"),
        ("open('/usr/lib/../../etc/passwd')", "/usr/lib/../../etc/passwd"),
    ],
)
def test_a_recovery_takes_nothing_from_where_cells_write(start, tmp_path, code, path):
    (tmp_path / "a.txt").write_text("text")
    (tmp_path / "module_here.py").write_text("")
    worker = start(cwd=tmp_path)
    worker.execute("import sys\nsys.path.insert(0, '.')\ncode = compile('1', 'b.py', 'exec')")
    error = worker.execute(code, origin="sidecar_recovery")["error"]
    assert REFUSED in error and error.endswith(path + "\n"), error
    if "module_here" not in code:
        assert worker.execute(code)["error"] is None, "in any other cell it is as ever"


def test_a_recovery_runs_all_the_same(start, tmp_path):
    worker = start(cwd=tmp_path)
    result = worker.execute(
        "import decimal, linecache, json.tool\nexec('x = 1')\nprint(eval('x + 1'))\ntry: 1 / 0\nexcept ZeroDivisionError: pass\n"
        "host._call('ping', [])\ndef f(): raise ValueError('own')\nf()",
        origin="sidecar_recovery",
    )
    assert result["stdout"] == "2\n"
    assert result["error"].endswith("ValueError: own\n") and "own" in result["error"]
    assert worker.execute("open('new', 'w').close()")["error"] is None


def test_a_recovery_that_cannot_be_watched_does_not_run(worker):
    worker.execute("import _einkorn\nlisten, _einkorn.listen = _einkorn.listen, None")
    result = worker.execute("print('ran')", origin="sidecar_recovery")
    assert result["error"].startswith("einkorn could not serve this request: TypeError: ")
    assert result["stdout"] == "" and result.chunks == []
    worker.execute("_einkorn.listen = listen")
    assert worker.execute("print('ran')", origin="sidecar_recovery")["stdout"] == "ran\n"


def test_what_a_cell_does_to_the_environment_takes_no_watch_off_a_recovery(worker):
    spoilt = worker.execute(
        "import os\nclass Environ:\n    @property\n    def _data(self): raise ValueError('no data')\n"
        "real, os.environ = os.environ, Environ()"
    )
    assert spoilt["error"] is None and spoilt.logs == ["guards unavailable: no data"]
    result = worker.execute("open('/etc/passwd')", origin="sidecar_recovery")
    assert REFUSED in result["error"] and result.logs == ["guards unavailable: no data"] * 2
