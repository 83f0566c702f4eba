"""
A Jupyter client over bare ZeroMQ sockets, for tests.

It is written from the messaging specification and shares no code with
jupyter_client, so that a mistake which both sides of one library make cannot
hide. Everything that arrives is checked (signature, ids, session, version,
date, parent header byte for byte) and kept until a test asks for it: what no
test asked for is a failure (Client.leftovers).

Nothing here sleeps to wait for an event. Every wait is for a message, a
process or a file, has a deadline, and tells what came instead.
"""

import collections
import ctypes
import dataclasses
import hashlib
import hmac
import json
import os
import pathlib
import random
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid

import zmq

import ways_in
from ways_in import EINKORN, SANITIZED

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = os.environ.get("EINKORN_TEST_PYTHON", sys.executable)
ARGUMENTS = os.environ.get("EINKORN_TEST_ARGS", "").split()  # more of them for every kernel
IPYTHON = "--shell=ipython" in ARGUMENTS

CHANNELS = ("shell", "iopub", "stdin", "control", "hb")
DELIMITER = b"<IDS|MSG>"
DEADLINE = 30.0  # seconds, for anything that must come
VERSION = "5.5"
HEADER_KEYS = {"msg_id", "msg_type", "session", "username", "date", "version"}
DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
ANSI = re.compile(r"\x1b\[[0-9;]*m")


def compact(value):
    """The JSON text of a value, as bytes."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def within(seconds):
    """
    A limit that is promised, for this build: a sanitized one is several times slower, and its
    processes look for leaks before they end.
    """
    return max(seconds, min(5 * seconds, DEADLINE)) if SANITIZED else seconds


def plain(text):
    """Text without its colours; lines of a list are joined."""
    return ANSI.sub("", text if isinstance(text, str) else "\n".join(text))


def by_cell(text):
    """Text with the file name that IPython gives to the session's only cell as the plain shell's."""
    return re.sub(r'"[^"]*/ipykernel_\d+/\d+\.py"', '"<cell 1>"', text)


# --- ports -----------------------------------------------------------------


class Ports:
    """
    Ports that no other process gets meanwhile: they lie below the range from
    which the system chooses, and an abstract Unix socket per port keeps other
    runs of this suite away for as long as we live.
    """

    def __init__(self):
        low = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
        self.candidates = list(range(max(2000, low - 20000), low))
        random.shuffle(self.candidates)
        self.locks = {}

    def take(self, count=5):
        ports = []
        while len(ports) < count:
            port = self.candidates.pop()
            lock = socket.socket(socket.AF_UNIX)
            try:
                lock.bind(f"\0einkorn-test-port-{port}")
            except OSError:
                lock.close()
                continue
            if not port_is_free(port):
                lock.close()
                continue
            self.locks[port] = lock
            ports.append(port)
        return ports


def port_is_free(port, host="127.0.0.1"):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


PORTS = Ports()


# --- processes -------------------------------------------------------------


def children_of(pid):
    """Pids of the children of a process, whichever of its threads made them."""
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            found += pathlib.Path(f"/proc/{pid}/task/{task}/children").read_text().split()
    except OSError:
        pass
    return [int(p) for p in found]


def descendants_of(pid):
    found = [pid]
    for each in found:
        found += children_of(each)
    return found[1:]


def state_of(pid):
    """The state letter of a process ("R", "S", "Z", …), or "" if there is none."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def members_of_group(pgid):
    """Living processes (no zombies) of a process group."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                fields = pathlib.Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[2]) == pgid and fields[0] not in "ZX":
                found.append(int(name))
    return found


def readable(fd, timeout):
    """Waits until a file descriptor, of any number, has something to read. -> whether it has"""
    poller = select.poll()
    poller.register(fd, select.POLLIN)
    return bool(poller.poll(max(0, timeout) * 1000))


def wait_gone(pid, timeout=DEADLINE):
    """Waits for the end of any process, ours or not; a zombie has ended. -> whether it did."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return readable(fd, timeout)
    finally:
        os.close(fd)


def wait_for_file(path, condition=lambda text: True, timeout=DEADLINE):
    """
    The text of a file as soon as it is there and as wanted. Woken by inotify on
    its directory, so a file that is written, moved or linked in place is seen.
    """
    path = pathlib.Path(path)
    text = None

    def look():
        nonlocal text
        try:
            text = path.read_text()
        except FileNotFoundError:
            text = None
        return text is not None and condition(text)

    assert watch(path.parent, look, timeout), f"{path} is not as wanted: {text!r}"
    return text


def watch(directory, look, timeout=DEADLINE):
    """Looks whenever something in a directory has changed, until there is what is looked for."""
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.inotify_init1(os.O_CLOEXEC)
    end = time.monotonic() + timeout
    try:
        changes = 0x2 | 0x8 | 0x80 | 0x100  # IN_MODIFY, IN_CLOSE_WRITE, IN_MOVED_TO, IN_CREATE
        assert libc.inotify_add_watch(fd, os.fsencode(directory), changes) >= 0, directory
        while not (found := look()):
            left = end - time.monotonic()
            if left <= 0 or not readable(fd, left):
                return None
            os.read(fd, 65536)
        return found
    finally:
        os.close(fd)


# --- messages --------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Message:
    channel: str
    identities: list
    signature: bytes
    header: dict
    parent_raw: bytes
    parent: dict
    metadata: dict
    content: dict
    buffers: list
    arrived: float

    @property
    def type(self):
        return self.header["msg_type"]

    @property
    def parent_id(self):
        return self.parent.get("msg_id")

    @property
    def state(self):
        return self.content.get("execution_state") if self.type == "status" else None

    def __repr__(self):
        text = json.dumps(self.content, ensure_ascii=False)
        parent = f"{self.parent.get('msg_type')} {str(self.parent_id)[-8:]}"
        return f"<{self.channel}: {self.type} of {parent}: {text[:160]}>"


def simple(message):
    """What a user would see of an IOPub message, as a tuple that is easy to compare."""
    content = message.content
    if message.type == "stream":
        assert set(content) == {"name", "text"}, message
        assert content["text"] != "", message
        return (content["name"], content["text"])
    if message.type == "error":
        assert set(content) == {"ename", "evalue", "traceback"}, message
        assert all(type(line) is str for line in content["traceback"]), message
        return ("error", content["ename"], content["evalue"])
    if message.type == "clear_output":
        assert set(content) == {"wait"}, message
        return ("clear", content["wait"])
    kind = {"execute_result": "result", "display_data": "display", "update_display_data": "update"}
    assert message.type in kind, message
    allowed = {"data", "metadata", "transient"}
    if message.type == "execute_result":
        allowed.add("execution_count")
        assert type(content["execution_count"]) is int, message
    else:
        assert type(content["transient"]) is dict, message
    assert set(content) <= allowed and {"data", "metadata"} <= set(content), message
    shown = [kind[message.type], content["data"]]
    extra = {k: content[k] for k in ("metadata", "transient") if content.get(k)}
    return tuple(shown + [extra]) if extra else tuple(shown)


def text(value):
    """An output of text only: text("1") == {"text/plain": "1"}."""
    return {"text/plain": value}


def join_streams(shown):
    """Consecutive pieces of one stream made one."""
    joined = []
    for item in shown:
        if joined and item[0] in ("stdout", "stderr") and joined[-1][0] == item[0]:
            joined[-1] = (item[0], joined[-1][1] + item[1])
        else:
            joined.append(item)
    return joined


class Result:
    """A finished request: its reply and all IOPub messages with it as parent, busy to idle."""

    def __init__(self, reply, iopub, request, silent=False):
        self.reply, self.iopub, self.request = reply, iopub, request
        assert iopub[0].state == "busy", iopub
        assert iopub[-1].state == "idle", iopub
        body = iopub[1:-1]
        assert not [m for m in body if m.type == "status"], iopub
        self.input = None
        if body and body[0].type == "execute_input":
            self.input = body.pop(0)
            assert set(self.input.content) == {"code", "execution_count"}, self.input
            assert self.input.content["code"] == request.get("code", self.input.content["code"])
        self.body = body
        self.outputs = join_streams([simple(m) for m in body])
        if reply is None:
            return
        content = reply.content
        self.status = content["status"]
        self.count = content.get("execution_count")
        if reply.type == "execute_reply":
            self._check_execute(content, silent)

    def _check_execute(self, content, silent):
        if content["status"] == "aborted":
            assert self.input is None and not self.body, self.iopub
            assert set(content) == {"status", "execution_count"}, self.reply
            return
        assert (self.input is None) == bool(silent or self.never_ran), self.iopub
        if content["status"] == "ok":
            assert set(content) == {"status", "execution_count", "user_expressions", "payload"}
        else:
            assert content["status"] == "error", self.reply
            need = {"status", "execution_count", "ename", "evalue", "traceback"}
            assert need <= set(content) <= need | {"user_expressions", "payload"}, self.reply
            errors = [m.content for m in self.body if m.type == "error"]
            if not self.never_ran:
                same = {k: content[k] for k in ("ename", "evalue", "traceback")}
                assert errors[-1:] == [same], (self.reply, self.iopub)
        if self.input is not None:
            count = self.input.content["execution_count"]
            results = [m.content for m in self.body if m.type == "execute_result"]
            assert all(r["execution_count"] == count for r in results), self.iopub
            if self.request.get("store_history", True) and self.input.content["code"].strip():
                assert self.count == count, (self.reply, self.input)

    @property
    def never_ran(self):
        """A request that was refused: an error reply and nothing else between busy and idle."""
        return self.reply.content["status"] == "error" and not self.body and self.input is None

    def stream(self, name):
        return "".join(m.content["text"] for m in self.body
                       if m.type == "stream" and m.content["name"] == name)

    @property
    def stdout(self):
        return self.stream("stdout")

    @property
    def stderr(self):
        return self.stream("stderr")

    @property
    def error(self):
        """(ename, evalue) of the reply."""
        assert self.status == "error", (self.reply, self.iopub)
        return (self.reply.content["ename"], self.reply.content["evalue"])

    @property
    def traceback(self):
        return plain(self.reply.content["traceback"])


class Client:
    """One client: sockets of its own, one session, one identity on all of them."""

    def __init__(self, connection, sent=None, pidfd=None, *, identity=None, topics=(b"",),
                 channels=CHANNELS, context=None):
        self.connection = connection
        self.key = connection["key"].encode()
        self.digest = getattr(hashlib, connection["signature_scheme"].removeprefix("hmac-"))
        self.session = uuid.uuid4().hex
        self.identity = identity or self.session.encode()
        self.sent = sent if sent is not None else {}  # msg_id -> header bytes, of all clients
        self.pidfd = pidfd
        self.number = 0
        self.kernel_session = None
        self.old_sessions = set()
        self.restarts = 0  # how often it may be replaced in place
        self.seen_ids = set()
        self.starting = []
        self.arrived = collections.deque(maxlen=30)  # for the report of a missed deadline
        self.queue = {name: [] for name in CHANNELS}
        self.context = context or zmq.Context()
        self.own_context = context is None
        self.sockets = {name: self._open(name, topics) for name in channels}

    # -- sockets

    def endpoint(self, channel):
        ip, port = self.connection["ip"], self.connection[f"{channel}_port"]
        if self.connection["transport"] == "ipc":
            return f"ipc://{ip}-{port}"
        ip = {"*": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(ip, ip)
        return f"tcp://[{ip}]:{port}" if ":" in ip else f"tcp://{ip}:{port}"

    def _open(self, channel, topics):
        kind = {"iopub": zmq.SUB, "hb": zmq.REQ}.get(channel, zmq.DEALER)
        opened = self.context.socket(kind)
        opened.linger = 0
        opened.rcvhwm = 0
        opened.sndhwm = 0
        opened.setsockopt(zmq.IPV6, int(":" in self.connection["ip"]))
        opened.setsockopt(zmq.RECONNECT_IVL, 5)
        opened.setsockopt(zmq.RECONNECT_IVL_MAX, 20)
        if kind == zmq.DEALER:
            opened.identity = self.identity
        if kind == zmq.SUB:
            for topic in topics:
                opened.subscribe(topic)
        opened.connect(self.endpoint(channel))
        return opened

    def close(self):
        for each in self.sockets.values():
            each.close()
        self.sockets.clear()
        if self.own_context:
            self.context.destroy(linger=0)

    # -- sending

    def sign(self, parts):
        if not self.key:
            return b""
        mac = hmac.new(self.key, digestmod=self.digest)
        for part in parts:
            mac.update(part)
        return mac.hexdigest().encode()

    def header(self, kind, **extra):
        self.number += 1
        return {"msg_id": f"{self.session}_{self.number}", "msg_type": kind,
                "session": self.session, "username": "tester", "version": "5.5",
                "date": "2026-01-01T00:00:00.000000Z", **extra}

    def send(self, channel, kind, content, *, metadata=None, parent=None, buffers=(), header=None):
        """Sends a signed message. -> its msg_id"""
        header = header or self.header(kind)
        self.send_parts(channel, [compact(p) for p in (header, parent or {}, metadata or {},
                                                       content)], buffers=buffers)
        return header["msg_id"]

    def send_parts(self, channel, parts, *, signature=None, buffers=(), msg_id=None):
        """Sends header, parent header, metadata and content as they are."""
        if msg_id is None:
            try:
                msg_id = json.loads(parts[0])["msg_id"]
            except (ValueError, KeyError, TypeError):
                pass
        if isinstance(msg_id, str):
            self.sent[msg_id] = parts[0]
        signature = self.sign(parts) if signature is None else signature
        self.send_frames(channel, [DELIMITER, signature, *parts, *buffers])

    def send_frames(self, channel, frames):
        self.sockets[channel].send_multipart(frames)

    # -- receiving

    def _pull(self, waiting, end):
        """
        Takes what has come on any channel into the queues, waiting until `end` for the first;
        `waiting` names the channel for the report.
        """
        poller = zmq.Poller()
        channels = [name for name in self.sockets if name != "hb"]
        for name in channels:
            poller.register(self.sockets[name], zmq.POLLIN)
        if self.pidfd is not None:
            poller.register(self.pidfd, zmq.POLLIN)
        left = end - time.monotonic()
        ready = dict(poller.poll(max(0, int(left * 1000) + 1)))
        died = ready.pop(self.pidfd, None)
        if died and not ready:  # the last words may still be on their way through ZeroMQ
            poller.unregister(self.pidfd)
            ready = dict(poller.poll(300))
        if not ready:
            why = "the kernel process has ended" if died else "deadline"
            raise AssertionError(f"nothing came on {waiting}: {why}\n{self.report()}")
        got = 0
        for name in channels:
            while self.sockets[name] in ready and got < 1000:
                try:
                    frames = self.sockets[name].recv_multipart(zmq.NOBLOCK)
                except zmq.Again:
                    break
                got += 1
                message = self._open_message(name, frames)
                self.arrived.append(message)
                if message.state == "starting":
                    assert message.parent == {}, message
                    self.starting.append(message)
                else:
                    self.queue[name].append(message)

    def _open_message(self, channel, frames):
        now = time.monotonic()
        assert DELIMITER in frames, (channel, frames)
        at = frames.index(DELIMITER)
        signature, *parts = frames[at + 1:at + 6]
        assert len(parts) == 4, (channel, frames)
        assert signature == self.sign(parts), (channel, frames)
        header, parent, metadata, content = (json.loads(p.decode("utf-8")) for p in parts)
        message = Message(channel, frames[:at], signature, header, parts[1], parent, metadata,
                          content, frames[at + 6:], now)
        assert all(type(p) is dict for p in (header, parent, metadata, content)), message
        assert set(header) == HEADER_KEYS, header
        assert all(type(v) is str for v in header.values()), header
        assert header["version"] == VERSION, header
        assert DATE.fullmatch(header["date"]), header
        assert header["msg_id"] not in self.seen_ids, header
        self.seen_ids.add(header["msg_id"])
        self.kernel_session = self.kernel_session or header["session"]
        known = {self.kernel_session, *self.old_sessions}  # channels are not in one order
        if header["session"] not in known and self.restarts > 0:
            self.restarts -= 1
            self.old_sessions.add(self.kernel_session)
            known.add(header["session"])
            self.kernel_session = header["session"]
        assert header["session"] in known, header
        if parent:
            sent = self.sent.get(parent.get("msg_id"))
            assert sent is not None, f"parent of nobody's request: {message}"
            assert parts[1] == sent, (parts[1], sent)
        else:
            assert parts[1] == b"{}", message
            assert message.type in ("status", "iopub_welcome", "shutdown_reply", "stream"), message
        assert len(message.identities) == (1 if channel == "iopub" else 0), frames
        return message

    def report(self):
        lines = ["the last messages that came:"]
        lines += [f"  {m}" for m in self.arrived] or ["  none"]
        return "\n".join(lines)

    def take(self, channel, wanted=lambda m: True, timeout=DEADLINE):
        """The first message of a channel that is wanted; the others stay."""
        end = time.monotonic() + timeout
        looked = 0
        queue = self.queue[channel]
        while True:
            for index in range(looked, len(queue)):
                if wanted(queue[index]):
                    return queue.pop(index)
            looked = len(queue)
            self._pull(channel, end)

    def reply(self, channel, msg_id, timeout=DEADLINE):
        return self.take(channel, lambda m: m.parent_id == msg_id, timeout)

    def iopub(self, msg_id, timeout=DEADLINE):
        """All IOPub messages of a request up to and with its idle."""
        end = time.monotonic() + timeout
        found = []
        while not found or found[-1].state != "idle":
            found.append(self.take("iopub", lambda m: m.parent_id == msg_id,
                                   end - time.monotonic()))
        return found

    def silence(self, channel, seconds=0.2):
        """Whether nothing comes for a while: only for what must not happen at all."""
        return not self.queue[channel] and not self.sockets[channel].poll(int(seconds * 1000))

    # -- conversations

    def welcome(self, timeout=DEADLINE):
        """Waits for the welcome that says: this subscription counts from now on."""
        return self.take("iopub", lambda m: m.type == "iopub_welcome", timeout)

    def ask(self, channel, kind, content=None, timeout=DEADLINE, **options):
        """A request with a reply: busy, reply, idle and nothing else. -> the reply"""
        msg_id = self.send(channel, kind, content or {}, **options)
        return self.finish(msg_id, channel, timeout, request=content or {}).reply

    def kernel_info(self, channel="shell", timeout=DEADLINE):
        return self.ask(channel, "kernel_info_request", timeout=timeout)

    def send_execute(self, code, channel="shell", *, metadata=None, **options):
        content = {"code": code, "silent": False, "store_history": True, "user_expressions": {},
                   "allow_stdin": False, "stop_on_error": True, **options}
        return self.send(channel, "execute_request", content, metadata=metadata)

    def finish(self, msg_id, channel="shell", timeout=DEADLINE, request=None):
        """Waits for reply and idle. -> Result"""
        end = time.monotonic() + timeout
        reply = self.reply(channel, msg_id, timeout)
        iopub = self.iopub(msg_id, end - time.monotonic())
        return Result(reply, iopub, request or {}, bool((request or {}).get("silent")))

    def execute(self, code, channel="shell", timeout=DEADLINE, **options):
        msg_id = self.send_execute(code, channel, **options)
        return self.finish(msg_id, channel, timeout, request={"code": code, **options})

    def finish_execute(self, msg_id, code, channel="shell", timeout=DEADLINE, **options):
        return self.finish(msg_id, channel, timeout, request={"code": code, **options})

    def run(self, code, timeout=DEADLINE, **options):
        """Runs a cell that must succeed. -> what a user sees of it"""
        result = self.execute(code, timeout=timeout, **options)
        assert result.status == "ok", (result.outputs, result.traceback)
        return result.outputs

    def fail(self, code, timeout=DEADLINE, **options):
        """Runs a cell that must fail. -> the Result"""
        result = self.execute(code, timeout=timeout, **options)
        assert result.status == "error", result.outputs
        return result

    def started(self, code, mark="go\n", **options):
        """
        Sends a cell that prints `mark` and then goes on, and waits for the mark: from now on
        it runs. -> (msg_id, code), for finished()
        """
        msg_id = self.send_execute(code, **options)
        seen = ""
        kept = []
        while seen != mark:
            message = self.take("iopub", lambda m: m.parent_id == msg_id)
            kept.append(message)
            if message.type == "stream":
                seen += message.content["text"]
            assert mark.startswith(seen), kept
        self.queue["iopub"][:0] = kept  # in front: finish() sees the whole of it
        return msg_id, code

    def finished(self, started, timeout=DEADLINE, **options):
        return self.finish_execute(*started, timeout=timeout, **options)

    def answer(self, request, value, **extra):
        self.send("stdin", "input_reply", {"value": value, **extra}, parent=request.header)

    def interrupt(self):
        """interrupt_request on control, answered at once. -> the reply"""
        return self.ask("control", "interrupt_request")

    def ping(self, data=b"ping", timeout=DEADLINE):
        beat = self.sockets["hb"]
        beat.send(data)
        assert beat.poll(int(timeout * 1000)), f"no heartbeat\n{self.report()}"
        return beat.recv()

    def leftovers(self):
        """What came and was never asked for, after all that was under way has arrived."""
        for channel in ("shell", "control"):
            self.kernel_info(channel)
        if "stdin" in self.sockets and self.sockets["stdin"].poll(0):
            self._pull("stdin", time.monotonic() + 1)
        return [m for name in CHANNELS for m in self.queue[name]]


# --- the kernel ------------------------------------------------------------


# The line of the log that another Python has taken the place of one that died.
IN_PLACE = r"einkorn: Python is in place again, [\d.]+ ms after its end"


class Kernel(Client):
    """A kernel process of its own and its first client."""

    def __init__(self, *, args=(), env=None, python=PYTHON, launcher=(), stdin=subprocess.DEVNULL,
                 ports=None, ready=True, cwd=None, session=True, registration=None, **connection):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="ek-"))
        self.file = self.directory / "connection.json"
        self.expected_log = [IN_PLACE] if "restart" in args else []
        self.others = []
        self.stopped = False
        fields = {"transport": "tcp", "ip": "127.0.0.1", "key": uuid.uuid4().hex,
                  "signature_scheme": "hmac-sha256", "kernel_name": "einkorn"}
        fields.update(connection)
        if fields["transport"] == "ipc" and "ip" not in connection:
            fields["ip"] = str(self.directory / "k")
        if ports is None:
            ports = range(1, 6) if fields["transport"] == "ipc" else PORTS.take()
        fields.update({f"{name}_port": port for name, port in zip(CHANNELS, ports)})
        self.given_ports = [port for port in ports if port != 0]
        if registration:  # the kernel chooses, and reports them to this launcher
            fields, self.given_ports = registration.file, []
        self.file.write_bytes(compact(fields))
        self.file.chmod(0o600)
        self.python = python
        chosen = ["--python", python] if python else []
        # A test that brings a Python of its own brings one without IPython.
        more = [a for a in ARGUMENTS if a != "--shell=ipython" or python == PYTHON]
        args, env = ways_in.choose(python, args, env or {})
        self.argv = [*launcher, EINKORN, "kernel", "-f", str(self.file), *chosen, *more, *args]
        environment = {k: v for k, v in os.environ.items()
                       if not k.startswith(("PYTEST", "PYTHON")) or k == "PYTHONMALLOC"}
        environment.pop("JPY_PARENT_PID", None)
        environment["JUPYTER_RUNTIME_DIR"] = str(self.directory / "runtime")
        environment["IPYTHONDIR"] = str(self.directory / "ipython")
        environment.update(env)
        self.out = open(self.directory / "stdout", "w+b")
        self.err = open(self.directory / "stderr", "w+b")
        self.process = subprocess.Popen(self.argv, stdin=stdin, stdout=self.out, stderr=self.err,
                                        env=environment, start_new_session=session, cwd=cwd)
        self.pid = self.process.pid
        if registration:
            fields = registration.learn(self)
        elif not all(ports):  # the kernel chooses, and writes them back
            self.file_is_final()
            fields = json.loads(self.file.read_text())
        super().__init__(fields, pidfd=os.pidfd_open(self.pid))
        self.restarts = 9 if "restart" in args else 0
        if ready:
            try:
                self.welcome()
                self.info = self.kernel_info()
            except BaseException as error:
                error.add_note(f"stderr of the kernel: {self.stderr()}")
                self.close()
                raise

    def file_is_final(self):
        wait_for_file(self.file, lambda text: all(
            json.loads(text or "{}").get(f"{name}_port") for name in CHANNELS))

    def connect(self, **options):
        """One more client."""
        other = Client(self.connection, self.sent, self.pidfd, context=self.context, **options)
        other.kernel_session = self.kernel_session
        self.others.append(other)
        return other

    # -- the process

    @property
    def worker(self):
        """The pid of the Python process: the kernel's one child that leads a group of its own."""
        found = [pid for pid in children_of(self.pid) if os.getpgid(pid) == pid]
        assert len(found) == 1, found
        return found[0]

    def stderr(self):
        return (self.directory / "stderr").read_text(errors="replace")

    def stdout_text(self):
        return (self.directory / "stdout").read_text(errors="replace")

    def expect_log(self, *patterns):
        """Lines that a test provokes on the kernel's stderr; any other line is a failure."""
        self.expected_log += patterns

    def signal_group(self, number=signal.SIGINT):
        os.killpg(self.pid, number)

    def exit_status(self, timeout=DEADLINE):
        try:
            return self.process.wait(within(timeout))
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the kernel has not ended\n{self.report()}") from None

    def request_shutdown(self, channel="control", restart=False, timeout=5):
        """Sends shutdown_request; checks reply and broadcast."""
        msg_id = self.send(channel, "shutdown_request", {"restart": restart})
        reply = self.reply(channel, msg_id, timeout)
        assert reply.type == "shutdown_reply", reply
        assert reply.content == {"status": "ok", "restart": restart}, reply
        iopub = self.iopub(msg_id, timeout)
        broadcast = [m for m in iopub if m.type == "shutdown_reply"]
        assert [m.content for m in broadcast] == [reply.content], iopub
        assert [m.state or m.type for m in iopub] == ["busy", "shutdown_reply", "idle"], iopub

    def stop(self):
        """Shuts down, and checks that nothing is left."""
        if self.process.poll() is None and not self.stopped:
            self.request_shutdown()
        self.check_gone()

    def check_gone(self, status=0):
        """The process has ended as expected; group, ports and stderr are as they should be."""
        self.stopped = True
        assert self.exit_status(5) == status
        assert members_of_group(self.pid) == []
        self.check_stderr()
        assert self.stdout_text() == ""
        if self.connection["transport"] == "tcp":
            ip = self.connection["ip"]
            host = ip if ip.startswith("127.") else "127.0.0.1"
            # A port that the system chose may be anybody's now.
            busy = [port for port in self.given_ports if not port_is_free(port, host)]
            assert busy == [], busy

    def check_stderr(self):
        lines = self.stderr().splitlines()
        unknown = [line for line in lines
                   if not any(re.fullmatch(p, line) for p in self.expected_log)]
        assert unknown == [], self.stderr()

    def close(self):
        """Frees everything whatever happened; never fails."""
        family = descendants_of(self.pid)
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pid in set(family + members_of_group(self.pid)):
            try:
                os.kill(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass
        for other in self.others:
            other.close()
        super().close()
        os.close(self.pidfd)
        self.out.close()
        self.err.close()
        shutil.rmtree(self.directory, ignore_errors=True)


def run_kernel(*args, env=None, timeout=DEADLINE, cwd=None):
    """Runs einkorn to its end, for command lines that must be refused."""
    return subprocess.run([EINKORN, *map(str, args)], stdin=subprocess.DEVNULL, text=True,
                          capture_output=True, timeout=timeout, env={**os.environ, **(env or {})},
                          cwd=cwd)
