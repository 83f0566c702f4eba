"""The first frames, and how a session ends."""

import os
import sys

import pytest

import half
from client import KEY, RESPONSE_KEYS, library_beside, pong


def test_the_host_shakes_hands_first(start):
    worker = start(initialize=False)
    worker.send({"type": "initialize", "id": "i-7", "skill_attestation_key": KEY})
    assert worker.read() == {"type": "initialized", "id": "i-7"}
    worker.alive()


@pytest.mark.parametrize(
    "request_, answer",
    [
        ({"type": "execute", "id": "x", "code": "1"}, ("x", "missing")),
        ({"type": "initialize", "id": "x"}, ("x", "missing")),
        ({"type": "initialize", "skill_attestation_key": KEY, "id": 5}, (5, None)),
        ({"type": "initialize", "skill_attestation_key": 5}, ("unknown", "missing")),
        ([1], ("unknown", "missing")),
        ({"type": "initialize", "id": "x", "skill_attestation_key": "zz"}, ("x", "invalid")),
        ({"type": "initialize", "id": "x", "skill_attestation_key": KEY[:-2]}, ("x", "invalid")),
        ({"type": "initialize", "id": "x", "skill_attestation_key": KEY + "00"}, ("x", "invalid")),
    ],
)
def test_a_wrong_first_frame_is_refused_and_ends_the_worker(start, request_, answer):
    worker = start(initialize=False)
    worker.send(request_)
    identity, what = answer
    if what is None:
        assert worker.read() == {"type": "initialized", "id": identity}
        return
    assert worker.read() == {
        "type": "initialization_error",
        "id": identity,
        "error": f"{what} manager attestation handshake",
    }
    assert worker.read() is None
    assert worker.wait() == 0


def test_a_hook_that_cannot_be_armed_is_told_and_the_handshake_refused(monkeypatch):
    hooks = half.use("hooks")
    monkeypatch.setattr(hooks.skills, "install", lambda key: 1 / 0)
    request = {"type": "initialize", "id": "x", "skill_attestation_key": KEY}
    assert hooks.handshake(request) == (
        False,
        {"type": "initialization_error", "id": "x", "error": "invalid manager attestation handshake"},
    )
    assert half.runner.frames == [{"type": "log", "msg": "audit hook unavailable: division by zero"}]


@pytest.mark.parametrize("line", [b"no json", b"\xff{}", b'{"type":', None])
def test_no_json_at_first_ends_the_worker_without_a_word(start, line):
    worker = start(initialize=False)
    if line is None:
        worker.process.stdin.close()
    else:
        worker.send(line)
    assert worker.read() is None
    assert worker.wait() == 0


def test_it_ends_by_shutdown_and_by_the_end_of_its_input(start):
    worker = start()
    worker.shut_down()
    worker = start()
    worker.process.stdin.close()
    assert worker.wait() == 0
    assert worker.read() is None
    assert worker.stderr() == ""


def test_a_last_line_without_its_newline_counts(start):
    worker = start()
    os.write(worker.to_worker, b'{"id":"last","code":"print(5)"}')
    worker.process.stdin.close()
    assert worker.finish("last")["stdout"] == "5\n"
    assert worker.wait() == 0


def test_atexit_handlers_run_and_threads_do_not_hold_the_end_up(start):
    worker = start(env={"ASAN_OPTIONS": "detect_leaks=0"})  # the thread's objects stay behind
    worker.execute(
        "import atexit, threading, time, sys\n"
        "atexit.register(lambda: print('at the end', file=sys.__stderr__, flush=True))\n"
        "threading.Thread(target=time.sleep, args=(3600,)).start()"
    )
    worker.shut_down()
    assert "at the end" in worker.stderr()


def test_pid_and_group_are_those_that_were_spawned(start):
    worker = start()
    result = worker.execute("import os\nprint(os.getpid(), os.getpgid(0), os.getsid(0))")
    assert result["stdout"].split() == [str(worker.pid)] * 3
    assert worker.execute("print(os.getppid())")["stdout"].strip() == str(os.getpid())


def test_it_survives_interrupts_from_its_first_moment_on(start):
    """As soon as there is Python, long before that is ready."""
    for _ in range(5):
        worker = start(initialize=False)
        while b"--library" not in (line := command_line(worker)) and b"-uPc" not in line:
            pass
        for _ in range(20):
            worker.interrupt()
        worker.send({"type": "initialize", "id": "i", "skill_attestation_key": KEY})
        assert worker.read()["type"] == "initialized"
        for _ in range(20):
            worker.interrupt()
        worker.alive()


def command_line(worker):
    with open(f"/proc/{worker.pid}/cmdline", "rb") as file:
        return file.read()


def test_the_response_has_its_keys(start):
    worker = start()
    result = worker.execute("print('shape')")
    assert set(result) == RESPONSE_KEYS
    assert result["type"] == "response" and result["interrupted"] is False
    assert set(result["trace"]) == {"error_lineno", "error_call"}
    assert result["guards"] == {} and result["files_read"] == []


def test_the_python_that_leads_path_is_run(start):
    directory = os.path.dirname(sys.executable)
    worker = start(env={"PATH": directory + os.pathsep + os.environ["PATH"]})
    result = worker.execute("import sys\nprint(sys.executable)")
    assert os.path.dirname(result["stdout"].strip()) == directory


@pytest.mark.parametrize("library", [[], ["--libpython", library_beside(sys.executable)]], ids=["itself", "library"])
def test_a_python_is_named(start, library):
    arguments = ["--python", sys.executable, *library]
    worker = start(arguments=arguments)
    result = worker.execute("import sys\nprint(sys.prefix, sys.__stdout__.write_through, sys.argv, sys.path[0])")
    prefix, unbuffered, argv, first = result["stdout"].split()
    assert (prefix, unbuffered, argv) == (sys.prefix, "True", "['']")
    assert first != worker.execute("import os\nprint(os.getcwd())")["stdout"].strip()
    assert worker.execute("host._call('ping', [])", host=pong)["stdout"] == "'pong'\n"


def test_a_python_that_is_not_there_is_told_on_stderr(start):
    worker = start(arguments=["--python", "/no/such/python"], initialize=False)
    assert worker.read() is None
    assert worker.wait() != 0
    assert "/no/such/python" in worker.stderr()
