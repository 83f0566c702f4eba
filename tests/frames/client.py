"""A host for tests: starts ``einkorn frames`` and speaks its protocol, one JSON object a line.

    worker = Worker()                 started, and hands shaken
    worker.execute("print(1)")        a Result: the response, and what came before it
    worker.send({...}) / .read()      one frame by itself

Every wait has a deadline; what runs into it is a Timeout that shows the worker's stderr.
"""

import ctypes
import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

from ways_in import EINKORN, SANITIZED, library_beside  # noqa: E402

PYTHON = os.environ.get("EINKORN_TEST_PYTHON")  # the workers' Python, where a test names none
KEY = "5a" * 32
DEADLINE = 30
MARKER = "\n...(truncated at 1000000 characters)"
RESPONSE_KEYS = {
    "type",
    "id",
    "stdout",
    "stderr",
    "error",
    "interrupted",
    "trace",
    "guards",
    "files_read",
    "usage",
}


class Timeout(AssertionError):
    """The worker was waited for in vain."""


class Result(dict):
    """A response, with what belongs to its cell: ``chunks`` (texts), ``calls``, ``logs``, ``frames``."""

    def __init__(self, response, frames):
        super().__init__(response)
        self.frames = frames
        self.chunks = [f["text"] for f in frames if f["type"] == "stdout_chunk"]
        self.calls = [(f["method"], f["args"]) for f in frames if f["type"] == "host_call"]
        self.logs = [f["msg"] for f in frames if f["type"] == "log"]


def pong(method, args):
    """The host of most tests."""
    if method == "ping":
        return "pong"
    if method == "echo":
        return args
    raise ValueError(f"unknown method {method}")


class Worker:
    def __init__(self, *, env=None, cwd=None, initialize=True, arguments=(), before=None, pipes=True):
        self.stderr_file = tempfile.TemporaryFile()
        self.buffer = b""
        self.calls = 0
        if PYTHON and "--python" not in arguments and "PATH" not in (env or {}):
            arguments = [*arguments, "--python", PYTHON]
        if SANITIZED and "--libpython" not in arguments:
            arguments = [*arguments, "--libpython", library_beside(sys.executable)]
        standard = subprocess.PIPE if pipes else subprocess.DEVNULL
        self.process = subprocess.Popen(
            [EINKORN, "frames", *arguments],
            stdin=standard,
            stdout=standard,
            stderr=self.stderr_file,
            start_new_session=True,
            cwd=cwd,
            env={**os.environ, **(env or {})},
            preexec_fn=before,
        )
        self.pid = self.process.pid
        if pipes:
            self.use(self.process.stdin.fileno(), self.process.stdout.fileno())
        if initialize:
            self.send({"type": "initialize", "id": "first", "skill_attestation_key": KEY})
            assert self.read() == {"type": "initialized", "id": "first"}

    def use(self, to_worker, from_worker):
        self.to_worker, self.from_worker = to_worker, from_worker

    # ---- frames ----------------------------------------------------------------

    def send(self, frame):
        """Send an object, or a line as it is (str, bytes)."""
        if isinstance(frame, str):
            frame = frame.encode()
        if not isinstance(frame, bytes):
            frame = json.dumps(frame).encode()
        frame += b"\n"
        while frame:
            frame = frame[os.write(self.to_worker, frame) :]

    def read(self, timeout=DEADLINE):
        """Return the next frame; None at the end."""
        line = self.read_line(timeout)
        return json.loads(line) if line else None

    def read_line(self, timeout=DEADLINE):
        deadline = time.monotonic() + timeout
        start = 0
        while (end := self.buffer.find(b"\n", start)) < 0:
            start = len(self.buffer)
            left = max(0, deadline - time.monotonic())
            ready, _, _ = select.select([self.from_worker], [], [], left)
            if not ready:
                raise Timeout(f"no frame within {timeout} s; stderr: {self.stderr()}")
            more = os.read(self.from_worker, 1 << 20)
            if not more:
                assert not self.buffer, f"half a frame: {self.buffer[:200]!r}"
                return b""
            self.buffer += more
        line, self.buffer = self.buffer[: end + 1], self.buffer[end + 1 :]
        return line

    def answer(self, call, host):
        """Answer a host_call as the manager does."""
        try:
            data = host(call["method"], call["args"])
        except Exception as error:
            self.send({"type": "host_response", "id": call["id"], "error": str(error)})
            return
        if isinstance(data, dict) and set(data) == {"error"}:
            self.send({"type": "host_response", "id": call["id"], "error": data["error"]})
        else:
            self.send({"type": "host_response", "id": call["id"], "data": data})

    # ---- requests ---------------------------------------------------------------

    def start(self, code, **keys):
        """Send a cell; return its id."""
        self.calls += 1
        request = {"type": "execute", "id": f"cell-{self.calls}", "code": code, **keys}
        self.send(request)
        return request["id"]

    def finish(self, cell, host=pong, on_call=None, timeout=DEADLINE):
        """Serve the cell's calls until its response; return the Result."""
        frames = []
        deadline = time.monotonic() + timeout
        while True:
            frame = self.read(deadline - time.monotonic())
            assert frame is not None, f"the worker ended; stderr: {self.stderr()}"
            if frame["type"] == "response" and frame["id"] == cell:
                return Result(frame, frames)
            frames.append(frame)
            if frame["type"] == "host_call":
                (on_call or self.answer)(frame, host)

    def execute(self, code, *, host=pong, on_call=None, timeout=DEADLINE, **keys):
        return self.finish(self.start(code, **keys), host, on_call, timeout)

    def until_call(self, method="ping"):
        """Skip to the next host_call, which proves that user code runs; it is not answered."""
        while True:
            frame = self.read()
            assert frame is not None and frame["type"] != "response", frame
            if frame["type"] == "host_call" and frame["method"] == method:
                return frame

    def alive(self):
        """Check that it serves cells as before."""
        result = self.execute("print(6 * 7)")
        assert (result["stdout"], result["error"]) == ("42\n", None), dict(result)

    # ---- the process -------------------------------------------------------------

    def interrupt(self):
        """One SIGINT, to the process."""
        os.kill(self.pid, signal.SIGINT)

    def interrupt_main_thread(self):
        """One SIGINT, as the manager sends it."""
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.tgkill(self.pid, self.pid, signal.SIGINT) == 0

    def stderr(self):
        self.stderr_file.seek(0)
        return self.stderr_file.read().decode(errors="replace")

    def wait(self, timeout=DEADLINE):
        """Return the exit status."""
        return self.process.wait(timeout)

    def shut_down(self):
        self.send({"type": "shutdown"})
        assert self.wait() == 0, self.stderr()
        assert self.read() is None

    def close(self):
        """End it, whatever it does."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        for file in (self.process.stdin, self.process.stdout, self.stderr_file):
            if file is not None:
                try:
                    file.close()
                except OSError:
                    pass
