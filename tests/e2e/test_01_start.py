"""
Issue 1, "Kernel process": the first contact. Sockets, kernel_info, heartbeat,
welcome, the connection file and what is refused on the command line.
"""

import contextlib
import json
import os
import re
import socket
import stat
import subprocess
import time

import pytest

from client import (CHANNELS, EINKORN, PORTS, PYTHON, Client, compact, descendants_of, port_is_free,
                    run_kernel, text, wait_for_file, within)
from ways_in import chosen

LOCAL_FILE = {"transport": "tcp", "ip": "127.0.0.1", "key": "k", "signature_scheme": "hmac-sha256"}


def python_version():
    code = "import platform; print(platform.python_version())"
    return subprocess.run([PYTHON, "-c", code], text=True, capture_output=True).stdout.strip()


def refused(result):
    """Exit status 2 and one line. -> the line"""
    assert result.returncode == 2, result
    assert result.stdout == "", result
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("einkorn: "), lines
    return lines[0]


# --- kernel_info ------------------------------------------------------------


def test_kernel_info_is_answered(kernel):
    """Busy, reply, idle on shell; the fixture has waited for the welcome."""
    assert kernel.info.type == "kernel_info_reply"
    assert kernel.info.content["status"] == "ok"


@pytest.mark.parametrize("channel", ["shell", "control"])
def test_kernel_info_says_what_clients_look_for(kernel, channel):
    """peers 7.1: what front ends read; the version is that of the Python that runs."""
    kernel.run("pass")  # Python's version is known from now on at the latest
    content = kernel.kernel_info(channel).content
    assert set(content) == {"status", "protocol_version", "implementation", "debugger", "banner",
                            "implementation_version", "language_info", "help_links",
                            "supported_features"}
    assert content["status"] == "ok"
    assert content["protocol_version"] == "5.5"
    assert content["implementation"] == "einkorn"
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", content["implementation_version"])
    assert content["language_info"] == {
        "name": "python",
        "version": python_version(),
        "mimetype": "text/x-python",
        "file_extension": ".py",
        "pygments_lexer": "ipython3",
        "codemirror_mode": {"name": "ipython", "version": 3},
        "nbconvert_exporter": "python",
    }
    assert type(content["banner"]) is str and content["banner"] != ""
    assert content["debugger"] is False
    assert content["supported_features"] == []
    assert all(set(link) == {"text", "url"} for link in content["help_links"])


def test_many_kernel_infos_on_both_channels_at_once(kernel):
    """Any number of times, concurrently; each has its own busy and idle."""
    asked = [(channel, kernel.send(channel, "kernel_info_request", {}))
             for channel in ("shell", "control") * 20]
    for channel, msg_id in asked:
        assert kernel.finish(msg_id, channel).reply.content["status"] == "ok"


def test_connect_request_tells_the_ports(kernel):
    """Five ports."""
    content = kernel.ask("shell", "connect_request").content
    ports = {f"{name}_port": kernel.connection[f"{name}_port"] for name in CHANNELS}
    assert {k: v for k, v in content.items() if k != "status"} == ports
    assert content.get("status", "ok") == "ok"


def test_the_first_cell_runs(kernel):
    assert kernel.run("6 * 7") == [("result", text("42"))]


def test_heartbeat_echoes_any_bytes(kernel):
    """"""
    for data in (b"ping", b"", b"\0\xff" * 500, b"x" * 100_000):
        assert kernel.ping(data) == data


# --- IOPub: welcome and starting --------------------------------------------


def test_every_subscriber_is_welcomed(kernel):
    """peers 7.5, XPUB_VERBOSE: the second and the third "" subscriber too; parent {}."""
    for _ in range(3):
        other = kernel.connect(channels=("iopub",))
        welcome = other.welcome()
        assert welcome.content == {"subscription": ""}
        assert welcome.parent == {} and welcome.metadata == {}
        assert welcome.identities == [b""]
        other.close()
    assert len(kernel.queue["iopub"]) <= 3  # they go to whoever listens to ""
    assert all(m.type == "iopub_welcome" for m in kernel.queue["iopub"])
    kernel.kernel_info()
    late = [m for m in kernel.queue["iopub"] if m.type == "iopub_welcome"]
    assert len(late) == 3
    kernel.queue["iopub"].clear()


def test_a_topic_is_welcomed_by_its_name(kernel):
    """JEP 65: the frame before the delimiter is the subscription. Other topics stay away."""
    other = kernel.connect(channels=("iopub",), topics=(b"nothing.", b"else."))
    welcomes = [other.welcome(), other.welcome()]
    assert sorted(m.content["subscription"] for m in welcomes) == ["else.", "nothing."]
    assert all(m.identities == [m.content["subscription"].encode()] for m in welcomes)
    kernel.run("1")
    assert other.silence("iopub")
    other.close()
    kernel.queue["iopub"] = [m for m in kernel.queue["iopub"] if m.type != "iopub_welcome"]


def test_a_topic_that_is_not_utf8_is_ignored(kernel):
    """Non-UTF-8 topics are ignored; the subscription itself works."""
    other = kernel.connect(channels=("iopub",), topics=(b"\xff\xfe",))
    kernel.run("1")
    assert other.silence("iopub")
    other.close()


def test_starting_is_said_once_at_most_to_one_subscriber_and_first(fresh):
    """
    : `starting` once per process, with no parent. A client that
    subscribes after it has been sent does not see it, so none is right too.
    """
    fresh.run("1")
    fresh.kernel_info("control")
    assert len(fresh.starting) <= 1
    assert not [m for m in fresh.arrived if m.state in ("restarting", "dead")]


# --- the connection file ----------------------------------------------------


@pytest.mark.parametrize("options, host", [
    ({"transport": "ipc"}, None),
    ({"ip": "::1"}, "::1"),
    ({"ip": "*"}, "127.0.0.1"),
    ({"ip": "0.0.0.0"}, "127.0.0.1"),
], ids=["ipc", "ipv6", "star", "any"])
def test_every_kind_of_address_works(start, options, host):
    """The five sockets at exactly the connection file's addresses (tcp, ipc, IPv6, *)."""
    kernel = start(**options)
    assert kernel.run("print('here')") == [("stdout", "here\n")]
    assert kernel.ping() == b"ping"
    assert kernel.ask("control", "kernel_info_request").content["status"] == "ok"
    if host:
        assert not any(port_is_free(kernel.connection[f"{n}_port"], host) for n in CHANNELS)
    else:
        sockets = [f"{kernel.connection['ip']}-{n}" for n in range(1, 6)]
        assert all(stat.S_ISSOCK(os.stat(p).st_mode) for p in sockets)
        kernel.stop()
        Client.close(kernel)  # its subscription would come back here, and be welcomed to all
        again = start(transport="ipc", ip=kernel.connection["ip"])
        assert again.run("1") == [("result", text("1"))]


def test_a_relative_ipc_prefix_means_the_kernels_directory(start, tmp_path):
    """The kernel makes it absolute at once, whatever cells do with cwd."""
    kernel = start(transport="ipc", ip="rel", cwd=tmp_path, ready=False)
    for name in list(kernel.sockets):
        kernel.sockets.pop(name).close()
    kernel.connection["ip"] = str(tmp_path / "rel")
    kernel.sockets.update({n: kernel._open(n, (b"",)) for n in CHANNELS})
    kernel.welcome()
    assert kernel.run("import os; os.chdir('/'); print(1)") == [("stdout", "1\n")]


def test_port_0_is_chosen_and_written_back(start):
    """C055 C; unknown keys are kept and the mode stays 0600."""
    kernel = start(ports=[0] * 5, extra_key={"a": [1, "ü"]})
    after = json.loads(kernel.file.read_text())
    ports = [after[f"{name}_port"] for name in CHANNELS]
    assert len(set(ports)) == 5 and all(0 < p < 65536 for p in ports)
    assert after["extra_key"] == {"a": [1, "ü"]}
    assert after["key"] == kernel.connection["key"] and after["ip"] == "127.0.0.1"
    assert stat.S_IMODE(kernel.file.stat().st_mode) == 0o600
    assert kernel.run("print('started')") == [("stdout", "started\n")]
    kernel.stop()
    assert kernel.file.exists()  # it was not ours to remove


def test_given_ports_stay_beside_chosen_ones(start):
    """Only the zeros are chosen."""
    shell, = PORTS.take(1)
    kernel = start(ports=[shell, 0, 0, 0, 0])
    assert kernel.connection["shell_port"] == shell
    assert kernel.run("1") == [("result", text("1"))]


class Started:
    """A kernel on a connection file that it makes itself."""

    def __init__(self, argv, tmp_path, env=None):
        self.errors = open(tmp_path / "errors", "w+")
        self.process = subprocess.Popen([EINKORN, "kernel", *argv, *chosen(PYTHON)],
                                        stdin=subprocess.DEVNULL, stdout=self.errors,
                                        stderr=self.errors, start_new_session=True,
                                        env={**os.environ, **(env or {})})

    def __enter__(self):
        return self.process

    def __exit__(self, *_):
        if self.process.poll() is None:
            family = descendants_of(self.process.pid)
            self.process.kill()
            self.process.wait()
            for pid in family:
                try:
                    os.kill(pid, 9)
                except ProcessLookupError:
                    pass
        self.errors.seek(0)
        print(self.errors.read())
        self.errors.close()


def serves(path, process):
    """The kernel behind a file that it wrote runs a cell and removes the file as it ends."""
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    connection = json.loads(path.read_text())
    assert connection["transport"] == "tcp" and connection["ip"] == "127.0.0.1"
    assert connection["signature_scheme"] == "hmac-sha256"
    assert len(connection["key"]) >= 32
    client = Client(connection)
    try:
        client.welcome()
        assert client.run("print('started')") == [("stdout", "started\n")]
        msg_id = client.send("control", "shutdown_request", {"restart": False})
        assert client.reply("control", msg_id).content == {"status": "ok", "restart": False}
        assert process.wait(5) == 0
    finally:
        client.close()
    assert not path.exists()


def test_a_missing_file_is_created_and_removed_at_exit(tmp_path):
    """C055 B: created 0600, removed at exit."""
    path = tmp_path / "not-yet.json"
    with Started(["-f", str(path)], tmp_path) as process:
        wait_for_file(path, lambda t: bool(t) and json.loads(t)["hb_port"])
        serves(path, process)


def test_no_subscriber_is_needed(tmp_path):
    """peers 7.2: cells run, in order, while nobody listens on IOPub; nothing goes to fd 1."""
    path = tmp_path / "c.json"
    with Started(["-f", str(path)], tmp_path) as process:
        wait_for_file(path, lambda t: bool(t) and json.loads(t)["hb_port"])
        client = Client(json.loads(path.read_text()), channels=("shell", "control"))
        try:
            for n in range(3):
                asked = client.send_execute(f"print('x' * 1000)\ndisplay({n})\n{n}")
                reply = client.reply("shell", asked).content
                assert (reply["status"], reply["execution_count"]) == ("ok", n + 1)
            client.send("control", "shutdown_request", {"restart": False})
            assert client.take("control").content["status"] == "ok"
            assert process.wait(5) == 0
        finally:
            client.close()
    assert (tmp_path / "errors").read_text() == ""  # both of its streams


def test_no_file_means_one_in_the_runtime_directory(tmp_path):
    """No -f at all: kernel-<pid>.json in the Jupyter runtime directory, which is made."""
    runtime = tmp_path / "runtime"
    runtime.mkdir()
    with Started([], tmp_path, {"JUPYTER_RUNTIME_DIR": str(runtime)}) as process:
        path = runtime / f"kernel-{process.pid}.json"
        wait_for_file(path, lambda t: bool(t) and json.loads(t)["hb_port"])
        serves(path, process)


@pytest.mark.parametrize("spelling", [
    ["-f", "{}"], ["-f={}"], ["--f={}"], ["--connection-file", "{}"], ["--connection-file={}"],
    ["--IPKernelApp.connection_file={}"], ["-f", '"{}"'],
], ids=lambda s: " ".join(s))
def test_every_spelling_of_the_file_is_taken(tmp_path, spelling):
    """Clients write it in many ways."""
    path = tmp_path / "spelled.json"
    with Started([s.format(path) for s in spelling], tmp_path) as process:
        wait_for_file(path, lambda t: bool(t) and json.loads(t)["hb_port"])
        serves(path, process)


def test_options_of_other_kernels_are_tolerated(start):
    """Accepted: --debug and any --Trait.name=value."""
    kernel = start(args=["--Other.trait=:memory:", "--Some.trait=1"])
    kernel.expect_log(r"einkorn: .*Other\.trait.*", r"einkorn: .*Some\.trait.*")
    assert kernel.run("1") == [("result", text("1"))]


def taken(port):
    """A socket that listens on a port, of which old connections may linger as on ours."""
    other = socket.socket()
    other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    other.bind(("127.0.0.1", port))
    other.listen()
    return other


def test_a_taken_port_ends_the_kernel_with_one_line(tmp_path):
    """
    C055 A, for each of the five ports: within 3 s (2 s of them retries), non-zero, one line
    that names the port. Five kernels at once, since each waits.
    """
    begin = time.monotonic()
    started = []
    with contextlib.ExitStack() as stack:
        for number, channel in enumerate(CHANNELS):
            ports = PORTS.take()
            stack.enter_context(taken(ports[number]))
            file = tmp_path / f"{channel}.json"
            file.write_bytes(compact({**LOCAL_FILE, "key": channel,
                                      **{f"{n}_port": p for n, p in zip(CHANNELS, ports)}}))
            started.append((ports, ports[number], subprocess.Popen(
                [EINKORN, "kernel", "-f", file, *chosen(PYTHON)], text=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)))
        for _, port, process in started:
            shown, errors = process.communicate(timeout=10)
            assert process.returncode > 0 and shown == "", (process.returncode, shown, errors)
            lines = errors.splitlines()
            assert len(lines) == 1 and str(port) in lines[0], errors
        took = time.monotonic() - begin
    assert took < within(3.0)
    assert all(port_is_free(port) for ports, _, _ in started for port in ports)


def test_a_port_that_comes_free_in_time_is_taken(start):
    """peers 7.2: bind is retried for 2 s: a restart on ports that are just being left."""
    ports = PORTS.take()
    with taken(ports[0]):
        kernel = start(ports=ports, ready=False)
        # The four others are bound once the kernel answers on control.
        kernel.sockets["hb"].send(b"x")
        kernel.sockets["hb"].poll(300)
    if kernel.sockets["hb"].poll(30_000):
        kernel.sockets["hb"].recv()
    kernel.welcome()
    assert kernel.run("1") == [("result", text("1"))]


GOOD = {**LOCAL_FILE, **{f"{n}_port": port for port, n in enumerate(CHANNELS, 1)}}
BAD_FILES = {
    "empty": (b"", "c.json"),
    "not json": (b"{not json", "c.json"),
    "not utf-8": (b'{"ip": "\xff"}', "c.json"),
    "a list": (b"[]", "c.json"),
    "no iopub_port": (compact({k: v for k, v in GOOD.items() if k != "iopub_port"}), "iopub_port"),
    "port is text": (compact({**GOOD, "shell_port": "5"}), "shell_port"),
    "port negative": (compact({**GOOD, "hb_port": -1}), "hb_port"),
    "port too large": (compact({**GOOD, "hb_port": 65536}), "hb_port"),
    "port is true": (compact({**GOOD, "stdin_port": True}), "stdin_port"),
    "port is a fraction": (compact({**GOOD, "stdin_port": 1.5}), "stdin_port"),
    "transport unknown": (compact({**GOOD, "transport": "pgm"}), "transport"),
    "ip is a number": (compact({**GOOD, "ip": 5}), "ip"),
    "key is a list": (compact({**GOOD, "key": []}), "key"),
    "scheme unknown": (compact({**GOOD, "signature_scheme": "hmac-rot13"}), "signature_scheme"),
    "scheme no hmac": (compact({**GOOD, "signature_scheme": "sha256"}), "signature_scheme"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_connection_file_is_refused_in_one_line(tmp_path, name):
    """C055 D: one clear line on stderr, exit status 2."""
    data, named = BAD_FILES[name]
    path = tmp_path / "c.json"
    path.write_bytes(data)
    line = refused(run_kernel("kernel", "-f", path, *chosen(PYTHON)))
    assert "c.json" in line and named in line


def test_a_file_that_is_a_directory_is_refused(tmp_path):
    assert str(tmp_path) in refused(run_kernel("kernel", "-f", tmp_path, *chosen(PYTHON)))


@pytest.mark.parametrize("args", [
    ["kernel", "-f"],
    ["kernel", "--nonsense"],
    ["frobnicate"],
    ["kernel", "--max-output", "many"],
    ["kernel", "--max-output", "-1"],
    ["kernel", "--python"],
], ids=lambda a: " ".join(a))
def test_bad_options_are_refused_in_one_line(args):
    """Bad options: one clear line on stderr, exit status 2."""
    refused(run_kernel(*args))


def test_a_bad_variable_is_refused_in_one_line():
    """EINKORN_MAX_OUTPUT is an option too."""
    result = run_kernel("kernel", env={"EINKORN_MAX_OUTPUT": "many"})
    assert "EINKORN_MAX_OUTPUT" in refused(result)


def test_without_python_it_is_the_environments_or_the_one_on_path(start, tmp_path):
    """The option's help. What is on PATH may be a script that finds a Python, as pyenv's is."""
    venv = tmp_path / "venv"
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", venv], check=True)
    kernel = start(python=None, env={"VIRTUAL_ENV": str(venv)})
    assert kernel.run("import sys\nsys.prefix") == [("result", text(repr(str(venv))))]
    shims = tmp_path / "shims"
    shims.mkdir()
    (shims / "python3").write_text(f'#!/bin/sh\nexec "{venv}/bin/python" "$@"\n')
    (shims / "python3").chmod(0o755)
    kernel = start(python=None, env={"VIRTUAL_ENV": "", "PATH": f"{shims}:/usr/bin:/bin"})
    assert kernel.run("import sys\nsys.prefix") == [("result", text(repr(str(venv))))]


def test_the_second_way_in(start):
    """A Python that is all in its executable runs itself and imports the runner."""
    kernel = start(args=["--libpython", ""])
    assert kernel.run("import os, sys\nprint(sys.executable)\nrc = os.system('echo child')\n1") == [
        ("stdout", f"{PYTHON}\nchild\n"), ("result", text("1"))]
    cell = kernel.started("import time\nprint('go')\ntime.sleep(60)")
    kernel.interrupt()
    assert kernel.finished(cell, timeout=2).error == ("KeyboardInterrupt", "")
    assert kernel.run("print('__file__' in globals(), sorted(set(globals()) & {'sys', 'os'}))") == [
        ("stdout", "False ['os', 'sys']\n")]


def test_help_and_version(kernel):
    """They go to stdout, with status 0."""
    shown = run_kernel("--help")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert all(option in shown.stdout for option in ("einkorn kernel -f FILE", "--max-output",
                                                     "einkorn install"))
    shown = run_kernel("--version")
    version = kernel.info.content["implementation_version"]
    assert (shown.returncode, shown.stdout, shown.stderr) == (0, f"einkorn {version}\n", "")
