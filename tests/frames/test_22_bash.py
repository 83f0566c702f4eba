"""`host.bash`: the way to a command's leave, and the command, through a real worker."""

import hashlib
import os
import signal
import time

import pytest

import half
from bash_host import DROP, BashHost

GENERATION = "kernel:g-7"
CELL = """\
try:
    print({call})
except RuntimeError as error:
    print("refused:", error)
"""


@pytest.fixture
def bash(start, tmp_path):
    """A function that runs cells in a worker whose workspace is a directory of the test's own.

    ``bash(call, host)`` returns the Result of a cell that prints what the call returns or raises.
    """
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (tmp_path / "outside").mkdir()
    worker = start(
        cwd=workspace,
        env={"OPENAI4S_KERNEL_GENERATION": GENERATION, "OPENAI4S_WORKSPACE": str(workspace)},
    )

    def run(call, host, **options):
        found = worker.execute(CELL.format(call=call), host=host, **options)
        assert found["error"] is None, found["error"]
        return found

    run.worker, run.workspace = worker, workspace
    return run


def value(found):
    """The dict that the cell of ``bash`` printed."""
    return eval(found["stdout"])


def refusal(found):
    """The text of the RuntimeError that the cell of ``bash`` printed."""
    assert found["stdout"].startswith("refused: "), found["stdout"]
    return found["stdout"].removeprefix("refused: ").rstrip("\n")


ROUND_TRIP = ["authorize_bash", "consume_bash_authorization", "record_bash_result"]


def test_a_command_runs_here_and_the_host_is_asked_before_and_told_after(bash):
    host = BashHost(bash.workspace, generation=GENERATION)
    command = "printf science > result.txt; printf done; printf careful >&2; exit 3"
    found = value(bash(f"host.bash({command!r}, timeout=30)", host))
    took = found.pop("duration_ms")
    assert 0 <= took < 30_000
    here = os.path.realpath(bash.workspace)
    counts = {
        f"{name}_{what}": count
        for name, seen in (("stdout", 4), ("stderr", 7))
        for what, count in (
            ("seen_chars", seen), ("retained_chars", seen), ("dropped_chars", 0),
            ("truncated", False),
        )
    }  # fmt: skip
    diff = {"created": ["result.txt"], "modified": [], "deleted": [], "truncated": False}
    output = {"exit_code": 3, "stdout": "done", "stderr": "careful", **counts}
    assert found == {
        **output, "workspace_diff": diff, "workdir": here, "audit_recorded": True,
    }  # fmt: skip
    assert host.methods() == ROUND_TRIP
    (asked,), (used,), (told,) = (args for method, args in host.calls if method in ROUND_TRIP)
    challenge = asked.pop("challenge")
    assert len(challenge) >= 24
    digest = hashlib.sha256(command.encode()).hexdigest()
    assert asked == {
        "command": command, "commandSha256": digest, "cwd": here,
        "workspace": str(bash.workspace), "generation": GENERATION, "timeout": 30.0,
    }  # fmt: skip
    (token,) = host.issued
    binding = {
        "token": token, "commandSha256": digest, "cwd": here, "generation": GENERATION,
        "challenge": challenge,
    }  # fmt: skip
    assert used == binding
    assert {name: told.pop(name) for name in binding} == binding
    assert (told["status"], told["exitCode"], told["durationMs"]) == ("completed", 3, took)
    assert told["workspaceDiff"] == diff
    assert (told["stdout"], told["stderr"]) == ("done", "careful")
    assert (told["stdoutSeenChars"], told["stderrRetainedChars"]) == (4, 7)
    assert (told["stdoutDroppedChars"], told["stderrTruncated"]) == (0, False)


def test_a_command_has_two_minutes_where_none_are_said_and_needs_no_workspace(bash):
    host = BashHost(bash.workspace)
    bash.worker.execute("import os\ndel os.environ['OPENAI4S_WORKSPACE']")
    for call in ("host.bash('echo 1')", "host.bash('echo 1', timeout=None)"):
        assert value(bash(call, host))["stdout"] == "1\n"
    asked = [args[0] for method, args in host.calls if method == "authorize_bash"]
    assert [one["timeout"] for one in asked] == [120, 120]
    assert not any("workspace" in one for one in asked)


def test_each_command_asks_with_another_challenge(bash):
    host = BashHost(bash.workspace)
    bash("[host.bash('true') for _ in range(3)]", host)
    asked = [args[0]["challenge"] for method, args in host.calls if method == "authorize_bash"]
    assert len(set(asked)) == 3


def test_the_workdir_is_resolved(bash):
    (bash.workspace / "d").mkdir()
    (bash.workspace / "link").symlink_to("d")
    there = os.path.realpath(bash.workspace / "d")
    host = BashHost(bash.workspace)
    for workdir in ("d", "link", "link/../d", str(bash.workspace / "link")):
        found = value(bash(f"host.bash('pwd -P', workdir={workdir!r})", host))
        assert (found["workdir"], found["stdout"]) == (there, f"{there}\n")
    assert {args[0]["cwd"] for method, args in host.calls if method == "authorize_bash"} == {there}


# What is refused before the host is asked for leave: (call, text).
UNASKED = [
    ("host.bash('')", "bash: empty command"),
    ("host.bash(' \\n ')", "bash: empty command"),
    ("host.bash(None)", "bash: empty command"),
    ("host.bash(b'ls')", "bash: empty command"),
    ("host.bash('touch ran\\0')", "bash: command contains a NUL byte"),
    ("host.bash('touch ran', timeout='soon')", "bash: timeout must be a number"),
    ("host.bash('touch ran', timeout=[1])", "bash: timeout must be a number"),
    ("host.bash('touch ran', timeout=10 ** 400)", "bash: timeout must be a number"),
    ("host.bash('touch ran', timeout=float('inf'))", "bash: timeout must be finite and positive"),
    ("host.bash('touch ran', timeout=float('nan'))", "bash: timeout must be finite and positive"),
    ("host.bash('touch ran', timeout=0)", "bash: timeout must be finite and positive"),
    ("host.bash('touch ran', timeout=-1)", "bash: timeout must be finite and positive"),
    ("host.bash('touch ran; rm -rf /')",
     "bash: blocked by static safety precheck: recursive delete of '/', '~' or $HOME"),
    ("host.bash('touch ran', workdir='missing')", "bash: workdir not found: missing"),
    ("host.bash('touch ran', workdir='a file')", "bash: workdir not found: a file"),
    ("host.bash('touch ran', workdir=3)", "bash: workdir not found: 3"),
    ("host.bash('touch ran', workdir='a\\0')", "bash: workdir not found: a\0"),
]  # fmt: skip


@pytest.mark.parametrize("call, text", UNASKED, ids=[call for call, _ in UNASKED])
def test_some_commands_are_refused_without_the_host(bash, call, text):
    (bash.workspace / "a file").touch()
    host = BashHost(bash.workspace)
    assert refusal(bash(call, host)) == text
    assert host.methods() == []
    assert not (bash.workspace / "ran").exists()


WRONG = "bash: host capability binding mismatch"
UNAVAILABLE = "bash: host authorization unavailable; command was not executed: "
AUTHORIZE, CONSUME, RECORD = ROUND_TRIP
NOW = int(time.time() * 1000)
HOUR = 3_600_000

# Hosts that give no leave, or one that is not what was asked for: (how it is made, the text of the
# refusal, the methods that it was asked).  "OUTSIDE" stands for a directory beside the workspace.
REFUSED = [
    # no leave
    ({"answers": {AUTHORIZE: ValueError("no such method")}},
     UNAVAILABLE + "host.authorize_bash error: no such method", 1),
    ({"answers": {AUTHORIZE: {"error": "Permission denied"}}},
     UNAVAILABLE + "host.authorize_bash error: Permission denied", 1),
    ({"answers": {AUTHORIZE: {"error": "denied", "rule": 1}}}, "denied", 1),
    ({"answers": {AUTHORIZE: None}}, "bash: host authorization returned an invalid capability", 1),
    ({"answers": {AUTHORIZE: True}}, "bash: host authorization returned an invalid capability", 1),
    ({"generation": "kernel:g-8"},
     UNAVAILABLE + "host.authorize_bash error: bash authorization: not the active generation", 1),
    # fields that are missing or wrong
    ({"change": {"token": DROP, "cwd": DROP}},
     "bash: host authorization omitted capability fields: cwd, token", 1),
    ({"answers": {AUTHORIZE: {}}},
     "bash: host authorization omitted capability fields: allowed_root, challenge, "
     "command_sha256, cwd, expires_at_ms, generation, issued_at_ms, token, version, workspace", 1),
    ({"change": {"version": "openai4s-bash-capability-v2"}},
     "bash: unsupported host capability version", 1),
    ({"change": {"version": None}}, "bash: unsupported host capability version", 1),
    ({"change": {"token": "t" * 23}}, "bash: host authorization returned an invalid token", 1),
    ({"change": {"token": ["t"] * 24}}, "bash: host authorization returned an invalid token", 1),
    ({"change": {"command_sha256": "0" * 64}}, f"{WRONG} (command_sha256)", 1),
    ({"change": {"cwd": "/"}}, f"{WRONG} (cwd)", 1),
    ({"change": {"generation": "kernel:g-6"}}, f"{WRONG} (generation)", 1),
    ({"change": {"challenge": "another"}}, f"{WRONG} (challenge)", 1),
    ({"change": {"workspace": "/missing/directory"}},
     "bash: host capability contains an invalid path", 1),
    ({"change": {"allowed_root": "a\0b"}}, "bash: host capability contains an invalid path", 1),
    ({"change": {"allowed_root": 3}}, "bash: host capability contains an invalid path", 1),
    ({"change": {"allowed_root": "/dev/null"}},
     "bash: host capability path is not a directory", 1),
    ({"change": {"workspace": "OUTSIDE"}}, f"{WRONG} (workspace)", 1),
    ({"change": {"allowed_root": "OUTSIDE"}},
     "bash: host capability does not contain the workdir", 1),
    # times
    ({"change": {"issued_at_ms": "now"}}, "bash: host capability has an invalid expiry", 1),
    ({"change": {"expires_at_ms": None}}, "bash: host capability has an invalid expiry", 1),
    ({"change": {"expires_at_ms": True}}, "bash: host capability has an invalid expiry", 1),
    ({"change": {"expires_at_ms": NOW - HOUR}},
     "bash: host capability expired before execution", 1),
    ({"life_ms": 60_001}, "bash: host capability expiry is outside policy", 1),
    ({"change": {"issued_at_ms": NOW + HOUR, "expires_at_ms": NOW + HOUR + 1000}},
     "bash: host capability expiry is outside policy", 1),
    ({"change": {"issued_at_ms": NOW + 2 * HOUR, "expires_at_ms": NOW + HOUR}},
     "bash: host capability expiry is outside policy", 1),
    # leave that cannot be used up
    ({"answers": {CONSUME: ValueError("gone")}},
     "bash: host capability could not be consumed; command was not executed: "
     "host.consume_bash_authorization error: gone", 2),
    ({"change": {"token": "a token that nobody issued"}},
     "bash: host capability could not be consumed; command was not executed: "
     "host.consume_bash_authorization error: bash authorization: no such token, or no longer", 2),
    ({"answers": {CONSUME: None}},
     "bash: host capability was not consumed; command was not executed", 2),
    ({"answers": {CONSUME: {"ok": False}}},
     "bash: host capability was not consumed; command was not executed", 2),
    ({"answers": {CONSUME: {"ok": False, "error": "used before"}}}, "used before", 2),
]  # fmt: skip


@pytest.mark.parametrize("host, text, steps", REFUSED)
def test_without_leave_for_exactly_this_nothing_runs(bash, tmp_path, host, text, steps):
    change = {
        name: str(tmp_path / "outside") if wrong == "OUTSIDE" else wrong
        for name, wrong in host.get("change", {}).items()
    }
    host = BashHost(bash.workspace, **{**host, "change": change})
    assert refusal(bash("host.bash('touch ran')", host)) == text
    assert host.methods() == ROUND_TRIP[:steps]
    assert not (bash.workspace / "ran").exists()
    # The next one is not hurt by it.
    assert value(bash("host.bash('echo fine')", BashHost(bash.workspace)))["stdout"] == "fine\n"




def test_leave_at_the_limits_is_leave(bash):
    assert value(bash("host.bash('echo 1')", BashHost(bash.workspace, life_ms=60_000)))
    host = BashHost(bash.workspace, change={"token": "t" * 24}, answers={CONSUME: {"ok": 1}})
    assert value(bash("host.bash('echo 1')", host))
    assert value(bash("host.bash('echo 1')", BashHost(bash.workspace, change={"more": 1})))


def test_leave_is_good_once(bash):
    token = "the same token each time"
    host = BashHost(bash.workspace, change={"token": token}, answers={CONSUME: {"ok": True}})
    assert value(bash("host.bash('touch first')", host))
    assert refusal(bash("host.bash('touch second')", host)) == (
        "bash: host capability token replayed"
    )
    assert os.listdir(bash.workspace) == ["first"]
    assert host.methods() == [*ROUND_TRIP, AUTHORIZE]


def test_a_token_counts_as_used_even_if_the_host_did_not_take_it(bash):
    token = "the same token each time"
    host = BashHost(bash.workspace, change={"token": token}, answers={CONSUME: {"ok": False}})
    refusal(bash("host.bash('touch ran')", host))
    host.answers = {CONSUME: {"ok": True}}
    assert refusal(bash("host.bash('touch ran')", host)) == "bash: host capability token replayed"


def test_the_memory_for_tokens_is_bounded():
    module = half.use("bash")
    for number in range(module.MAX_TOKENS + 10):
        module._use_token(f"token {number}")
    assert len(module._tokens) == module.MAX_TOKENS
    with pytest.raises(RuntimeError, match="replayed"):
        module._use_token(f"token {module.MAX_TOKENS + 9}")


def test_a_workdir_outside_of_the_workspace_is_the_host_s_to_allow(bash, tmp_path):
    outside = os.path.realpath(tmp_path / "outside")
    call = f"host.bash('touch ran', workdir={outside!r})"
    text = "bash: host capability does not contain the workdir"
    assert refusal(bash(call, BashHost(bash.workspace))) == text
    assert value(bash(call, BashHost(bash.workspace, allowed_root=outside)))["workdir"] == outside
    assert os.listdir(outside) == ["ran"]


# ---- addresses in the command -------------------------------------------------------------------

FETCH = "host.bash('echo https://a.example/x http://pypi.org')"
EGRESS = [
    # (OPENAI4S_EGRESS in the worker, the host's verdict, the refusal or None)
    ("off", None, None),
    ("off", {"blocked": "a.example", "message": "ask first"}, "ask first"),
    ("off", {"blocked": "a.example"}, "bash: domain a.example is outside the egress allowlist"),
    ("off", ValueError("unknown method"), None),
    ("allowlist", {"blocked": None}, None),
    ("allowlist", None,
     "proxy 403: outbound network access to 'a.example' is blocked by the egress allowlist "
     "(OPENAI4S_EGRESS=allowlist). host.request_network_access(domain='a.example') asks the user "
     "to allow it."),
    ("allowlist", ValueError("unknown method"),
     "proxy 403: outbound network access to 'a.example' is blocked by the egress allowlist "
     "(OPENAI4S_EGRESS=allowlist). host.request_network_access(domain='a.example') asks the user "
     "to allow it."),
]  # fmt: skip


@pytest.mark.parametrize("mode, verdict, text", EGRESS)
def test_the_host_is_asked_for_the_addresses_first(bash, mode, verdict, text):
    bash.worker.execute(f"import os\nos.environ['OPENAI4S_EGRESS'] = {mode!r}")
    host = BashHost(bash.workspace, answers={"egress_check": verdict})
    found = bash(FETCH, host)
    asked = [args for method, args in host.calls if method == "egress_check"]
    assert asked == [[{"domains": ["a.example", "pypi.org"]}]]
    if text is None:
        assert value(found)["exit_code"] == 0
        assert host.methods() == ["egress_check", *ROUND_TRIP]
    else:
        assert refusal(found) == text
        assert host.methods() == ["egress_check"]


# ---- the command ---------------------------------------------------------------------------------


def gone(pid, timeout=20):
    """Wait until there is no such process, or only what is left of it until somebody waits."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        try:
            with open(f"/proc/{pid}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] in "ZX":
                    return True
        except FileNotFoundError:
            return True
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    return False


def test_the_deadline_is_for_all_that_the_shell_started(bash):
    host = BashHost(bash.workspace)
    call = "host.bash('sleep 120 & echo $! > pid; echo begun; wait', timeout=1.5)"
    assert refusal(bash(call, host)) == "bash: timed out after 1.5s"
    assert gone(int((bash.workspace / "pid").read_text()))
    (told,) = host.records
    assert (told["status"], told["stdout"], told["exit_code"]) == ("timed_out", "begun\n", -15)
    assert told["workspace_diff"]["created"] == ["pid"]


def test_a_job_in_the_background_does_not_outlive_the_deadline(bash):
    host = BashHost(bash.workspace)
    call = "host.bash('sleep 120 >/dev/null 2>&1 & echo $! > pid; exit 0', timeout=1.5)"
    begun = time.monotonic()
    assert refusal(bash(call, host)) == "bash: timed out after 1.5s"
    assert time.monotonic() - begun >= 1.5
    assert gone(int((bash.workspace / "pid").read_text()))


def test_what_does_not_listen_to_sigterm_is_killed(bash):
    host = BashHost(bash.workspace)
    call = "host.bash('trap \"\" TERM; echo $$ > pid; while :; do sleep 1; done', timeout=1)"
    assert refusal(bash(call, host)) == "bash: timed out after 1s"
    assert gone(int((bash.workspace / "pid").read_text()))
    assert host.records[0]["exit_code"] == -9


def test_the_answer_waits_for_the_output_of_a_job_in_the_background(bash):
    call = "host.bash('(sleep 0.5; echo later) & echo now')"
    assert value(bash(call, BashHost(bash.workspace)))["stdout"] == "now\nlater\n"


def test_a_process_in_a_session_of_its_own_is_not_waited_for(bash):
    call = "host.bash('setsid sleep 60 & echo $! > pid; sleep 0.2; echo done', timeout=30)"
    begun = time.monotonic()
    found = value(bash(call, BashHost(bash.workspace)))
    assert (found["stdout"], time.monotonic() - begun < 20) == ("done\n", True)
    os.kill(int((bash.workspace / "pid").read_text()), signal.SIGKILL)


def test_one_that_nobody_waits_for_is_not_waited_for_either(bash):
    """The worker stands for a process 1 that waits for nobody: orphans become its children."""
    code = "import ctypes\nctypes.CDLL(None).prctl(36, 1, 0, 0, 0)"  # PR_SET_CHILD_SUBREAPER
    assert bash.worker.execute(code)["error"] is None
    begun = time.monotonic()
    found = value(bash("host.bash('sleep 0.3 & echo $!', timeout=30)", BashHost(bash.workspace)))
    assert (found["exit_code"], time.monotonic() - begun < 20) == (0, True)
    with open(f"/proc/{int(found['stdout'])}/stat") as file:
        assert file.read().rpartition(")")[2].split()[0] == "Z"  # or the test shows nothing


def test_an_interrupt_ends_the_command_and_the_cell(bash):
    host = BashHost(bash.workspace)
    worker = bash.worker
    cell = worker.start("host.bash('sleep 120 & echo $! > pid; wait; touch after')")
    pid = bash.workspace / "pid"

    def interrupt(call, host):
        worker.answer(call, host)
        if call["method"] == CONSUME:
            deadline = time.monotonic() + 30
            while not (pid.exists() and pid.read_text().endswith("\n")):
                assert time.monotonic() < deadline
                time.sleep(0.02)
            worker.interrupt_main_thread()

    found = worker.finish(cell, host, interrupt)
    assert (found["interrupted"], found["error"]) == (True, "Interrupted")
    assert gone(int(pid.read_text()))
    assert not (bash.workspace / "after").exists()
    assert host.methods() == ROUND_TRIP[:2]  # the end of the cell does not wait for the host
    worker.alive()


TAILS = [
    # (characters on stdout and stderr, how many are kept)
    (30_000, 30_000, 8_000, 8_000),
    (30_001, 30_000, 8_001, 8_000),
    (5_000_000, 30_000, 3_000_000, 8_000),
]


@pytest.mark.parametrize("out, kept_out, err, kept_err", TAILS)
def test_of_the_output_the_end_is_kept(bash, out, kept_out, err, kept_err):
    (bash.workspace / "write.py").write_text(
        f"import sys\nsys.stdout.write('z' * {out - 4} + 'ENDé')\n"
        f"sys.stderr.write('y' * {err - 3} + 'END')\n"
    )
    host = BashHost(bash.workspace)
    found = value(bash("host.bash('PYTHONIOENCODING=utf-8 python3 write.py', timeout=60)", host))
    for name, seen, kept, end in (
        ("stdout", out, kept_out, "ENDé"), ("stderr", err, kept_err, "END"),
    ):  # fmt: skip
        assert len(found[name]) == kept and found[name].endswith(end)
        assert {what: found[f"{name}_{what}"] for what in
                ("seen_chars", "retained_chars", "dropped_chars", "truncated")} == {
            "seen_chars": seen, "retained_chars": kept, "dropped_chars": seen - kept,
            "truncated": seen > kept,
        }  # fmt: skip
    assert host.records[0]["stdout_dropped_chars"] == out - kept_out


def test_output_that_is_no_text_is_shown_as_well_as_can_be(bash):
    call = r"""host.bash("printf 'a\\377b\\r\\n\\303'")"""
    assert value(bash(call, BashHost(bash.workspace)))["stdout"] == "a\ufffdb\r\n\ufffd"


def test_a_command_cannot_read_the_requests(bash):
    assert value(bash("host.bash('cat; echo $?')", BashHost(bash.workspace)))["stdout"] == "0\n"
    bash.worker.alive()


@pytest.mark.parametrize("character", ["\\ud800", "\\udcff"])
def test_a_command_that_the_host_cannot_see_as_it_is_does_not_run(bash, character):
    """No frame can carry half a surrogate pair: the host is shown another text, with our digest."""
    host = BashHost(bash.workspace)
    text = refusal(bash(f"host.bash('touch ran; echo {character}')", host))
    assert text == (
        UNAVAILABLE + "host.authorize_bash error: bash authorization: command digest mismatch"
    )
    assert os.listdir(bash.workspace) == []


def test_a_workdir_that_has_gone(bash):
    worker = bash.worker
    worker.execute("import os\nos.mkdir('gone')\nos.chdir('gone')\nos.rmdir('../gone')")
    host = BashHost(bash.workspace)
    assert refusal(bash("host.bash('true')", host)) == "bash: workdir not found: ."
    assert host.methods() == []


def test_a_command_that_cannot_be_started_is_told_to_the_host(bash):
    host = BashHost(bash.workspace)
    text = refusal(bash("host.bash('true ' + 'x' * 3_000_000)", host))
    assert text.startswith("bash: failed to launch command: [Errno 7] Argument list too long")
    assert host.methods() == ROUND_TRIP
    assert (host.records[0]["status"], host.records[0]["exit_code"]) == ("launch_failed", -1)
    assert "Argument list too long" in host.records[0]["stderr"]


RECORDS = [ValueError("full"), None, {"ok": False}, {"error": "no such token"}]


@pytest.mark.parametrize("answer", RECORDS)
def test_a_host_that_does_not_take_the_record(bash, answer):
    found = value(bash("host.bash('echo 1')", BashHost(bash.workspace, answers={RECORD: answer})))
    assert (found["stdout"], found["audit_recorded"]) == ("1\n", False)


def test_a_command_that_is_ended_by_a_signal(bash):
    call = "host.bash('kill -USR1 $$')"
    found = value(bash(call, BashHost(bash.workspace)))
    assert found["exit_code"] == -signal.SIGUSR1


def test_threads_can_run_commands_at_once(bash):
    code = """\
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(4) as pool:
    print(sorted(pool.map(lambda n: host.bash(f'echo {n}')['stdout'].strip(), range(8))))
"""
    host = BashHost(bash.workspace)
    found = bash.worker.execute(code, host=host)
    assert found["stdout"] == f"{[str(number) for number in range(8)]}\n"
    assert sorted(host.methods()) == sorted(ROUND_TRIP * 8)


def test_a_kernel_without_pidfds(tmp_path, monkeypatch):
    process = half.use("bash_process")

    def refuse(pid):
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(os, "pidfd_open", refuse)
    done = process.Command("sleep 0.2; echo 1; exec >/dev/null 2>&1; sleep 0.2", tmp_path, 30)
    assert (done.status, done.code, done.stdout.text) == ("completed", 0, "1\n")
    assert process.Command("sleep 60", tmp_path, 0.3).status == "timed_out"


def test_no_descriptor_is_left(bash):
    host = BashHost(bash.workspace, answers={})
    listing = "import os\nprint(sorted(os.listdir('/proc/self/fd')))"
    value(bash("host.bash('true')", host))
    before = bash.worker.execute(listing)["stdout"]
    for call in ("host.bash('true')", "host.bash('sleep 60', timeout=0.2)",
                 "host.bash('true ' + 'x' * 3_000_000)"):  # fmt: skip
        bash(call, host)
    assert bash.worker.execute(listing)["stdout"] == before


def test_the_worker_reads_nothing_by_the_cell_s_open(bash):
    """Which may ask the host where a file comes from."""
    code = """\
import builtins
opened = []
builtins.open = lambda *arguments, real=open, **keywords: (
    opened.append(arguments), real(*arguments, **keywords))[1]
"""
    assert bash.worker.execute(code)["error"] is None
    value(bash("host.bash('sleep 0.3 & echo 1 > file')", BashHost(bash.workspace)))
    assert bash.worker.execute("print(opened)")["stdout"] == "[]\n"
