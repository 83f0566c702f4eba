"""
Issue 5, "Nothing taken for granted": a kernel starts and runs cells in surroundings that are not
as they should be, and says in one line what it cannot do without.
"""

import resource
import socket
import subprocess
import sys
import time

import pytest
import zmq

from client import EINKORN, PYTHON, text, within
from ways_in import chosen
from processes import cpu_seconds


def through(code):
    """A launcher that runs Python statements and then becomes the kernel."""
    return [sys.executable, "-c", f"import os, signal, resource, sys\n{code}\n"
            "os.execv(sys.argv[1], sys.argv[1:])"]


def serves(kernel):
    """All that a first cell may need: result, output, an error, a child, await, completion."""
    assert kernel.run("1 + 1") == [("result", text("2"))]
    assert kernel.run("print('ü')\nimport os\nrc = os.system('echo child')") == [
        ("stdout", "ü\nchild\n")]
    assert kernel.fail("1 / 0").error == ("ZeroDivisionError", "division by zero")
    assert kernel.run("import asyncio\nawait asyncio.sleep(0.001)\n3") == [("result", text("3"))]
    reply = kernel.ask("shell", "complete_request", {"code": "os.getpi", "cursor_pos": 8})
    assert any("getpid" in match for match in reply.content["matches"]), reply


def seen_by_both(kernel, other, code, last):
    """A cell of another client, which then goes: both see all of it."""
    other.welcome()
    kernel.take("iopub", lambda m: m.type == "iopub_welcome")
    msg_id = other.send_execute(code)
    assert other.finish_execute(msg_id, code).outputs[-1] == last
    kernel.iopub(msg_id)
    other.close()


# --- files ---------------------------------------------------------------------------


HOMES = {"missing": {"HOME": "/nonexistent"}, "read-only": {"HOME": "/proc/self"},
         "empty": {"HOME": ""}, "no TMPDIR": {"TMPDIR": "/nonexistent"},
         "no XDG": {"XDG_RUNTIME_DIR": "/nonexistent", "XDG_DATA_HOME": "/nonexistent"},
         "runtime": {"JUPYTER_RUNTIME_DIR": "/proc/self/none", "IPYTHONDIR": "/proc/self/none"}}


@pytest.mark.parametrize("name", HOMES)
def test_directories_that_cannot_be_used(start, name):
    """Issue: read-only HOME; and its brothers."""
    kernel = start(env=HOMES[name])
    kernel.expect_log(r"einkorn: history: .*/none/.*; this session's stays in memory")
    serves(kernel)


def test_home_and_all_else_is_unset(start, tmp_path):
    """Not one variable: no HOME, PATH, LANG, USER. (The home is then the system's to tell.)"""
    code = "for name in list(os.environ): del os.environ[name]"
    serves(start(launcher=through(code), args=["--profile-dir", str(tmp_path)]))


SHADOWS = ["random", "code", "email", "io", "signal", "asyncio", "contextvars", "threading",
           "faulthandler", "linecache", "types", "traceback", "atexit", "json", "inspect",
           "einkorn", "_einkorn", "site", "sitecustomize_", "codecs", "ast", "tokenize", "re"]


def test_files_of_the_working_directory_shadow_nothing_of_ours(start, tmp_path):
    """Issue: random.py, code.py, email.py, io.py and their kin. What the user asks for he gets."""
    for name in SHADOWS:
        (tmp_path / f"{name}.py").write_text(f"raise SystemExit('{name} of the directory')\n")
    (tmp_path / "wave.py").write_text("mine = True\n")  # a name that nobody has imported yet
    (tmp_path / "display.py").write_text("raise SystemExit(3)\n")
    kernel = start(cwd=tmp_path)
    assert kernel.run("1 + 1") == [("result", text("2"))]
    assert kernel.fail("1 / 0").error[0] == "ZeroDivisionError"
    assert kernel.run("import wave\nwave.mine") == [("result", text("True"))]
    kernel.ask("shell", "complete_request", {"code": "pri", "cursor_pos": 3})
    kernel.ask("shell", "inspect_request", {"code": "print", "cursor_pos": 3, "detail_level": 0})
    kernel.ask("shell", "is_complete_request", {"code": "for x in y:"})
    kernel.ask("shell", "history_request", {"hist_access_type": "tail", "n": 3})
    assert kernel.run("print(1)") == [("stdout", "1\n")]


@pytest.mark.parametrize("way", ["deleted", "unreadable"])
def test_a_working_directory_that_is_of_no_use(start, tmp_path, way):
    place = tmp_path / "place"
    place.mkdir()
    code = ("os.rmdir(os.getcwd())" if way == "deleted" else "os.chmod(os.getcwd(), 0)")
    kernel = start(launcher=through(code), cwd=place)
    assert kernel.run("1 + 1") == [("result", text("2"))]
    code = "print('x')\nimport subprocess\nsubprocess.run(['echo', 'y']).returncode"
    assert kernel.run(code) == [("stdout", "x\ny\n"), ("result", text("0"))]
    assert kernel.fail("1 / 0").error[0] == "ZeroDivisionError"
    assert kernel.fail("open('none')").error[0] == "FileNotFoundError"
    if way == "unreadable":
        place.chmod(0o700)


def test_a_umask_that_takes_everything(start):
    serves(start(launcher=through("os.umask(0o777)")))


def test_a_connection_file_that_is_made_under_that_umask_is_ours_to_read(start):
    kernel = start(ports=[0] * 5, launcher=through("os.umask(0o777)"))
    assert kernel.run("1") == [("result", text("1"))]


def test_the_connection_file_may_vanish(start):
    """Issue: after start."""
    kernel = start()
    kernel.file.unlink()
    serves(kernel)
    kernel.stop()
    assert not kernel.file.exists()


# --- file descriptors ------------------------------------------------------------------


@pytest.mark.parametrize("closed", [[0], [1], [2], [0, 1], [1, 2], [0, 1, 2]], ids=str)
def test_closed_standard_files(start, closed):
    """Issue: closed stdin; and its brothers."""
    kernel = start(launcher=through("".join(f"os.close({fd});" for fd in closed)))
    serves(kernel)
    assert kernel.run("os.fstat(0).st_rdev == os.stat('/dev/null').st_rdev") == [
        ("result", text("True"))]


def limit(soft, hard):
    return f"resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))"


def limits_of(pid):
    return resource.prlimit(pid, resource.RLIMIT_NOFILE)


def test_the_soft_limit_is_raised_to_the_hard_one(start):
    """Issue: ulimit -n 64. In the kernel process; cells and their children keep what they had."""
    kernel = start(launcher=through(limit(64, 4096)))
    serves(kernel)
    assert limits_of(kernel.pid) == (4096, 4096)
    assert limits_of(kernel.worker) == (64, 4096)
    assert kernel.run("import resource\nresource.getrlimit(resource.RLIMIT_NOFILE)") == [
        ("result", text("(64, 4096)"))]


def test_a_python_that_takes_a_dead_ones_place_has_the_soft_limit_too(start):
    kernel = start(launcher=through(limit(64, 4096)), args=["--on-death", "restart"])
    kernel.expect_log(r"einkorn: Python ended with exit status 3.*; the report is .*")
    kernel.fail("import os\nos._exit(3)")
    for state in "restarting", "idle":
        kernel.take("iopub", lambda m: m.parent == {} and m.state == state)
    assert kernel.run("import resource\nresource.getrlimit(resource.RLIMIT_NOFILE)")[-1] == (
        "result", text("(64, 4096)"))


def test_sixty_four_files_are_enough(start):
    """Issue: ulimit -n 64, with no more to be had; two clients."""
    kernel = start(launcher=through(limit(64, 64)))
    serves(kernel)
    seen_by_both(kernel, kernel.connect(), "print('x' * 900_000)\nimport subprocess\n"
                 "subprocess.run(['true']).returncode", ("result", text("0")))


def test_fewer_than_sixty_four_are_refused_in_one_line(tmp_path):
    """Issue: below 64 it says so."""
    done = subprocess.run([*through(limit(63, 63)), EINKORN, "kernel", "-f",
                           str(tmp_path / "c.json"), *chosen(PYTHON)],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30)
    assert done.returncode == 1 and done.stdout == ""
    line, = done.stderr.splitlines()
    assert line.startswith("einkorn: ") and "63" in line and "64" in line and "ulimit" in line


def test_more_clients_than_files(start):
    """
    Issue: at EMFILE accepting pauses and does not spin. Who is connected is served meanwhile, cells
    have the files that they need, and when some have gone others are let in.
    """
    kernel = start(launcher=through(limit(64, 64)))
    endpoint = ("127.0.0.1", kernel.connection["shell_port"])
    crowd = [socket.create_connection(endpoint) for _ in range(150)]
    try:
        assert kernel.run("1 + 1") == [("result", text("2"))]
        before = cpu_seconds(kernel.pid)
        assert kernel.run("import time\ntime.sleep(2)\n3") == [("result", text("3"))]
        assert cpu_seconds(kernel.pid) - before < 0.5
        large = kernel.run("import _einkorn\nfrom IPython.display import HTML\n"
                           "display(HTML('x' * 3_000_000))")
        assert len(large[0][1]["text/html"]) == 3_000_000
        assert kernel.interrupt().content == {"status": "ok"}
    finally:
        for each in crowd:
            each.close()
    seen_by_both(kernel, kernel.connect(), "4", ("result", text("4")))
    kernel.expect_log(r"einkorn: .*files.*")


def test_more_clients_than_files_that_come_again(start):
    """The same with clients of ZeroMQ, which connect anew, ten times a second each."""
    kernel = start(launcher=through(limit(64, 64)))
    kernel.expect_log(r"einkorn: .*files.*")
    context = zmq.Context()
    context.max_sockets = 200
    for _ in range(100):
        crowd = context.socket(zmq.DEALER)
        crowd.linger = 0
        crowd.connect(kernel.endpoint("shell"))
    try:
        before = cpu_seconds(kernel.pid)
        assert kernel.run("import time\ntime.sleep(2)\n3") == [("result", text("3"))]
        assert cpu_seconds(kernel.pid) - before < 0.5
        serves(kernel)
    finally:
        context.destroy(linger=0)
    seen_by_both(kernel, kernel.connect(), "4", ("result", text("4")))


# --- signals -----------------------------------------------------------------------------


@pytest.mark.parametrize("code", [
    "signal.signal(signal.SIGINT, signal.SIG_IGN)",
    "signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals))",
    "for n in (1, 2, 3, 10, 12, 13, 14, 15, 17): signal.signal(n, signal.SIG_IGN)",
], ids=["ignored", "all blocked", "all ignored"])
def test_signals_that_are_ignored_or_blocked_at_start(start, code):
    """Issue: SIGINT ignored at start; children's ends are seen although SIGCHLD was ignored."""
    kernel = start(launcher=through(code))
    serves(kernel)
    cell = kernel.started("import time\nprint('go')\ntime.sleep(60)")
    kernel.interrupt()
    assert kernel.finished(cell, timeout=5).error == ("KeyboardInterrupt", "")
    assert kernel.run("import subprocess\nsubprocess.run(['sh', '-c', 'exit 3']).returncode") == [
        ("result", text("3"))]
    kernel.process.terminate()
    assert kernel.exit_status(3) == 0
    kernel.check_gone()


# --- Python's own variables, and the locale ----------------------------------------------


def test_startup_files_of_the_prompt_are_not_run(start, tmp_path):
    """PYTHONSTARTUP belongs to the interactive prompt."""
    file = tmp_path / "startup.py"
    file.write_text("raise SystemExit(9)\n")
    serves(start(env={"PYTHONSTARTUP": str(file)}))


def test_python_does_not_stay_to_be_inspected(start):
    """PYTHONINSPECT would make it a prompt at the end, and hold the exit."""
    kernel = start(env={"PYTHONINSPECT": "1"})
    serves(kernel)
    begin = time.monotonic()
    kernel.request_shutdown()
    kernel.check_gone()
    assert time.monotonic() - begin < within(1.5)


VARIABLES = {
    "warnings": {"PYTHONWARNINGS": "error", "PYTHONWARNDEFAULTENCODING": "1"},
    "optimized": {"PYTHONOPTIMIZE": "2", "PYTHONNODEBUGRANGES": "1"},
    "developer": {"PYTHONDEVMODE": "1", "PYTHONTRACEMALLOC": "1", "PYTHONASYNCIODEBUG": "1"},
    "debug malloc": {"PYTHONMALLOC": "debug", "MALLOC_ARENA_MAX": "1", "MALLOC_PERTURB_": "165"},
    "isolated": {"PYTHONSAFEPATH": "1", "PYTHONNOUSERSITE": "1", "PYTHONDONTWRITEBYTECODE": "1",
                 "PYTHONHASHSEED": "0", "PYTHONUNBUFFERED": "1"},
    "faulthandler": {"PYTHONFAULTHANDLER": "1", "PYTHONBREAKPOINT": "0",
                     "PYTHONINTMAXSTRDIGITS": "640"},
    "nowhere": {"PYTHONPATH": "/none:/x", "PYTHONPYCACHEPREFIX": "/nonexistent",
                "PYTHONUSERBASE": "/nonexistent", "OPENSSL_CONF": "/nonexistent", "TZ": "nowhere"},
    "UTF-8": {"PYTHONUTF8": "1"},
    "ASCII": {"PYTHONIOENCODING": "ascii", "TERM": "dumb"},
    "LANG=C": {"LANG": "C"},
    "LC_ALL=POSIX": {"LC_ALL": "POSIX"},
    "no UTF-8 at all": {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
    "no such locale": {"LC_ALL": "nonsense"},
    "odd user": {"USER": 'a"b\\c\n' + "ü" * 300},
}


@pytest.mark.parametrize("name", VARIABLES)
def test_variables_of_the_environment(start, name):
    """Issue: PYTHONWARNINGS=error, LANG=C; and their brothers."""
    serves(start(env=VARIABLES[name]))


# --- the machine ---------------------------------------------------------------------------


def unshared(setup):
    """A launcher in a mount namespace of its own, in which `setup` was done; needs root."""
    return ["unshare", "--mount", "sh", "-c", f'{setup} && exec "$@"', "sh"]


can_unshare = subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode == 0


def test_without_shared_memory(start, tmp_path):
    """Issue: no /dev/shm. Where namespaces can be made it is hidden, else it is not asked for."""
    launcher = unshared("mount -t tmpfs -o size=0,mode=0 none /dev/shm") if can_unshare else ()
    kernel = start(launcher=launcher, env={"TMPDIR": str(tmp_path / "none")})
    serves(kernel)
    open_files = subprocess.run(["ls", "-l", f"/proc/{kernel.pid}/fd", f"/proc/{kernel.worker}/fd"],
                                text=True, capture_output=True).stdout
    assert "/dev/shm" not in open_files


def test_a_full_disk(start, tmp_path):
    """TMPDIR, HOME and the runtime directory have no room, not for a byte."""
    if not can_unshare:
        place, launcher = "/dev/full", ()
    else:
        place = tmp_path / "full"
        place.mkdir()
        launcher = unshared(f"mount -t tmpfs -o size=4k none '{place}' && "
                            f"! head -c 100000 /dev/zero 2>/dev/null > '{place}/filler'")
    env = dict.fromkeys(("TMPDIR", "HOME", "JUPYTER_RUNTIME_DIR", "XDG_RUNTIME_DIR"), str(place))
    serves(start(launcher=launcher, env=env))


def test_a_prefix_of_any_letters(start, tmp_path):
    """Issue: a non-ASCII prefix: the environment's, in any locale."""
    place = tmp_path / "Ümlaut ☃ 環境"
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", place], check=True)
    for env in ({}, {"LC_ALL": "C"}, {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0"}):
        kernel = start(python=str(place / "bin" / "python"), env=env)
        serves(kernel)
        assert kernel.run("import sys\nsys.prefix") == [("result", text(repr(str(place))))]
