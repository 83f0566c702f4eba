"""A worker that dials its host."""

import json
import os
import socket
import threading

import pytest

from client import DEADLINE, KEY

CONNECT = "OPENAI4S_WORKER_CONNECT"
PATH = "OPENAI4S_WORKER_BOOTSTRAP_PATH"
TEMPLATE = PATH + "_TEMPLATE"
RANK_ENV = "OPENAI4S_WORKER_RANK_ENV"


class Daemon:
    """Listens, takes one worker, answers its credential with `reply` (bytes)."""

    def __init__(self, reply, family=socket.AF_INET, address="127.0.0.1"):
        self.listener = socket.socket(family)
        self.listener.bind((address, 0))
        self.listener.listen()
        self.listener.settimeout(DEADLINE)
        self.port = self.listener.getsockname()[1]
        self.reply = reply
        self.credential = b""
        self.connection = None
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        try:
            self.connection, _ = self.listener.accept()
        except OSError:
            return
        self.connection.settimeout(DEADLINE)
        while not self.credential.endswith(b"\n"):
            self.credential += self.connection.recv(1)
        if self.reply is not None:
            self.connection.sendall(self.reply)
        else:
            self.connection.close()

    def join(self):
        self.thread.join()
        return self.connection

    def close(self):
        self.listener.close()
        if self.connection is not None:
            self.connection.close()


@pytest.fixture
def daemon():
    made = []

    def make(reply, *args):
        made.append(Daemon(reply, *args))
        return made[-1]

    yield make
    for one in made:
        one.listener.shutdown(socket.SHUT_RDWR) if one.thread.is_alive() else None
        one.close()
        one.thread.join()


@pytest.fixture
def credential(tmp_path):
    path = tmp_path / "credential"
    path.write_text("  the secret \n")
    path.chmod(0o600)
    return path


def initialize():
    return {"type": "initialize", "id": "i", "skill_attestation_key": KEY}


def dialled(start, one, env):
    worker = start(env=env, initialize=False, pipes=False)
    connection = one.join()
    connection.setblocking(True)
    worker.use(connection.fileno(), connection.fileno())
    return worker


@pytest.mark.parametrize("host", ["127.0.0.1", "", "localhost"])
def test_it_dials_proves_itself_and_serves(start, daemon, credential, host):
    one = daemon(b'{"ok":true,"generation":"remote:7"}\n')
    worker = dialled(start, one, {CONNECT: f"{host}:{one.port}", PATH: str(credential)})
    assert one.credential == b"the secret\n"
    worker.send(initialize())
    assert worker.read() == {"type": "initialized", "id": "i"}
    result = worker.execute(
        "import os, sys\n"
        "print(sys._openai4s_remote_generation, sys._openai4s_proto_in_reserve)\n"
        "print(host._call('ping', []))\n"
        "os.closerange(3, 256)\n"
        "print(any('the secret' in value for value in os.environ.values()))"
    )
    assert result["stdout"] == "remote:7 -1\npong\nFalse\n"
    worker.alive()
    worker.send({"type": "shutdown"})
    assert worker.wait() == 0


def test_by_ipv6(start, daemon, credential):
    one = daemon(b'{"ok":true}\n', socket.AF_INET6, "::1")
    worker = dialled(start, one, {CONNECT: f"[::1]:{one.port}", PATH: str(credential)})
    worker.send(initialize())
    assert worker.read()["type"] == "initialized"
    result = worker.execute("import sys\nprint(hasattr(sys, '_openai4s_remote_generation'))")
    assert result["stdout"] == "False\n"
    one.connection.shutdown(socket.SHUT_WR)
    assert worker.wait() == 0


def test_what_comes_right_behind_the_reply_is_not_lost(start, daemon, credential):
    frames = [initialize(), {"id": "c", "code": "print('at once')"}]
    lines = b"".join(json.dumps(frame).encode() + b"\n" for frame in frames)
    one = daemon(b'{"ok":true,"generation":5}\n' + lines)
    worker = dialled(start, one, {CONNECT: f":{one.port}", PATH: str(credential)})
    assert worker.read()["type"] == "initialized"
    assert worker.finish("c")["stdout"] == "at once\n"
    result = worker.execute("import sys\nprint(repr(sys._openai4s_remote_generation))")
    assert result["stdout"] == "'5'\n"
    worker.close()


def test_a_reply_as_long_as_it_may_be(start, daemon, credential):
    one = daemon(b'{"ok":true}'.ljust(65_535) + b"\n")
    worker = dialled(start, one, {CONNECT: f":{one.port}", PATH: str(credential)})
    worker.send(initialize())
    assert worker.read()["type"] == "initialized"
    worker.close()


def test_a_way_that_is_closed_is_lost(start, daemon, credential):
    """There is no reserve of a socket."""
    one = daemon(b'{"ok":true}\n')
    worker = dialled(start, one, {CONNECT: f":{one.port}", PATH: str(credential)})
    worker.send(initialize())
    assert worker.read()["type"] == "initialized"
    worker.start("import os, sys\nos.close(sys._openai4s_protocol_stdin.fileno())")
    assert worker.read()["type"] == "response"
    assert worker.wait() == 1
    assert "protocol IN corrupted and no reserve fd to recover" in worker.stderr()


@pytest.mark.parametrize(
    "env, why",
    [
        ({PATH: None}, f"{CONNECT} is set but {PATH} is not; refusing to connect without a credential"),
        ({PATH: "  "}, f"{CONNECT} is set but {PATH} is not; refusing to connect without a credential"),
        ({TEMPLATE: "/x/{rank}"}, f"{TEMPLATE} is set but {RANK_ENV} is not"),
        ({TEMPLATE: "/x/{rank}", RANK_ENV: "R", "R": "one"}, "invalid worker rank in R: 'one'"),
        ({TEMPLATE: "/x/{rank}", RANK_ENV: "R"}, "invalid worker rank in R: ''"),
        ({TEMPLATE: "/x/{rank}", RANK_ENV: "R", "R": "-1"}, "worker credential template/rank is invalid"),
        ({TEMPLATE: "/x/rank", RANK_ENV: "R", "R": "1"}, "worker credential template/rank is invalid"),
        ({PATH: "/no/such/file"}, "[Errno 2] No such file or directory: '/no/such/file'"),
        ({CONNECT: "127.0.0.1:port"}, f"invalid port in {CONNECT}: 'port'"),
        ({CONNECT: "127.0.0.1:1"}, "[Errno 111] Connection refused"),
    ],
)
def test_failures_before_the_host_is_there(start, credential, env, why):
    env = {CONNECT: "127.0.0.1:1", PATH: str(credential), **env}
    worker = start(env={k: v for k, v in env.items() if v is not None}, initialize=False)
    assert worker.wait() == 70
    assert worker.stderr() == f"worker bootstrap failed: {why}\n"
    assert worker.read() is None, "never are the pipes taken instead"


@pytest.mark.parametrize(
    "reply, why",
    [
        (None, "daemon closed during handshake"),
        (b'{"ok":false,"error":"not you"}\n', "daemon refused this worker: not you"),
        (b'{"ok":false}\n', "daemon refused this worker: None"),
        (b'{"error":"later"}\n', "daemon refused this worker: later"),
        (b'{"ok":"yes"}\n', "daemon refused this worker: None"),
        (b"x" * 70_000, "handshake reply too long"),
        (b'{"ok":true}'.ljust(65_536) + b"\n", "handshake reply too long"),
        (b"no json\n", "the daemon's handshake reply is no JSON object"),
        (b"[true]\n", "the daemon's handshake reply is no JSON object"),
    ],
)
def test_a_host_that_refuses(start, daemon, credential, reply, why):
    one = daemon(reply)
    worker = start(
        env={CONNECT: f"127.0.0.1:{one.port}", PATH: str(credential)}, initialize=False
    )
    assert worker.wait() == 70
    assert worker.stderr() == f"worker bootstrap failed: {why}\n"


def test_the_template_wins_and_takes_the_rank(start, daemon, tmp_path):
    (tmp_path / "cred-3-3").write_text("third\n")
    one = daemon(b'{"ok":true}\n')
    dialled(
        start,
        one,
        {
            CONNECT: f"127.0.0.1:{one.port}",
            PATH: "/no/such/file",
            TEMPLATE: f" {tmp_path}/cred-{{rank}}-{{rank}} ",
            RANK_ENV: "SLURM_PROCID",
            "SLURM_PROCID": " 3 ",
        },
    ).close()
    assert one.credential == b"third\n"


def test_nothing_is_dialled_where_nobody_says_so(start):
    worker = start(env={CONNECT: "  ", PATH: "/no/such/file"})
    worker.alive()
    assert os.path.exists(f"/proc/{worker.pid}")
