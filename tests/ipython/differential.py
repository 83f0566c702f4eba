"""
The same cells in Einkorn and in the real ipykernel, and what a client sees of them.

    def test_x(pair):                      # fixture of conftest.py, two kernels for a module
        pair.same("%who_ls")               # runs the cell in both, compares, returns what came

`{here}` in a cell is a directory of the kernel's own. What came is a `Seen`: the outputs in order (streams joined), the reply, the prompts on stdin. What
must differ is made alike before: addresses, times, process ids, the names of temporary files, and
colours are taken off tracebacks. `normal` says how; a test can pass further replacements.
"""

import dataclasses
import os
import pathlib
import re
import shutil
import signal
import sys
import tempfile
import time

import zmq
from jupyter_client import KernelManager
from jupyter_client.kernelspec import KernelSpec

from client import DEADLINE, EINKORN, PYTHON, plain

REFERENCE = os.environ.get("EINKORN_REFERENCE_PYTHON", PYTHON)  # has ipykernel 7.4

REPLACED = (
    (r"\x1b\[[0-9;]*m", ""),
    (r"\b0x[0-9a-f]{6,}", "0x…"),
    (r"\bat [0-9a-f]{8,}\b", "at …"),
    (r"/tmp/ipykernel_\d+/", "/tmp/ipykernel_…/"),
    (r"/tmp/ipython_edit_[\w/]+", "/tmp/ipython_edit_…"),
    (r"\b\d+(\.\d+)?(e[+-]?\d+)? ?(ns|[µμ]s|us|ms|s|min|h)\b", "TIME"),
    (r"\bpid(:|=) ?\d+", "pid N"),
)


def normal(value, replaced=REPLACED):
    """The value with all its texts made alike."""
    if isinstance(value, str):
        for pattern, text in replaced:
            value = re.sub(pattern, text, value)
        return value
    if isinstance(value, dict):
        return {key: normal(item, replaced) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [normal(item, replaced) for item in value]
    return value


@dataclasses.dataclass
class Seen:
    """What a client saw of a cell."""

    outputs: list  # of [msg_type, …]: streams are joined, see _output
    status: str
    error: list  # [ename, evalue], or empty
    payload: list
    expressions: dict
    prompts: list  # [prompt, password] of each input_request
    count: int = dataclasses.field(compare=False)

    def text(self, name="stdout"):
        """All of a stream."""
        return "".join(item[2] for item in self.outputs if item[:2] == ["stream", name])

    def data(self, mime="text/plain"):
        """The representations of that type in results and displays."""
        return [item[1].get(mime) for item in self.outputs if isinstance(item[1], dict)]


def _output(message):
    content = message["content"]
    kind = message["msg_type"]
    if kind == "stream":
        return [kind, content["name"], content["text"]]
    if kind == "error":
        frames = plain(content["traceback"]).split("\n\n")
        # Ours shows none of its own; ipykernel does, and under IPython 8 what IPython has for it.
        shown = [each for each in frames
                 if not re.match(r"File \S*/(ipykernel|IPython/core)/", each)]
        return [kind, content["ename"], content["evalue"], "\n\n".join(shown)]
    if kind in ("display_data", "update_display_data", "execute_result"):
        return [kind, content["data"], content["metadata"]]
    if kind == "clear_output":
        return [kind, content["wait"]]
    return [kind, content]


class One:
    """A kernel of either kind and a client of it (jupyter_client's, as notebooks have it)."""

    def __init__(self, name, argv, env=None, cwd=None, launcher=()):
        self.name = name
        self.directory = tempfile.mkdtemp(prefix="ek-")
        runtime = pathlib.Path(self.directory, "runtime")
        runtime.mkdir()
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "PYTHON"))}
        environment.pop("JPY_PARENT_PID", None)
        environment["IPYTHONDIR"] = str(pathlib.Path(self.directory, "ipython"))
        environment["JUPYTER_RUNTIME_DIR"] = str(runtime)
        environment.update(env or {})
        self.manager = KernelManager(connection_file=str(runtime / "kernel.json"))
        self.manager._kernel_spec = KernelSpec(argv=[*launcher, *argv], language="python", display_name=name)
        self.errors = open(pathlib.Path(self.directory, "stderr"), "w+b")
        self.manager.start_kernel(env=environment, cwd=cwd, stderr=self.errors, stdout=self.errors)
        self.client = self.manager.client()
        try:
            self.client.start_channels()
            self.client.wait_for_ready(DEADLINE)
        except BaseException:
            self.close()
            raise

    def run(self, code, answers=(), interrupt_at=None, replaced=REPLACED, timeout=DEADLINE, **options):
        """
        Runs a cell and answers its questions. `interrupt_at`: a text of its output (or prompts)
        upon which the kernel is interrupted, once. -> Seen
        """
        code = code.replace("{here}", self.directory)
        replaced = ((re.escape(self.directory), "/here"), *replaced)
        client, answers = self.client, list(answers)
        options.setdefault("stop_on_error", False)
        options.setdefault("allow_stdin", True)
        request = client.execute(code, **options)
        outputs, prompts, end = [], [], time.monotonic() + timeout
        sockets = {channel.socket: channel for channel in (client.iopub_channel, client.stdin_channel)}
        poller = zmq.Poller()
        for each in sockets:
            poller.register(each, zmq.POLLIN)
        idle = False
        while not idle:
            ready = poller.poll(max(0, end - time.monotonic()) * 1000)
            assert ready, f"{self.name}: no end of {code!r}, so far {outputs} {prompts}"
            for socket, _ in ready:
                message = sockets[socket].get_msg(timeout=0)
                if message["parent_header"].get("msg_id") != request:
                    continue
                kind, content = message["msg_type"], message["content"]
                if kind == "input_request":
                    prompts.append([content["prompt"], content["password"]])
                    if interrupt_at is not None and content["prompt"] == interrupt_at:
                        interrupt_at = self.interrupt()
                    else:
                        assert answers, f"{self.name}: an unexpected question {content}"
                        client.input(answers.pop(0))
                elif kind == "status":
                    idle = content["execution_state"] == "idle"
                elif kind != "execute_input":
                    item = _output(message)
                    if kind == "stream" and outputs and outputs[-1][:2] == item[:2]:
                        outputs[-1][2] += item[2]
                    else:
                        outputs.append(item)
                    if interrupt_at is not None and interrupt_at in str(outputs):
                        interrupt_at = self.interrupt()
        reply = None
        while reply is None or reply["parent_header"]["msg_id"] != request:  # wait_for_ready asks often
            reply = client.get_shell_msg(timeout=max(0, end - time.monotonic()))
        content = reply["content"]
        error = [content["ename"], content["evalue"]] if content["status"] == "error" else []
        return Seen(
            outputs=normal(outputs, replaced),
            status=content["status"],
            error=normal(error, replaced),
            payload=normal(content.get("payload", []), replaced),
            expressions=normal(content.get("user_expressions", {}), replaced),
            prompts=normal(prompts, replaced),
            count=content.get("execution_count"),
        )

    def interrupt(self):
        """As the stop button does: SIGINT. -> None"""
        os.kill(self.manager.provisioner.process.pid, signal.SIGINT)

    def stderr(self):
        """What the kernel wrote on its own stderr."""
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")

    def close(self):
        """Ends it."""
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
        self.errors.close()
        shutil.rmtree(self.directory, ignore_errors=True)


def einkorn(*args, python=PYTHON, **options):
    """Einkorn for the Python of the tests."""
    return One("einkorn", [EINKORN, "kernel", "-f", "{connection_file}", "--python", python, *args],
               **options)


def ipykernel(*args, **options):
    """The real ipykernel."""
    return One("ipykernel", [REFERENCE, "-m", "ipykernel_launcher", "-f", "{connection_file}", *args],
               **options)


class Pair:
    """Both kernels, with the same arguments, environment and directory."""

    def __init__(self, *args, **options):
        self.theirs = ipykernel(*args, **options)
        try:
            self.ours = einkorn(*args, **options)
        except BaseException:
            self.theirs.close()
            raise

    def write(self, name, text):
        """Makes a file in {here} of both."""
        for one in (self.ours, self.theirs):
            pathlib.Path(one.directory, name).write_text(text)

    def both(self, code, **options):
        """Runs a cell in both. -> (ours, theirs)"""
        return self.ours.run(code, **options), self.theirs.run(code, **options)

    def same(self, code, **options):
        """Runs a cell in both, which must show the same. -> Seen"""
        ours, theirs = self.both(code, **options)
        assert dataclasses.asdict(ours) | {"count": 0} == dataclasses.asdict(theirs) | {"count": 0}
        return ours

    def close(self):
        """Ends both."""
        self.ours.close()
        self.theirs.close()
