"""
Launchers that let the kernel choose its ports and have them reported (JEP 66), over bare
sockets: the specification's, and that of Posit's supervisor. The answers are written from
JEP 66 and from what xeus-zmq and kallichore send, and share no code with either.
"""

import hashlib
import hmac
import json
import os
import subprocess
import time
import uuid

import zmq

from client import CHANNELS, DEADLINE, DELIMITER, EINKORN, PYTHON, compact
from ways_in import chosen

PORT_NAMES = {f"{name}_port" for name in CHANNELS}


class Launcher:
    """One registration socket, for one kernel or many."""

    def __init__(self, *, ip="127.0.0.1", transport="tcp", key=None, port="*", scheme="sha256"):
        self.ip, self.transport = ip, transport
        self.key = uuid.uuid4().hex if key is None else key
        self.scheme = scheme
        self.context = zmq.Context()
        self.socket = self.port = None
        self.open(port)
        self.kernel_id = str(uuid.uuid4())
        self.told = None  # the last report's content

    def open(self, port):
        self.socket = self.context.socket(self.kind)
        self.socket.linger = 0
        separator = "-" if self.transport == "ipc" else ":"
        if self.transport == "ipc" and port == "*":
            port = 7
        self.socket.bind(f"{self.transport}://{self.ip}{separator}{port}")
        end = self.socket.getsockopt_string(zmq.LAST_ENDPOINT).rpartition(separator)[2]
        self.port = int(end.rstrip("\0"))

    def close(self):
        self.socket.close()

    def end(self):
        self.close()
        self.context.destroy(linger=0)

    def sign(self, *parts):
        if not self.key:
            return b""
        return hmac.new(self.key.encode(), b"".join(parts), self.scheme).hexdigest().encode()

    def wait(self):
        assert self.socket.poll(int(DEADLINE * 1000)), "no report of ports has come"
        self.reported = time.monotonic()
        return self.socket.recv_multipart()

    def learn(self, kernel):
        """What clients have to know, from the report. Acknowledges it, if `answers`."""
        del kernel
        ports = self.report()
        if self.answers:
            self.acknowledge()
        return {"transport": self.transport, "ip": self.ip, "key": self.key,
                "signature_scheme": f"hmac-{self.scheme}", **ports}

    answers = True

    def start(self, directory, file=None, env=None):
        """A kernel process that need not come up. stderr is a pipe."""
        path = directory / "registration.json"
        path.write_bytes(compact(file or self.file))
        variables = {k: v for k, v in os.environ.items()
                     if not k.startswith(("PYTEST", "PYTHON", "JUPYTER", "JPY", "XDG", "HOME"))
                     or k == "PYTHONMALLOC"}
        variables.update({"JUPYTER_RUNTIME_DIR": str(directory / "runtime"), **(env or {})})
        return subprocess.Popen([EINKORN, "kernel", "-f", path, *chosen(PYTHON)], env=variables,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, start_new_session=True)


class Specified(Launcher):
    """JEP 66 and the Messaging spec: a ROUTER; three frames each way; ports are strings."""

    kind = zmq.ROUTER

    @property
    def file(self):
        return {"kernel_id": self.kernel_id, "transport": self.transport,
                "registration_ip": self.ip, "registration_port": self.port,
                "signature_scheme": f"hmac-{self.scheme}", "key": self.key}

    def report(self):
        self.identity, delimiter, signature, content = self.wait()
        assert delimiter == DELIMITER
        assert signature == self.sign(content)
        self.content = content
        self.told = json.loads(content)
        assert set(self.told) == {"kernel_id"} | PORT_NAMES
        ports = {name: self.told[name] for name in PORT_NAMES}
        assert all(type(port) is str and port == str(int(port)) for port in ports.values())
        return {name: int(port) for name, port in ports.items()}

    def answer(self, *frames):
        self.socket.send_multipart([self.identity, *frames])

    def acknowledge(self):
        self.answer(DELIMITER, self.sign(b"ACK"), b"ACK")


class Supervisor(Launcher):
    """kallichore: a REP; whole messages; ports are numbers; what is empty is null."""

    kind = zmq.REP

    @property
    def file(self):
        return {"transport": self.transport, "signature_scheme": f"hmac-{self.scheme}",
                "ip": self.ip, "key": self.key or None, "registration_port": self.port}

    def report(self):
        frames = self.wait()
        assert len(frames) == 6 and frames[0] == DELIMITER, frames
        assert frames[1] == self.sign(*frames[2:])
        header, parent, metadata, self.told = map(json.loads, frames[2:])
        self.header = frames[2]
        assert header["msg_type"] == "handshake_request"
        assert set(header) == {"msg_id", "msg_type", "session", "username", "date", "version"}
        assert parent == {} and metadata == {}
        assert set(self.told) == PORT_NAMES
        assert all(type(port) is int for port in self.told.values())
        return self.told

    def answer(self, *frames):
        self.socket.send_multipart(frames)

    def reply(self, content, kind="handshake_reply"):
        header = compact({"msg_id": uuid.uuid4().hex, "msg_type": kind})
        parts = [header, self.header, b"null", compact(content)]
        self.answer(DELIMITER, self.sign(*parts), *parts)

    def acknowledge(self):
        self.reply({"status": "ok", "error": None, "capabilities": {}})


FORMS = (Specified, Supervisor)
