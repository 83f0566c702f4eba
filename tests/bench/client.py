"""
A Jupyter client made for stopwatches: bare ZeroMQ, and nothing that costs time
while a kernel is being timed.

Messages are kept as raw frames until the clock has stopped, and only then
parsed; a reply is recognised by the id of its request in the parent header's
bytes. What a test of correctness would look at (signatures, order, fields) is
the business of tests/e2e.
"""

import hashlib
import hmac
import json
import os
import socket
import time
import uuid

import zmq

DELIMITER = b"<IDS|MSG>"
DEADLINE = 120.0  # seconds, for anything that must come
PATIENCE = 5  # seconds, for an answer that some kernels never give
CHANNELS = ("shell", "iopub", "stdin", "control", "hb")
SOCKET_TYPES = {"shell": zmq.DEALER, "control": zmq.DEALER, "iopub": zmq.SUB, "hb": zmq.REQ}
# After the delimiter: signature, header, parent header, metadata, content.
HEADER, PARENT, CONTENT = 2, 3, 5


class Unsupported(Exception):
    """This kernel does not do what is measured, or not all of it."""


def connection_info():
    """The contents of a connection file with five ports that are free now."""
    probes = [socket.socket() for _ in CHANNELS]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return {"transport": "tcp", "ip": "127.0.0.1", "key": uuid.uuid4().hex,
            "signature_scheme": "hmac-sha256", "kernel_name": "bench",
            **{f"{name}_port": port for name, port in zip(CHANNELS, ports)}}


class Client:
    """
    Sockets are connected when they are first used: while a kernel starts, each
    one that cannot connect yet tries again every millisecond or two, and that
    should take no more of the machine than it must.
    """

    def __init__(self, connection):
        self.connection = connection
        self.key = connection["key"].encode()
        self.session = uuid.uuid4().hex
        self.sent = 0
        self.context = zmq.Context()
        self.sockets = {}

    def socket(self, channel):
        if channel not in self.sockets:
            s = self.context.socket(SOCKET_TYPES[channel])
            s.linger = 0
            s.rcvhwm = s.sndhwm = 0
            s.rcvtimeo = int(DEADLINE * 1000)
            s.reconnect_ivl = 1
            if channel == "iopub":
                s.subscribe(b"")
            s.connect(f"tcp://127.0.0.1:{self.connection[channel + '_port']}")
            self.sockets[channel] = s
        return self.sockets[channel]

    def prepare(self, message_type, content, buffers=()):
        """-> the message's id, its frames"""
        self.sent += 1
        message_id = f"{self.session}_{self.sent}_"
        header = {"msg_id": message_id, "msg_type": message_type, "username": "bench",
                  "session": self.session, "date": "2026-01-01T00:00:00.000000Z",
                  "version": "5.5"}
        frames = [json.dumps(part).encode() for part in (header, {}, {}, content)]
        digest = hmac.new(self.key, b"".join(frames), hashlib.sha256).hexdigest().encode()
        return message_id, [DELIMITER, digest, *frames, *buffers]

    def send(self, channel, message_type, content, buffers=()):
        """-> the message's id"""
        message_id, frames = self.prepare(message_type, content, buffers)
        self.socket(channel).send_multipart(frames)
        return message_id

    def receive(self, channel, deadline):
        """-> the frames of the next message, from the delimiter on"""
        s = self.socket(channel)
        left = deadline - time.perf_counter()
        if not s.poll(max(0, int(left * 1000))):
            raise TimeoutError(f"what must come on {channel} does not")
        frames = s.recv_multipart()
        return frames[frames.index(DELIMITER):]

    def reply(self, channel, message_id, seconds=DEADLINE):
        """Waits for the reply to a request. -> its frames"""
        mark = message_id.encode()
        deadline = time.perf_counter() + seconds
        while True:
            frames = self.receive(channel, deadline)
            if mark in frames[PARENT]:
                return frames

    def until_idle(self, message_id, seconds=DEADLINE):
        """Waits until a request is done on IOPub. -> the frames of all its messages"""
        mark = message_id.encode()
        deadline = time.perf_counter() + seconds
        found = []
        while True:
            frames = self.receive("iopub", deadline)
            if mark in frames[PARENT]:
                found.append(frames)
                # Long frames are never searched.
                if len(frames[CONTENT]) < 100 and b'"idle"' in frames[CONTENT]:
                    return found

    def until_text(self, message_id, seconds):
        """Waits for the first text that a request prints."""
        mark = message_id.encode()
        deadline = time.perf_counter() + seconds
        while True:
            frames = self.receive("iopub", deadline)
            if mark in frames[PARENT] and type_of(frames) == "stream":
                return

    def subscribe(self):
        """Makes sure that IOPub arrives: asks until something of an answer does."""
        iopub = self.socket("iopub")
        end = time.perf_counter() + DEADLINE
        while time.perf_counter() < end:
            request = self.send("control", "kernel_info_request", {})
            self.reply("control", request)
            if iopub.poll(100):
                self.settle()
                return
        raise TimeoutError("nothing on iopub")

    def settle(self):
        """Reads IOPub until nothing has come for a while."""
        iopub = self.socket("iopub")
        while iopub.poll(100):
            iopub.recv_multipart()

    def send_cell(self, code, **options):
        return self.send("shell", "execute_request",
                         {"code": code, "silent": False, "store_history": True,
                          "user_expressions": {}, "allow_stdin": False, "stop_on_error": True,
                          **options})

    def run(self, code, seconds=DEADLINE):
        """Runs a cell to its end. -> the frames of what it published"""
        request = self.send_cell(code)
        check_ok(self.reply("shell", request, seconds), code)
        return self.until_idle(request, seconds)

    def close(self):
        self.context.destroy(linger=0)


def type_of(frames):
    return json.loads(frames[HEADER])["msg_type"]


def content_of(frames):
    return json.loads(frames[CONTENT])


def contents(messages, message_type):
    return [content_of(frames) for frames in messages if type_of(frames) == message_type]


def check_ok(reply, code):
    content = content_of(reply)
    if content["status"] != "ok":
        raise AssertionError(f"{code!r} failed: {content}")
