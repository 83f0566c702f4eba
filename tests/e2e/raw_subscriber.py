"""
A subscriber that is a bare socket: it reads when a test says so, and not a byte
otherwise. A SUB socket of libzmq would go on reading in its own thread. It speaks
as much of ZMTP 3.0 (rfc.zeromq.org/spec/23) as a subscriber without security needs.
"""

import socket

GREETING = b"\xff" + bytes(8) + b"\x7f" + b"\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)
READY = b"\x05READY" + b"\x0bSocket-Type" + b"\x00\x00\x00\x03SUB"
SUBSCRIBE_TO_ALL = b"\x00\x01\x01"


class RawSubscriber:
    def __init__(self, connection, timeout=30, receive_buffer=None):
        port = connection["iopub_port"]
        if connection["transport"] == "ipc":
            self.socket = socket.socket(socket.AF_UNIX)
            address = f"{connection['ip']}-{port}"
        else:
            self.socket = socket.socket()
            address = (connection["ip"], port)
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(timeout)
        self.socket.connect(address)
        self.file = self.socket.makefile("rb")
        self.socket.sendall(GREETING)
        assert len(self.file.read(len(GREETING))) == len(GREETING)
        self.socket.sendall(bytes([4, len(READY)]) + READY)
        flags, body = self.frame()
        assert flags & 4 and body.startswith(b"\x05READY"), body
        self.socket.sendall(SUBSCRIBE_TO_ALL)
        assert b"iopub_welcome" in b"".join(self.message())

    def frame(self):
        """-> (flags, body); EOFError when the kernel has closed the connection."""
        flags = self.file.read(1)
        size = self.file.read(8 if flags and flags[0] & 2 else 1)
        if not size:
            raise EOFError
        length = int.from_bytes(size, "big")
        body = self.file.read(length)
        if len(body) < length:
            raise EOFError
        return flags[0], body

    def message(self):
        """The frames of the next message."""
        frames = []
        more = True
        while more:
            flags, body = self.frame()
            assert not flags & 4, body
            frames.append(body)
            more = flags & 1
        return frames

    def rest(self):
        """All messages until the kernel closes the connection."""
        found = []
        try:
            while True:
                found.append(self.message())
        except (EOFError, ConnectionResetError):
            return found

    def until(self, wanted):
        """All messages up to the first whose frames, joined, contain these bytes."""
        found = []
        while not found or wanted not in b"".join(found[-1]):
            found.append(self.message())
        return found

    def close(self):
        self.file.close()
        self.socket.close()
