"""
Issue 5, "Proof": clients that vanish, come back, are two at once, or no clients at all. None of
them costs another one anything. What those who never read cost the kernel: test_memory.py.
"""

import random
import socket

import pytest
import zmq

from client import CHANNELS, text
from processes import fds, fds_when_connected, settled


def still_serves(kernel):
    assert kernel.run("1 + 1") == [("result", text("2"))]
    assert kernel.kernel_info("control").content["status"] == "ok"
    assert kernel.ping() == b"ping"


# --- vanishing and coming back -----------------------------------------------------


def test_clients_that_vanish_before_the_reply(fresh, long):
    """Their cells run, the next client's replies come, and nothing of them is kept."""
    kernel = fresh
    kernel.run("n = 0")
    before = fds_when_connected(kernel)
    rounds = 300 if long else 30
    for number in range(rounds):
        other = kernel.connect(channels=("shell",))
        msg_id = other.send_execute("n += 1; print(n)")
        if number % 2:
            kernel.take("iopub", lambda m: m.parent_id == msg_id and m.state == "busy")
            other.close()
            shown = kernel.iopub(msg_id)
        else:
            shown = kernel.iopub(msg_id)  # the reply is on its way, and nobody takes it
            other.close()
        assert [m.content["text"] for m in shown if m.type == "stream"] == [f"{number + 1}\n"]
    assert kernel.run("n") == [("result", text(str(rounds)))]
    settled(lambda: fds(kernel.pid), before)


def test_clients_that_come_back_with_their_identity(fresh, tmp_path, long):
    """A browser's server reconnects while its cell runs: the reply goes to the new connection."""
    kernel = fresh
    before = fds_when_connected(kernel)
    release = tmp_path / "release"
    for _ in range(100 if long else 15):
        first = kernel.connect(identity=b"the same", channels=("shell",))
        msg_id = first.send_execute(f"import os, time\nfile = {str(release)!r}\n"
                                    "while not os.path.exists(file): time.sleep(0.005)")
        begun = kernel.take("iopub", lambda m: m.parent_id == msg_id and m.state == "busy")
        kernel.queue["iopub"].insert(0, begun)
        second = kernel.connect(identity=b"the same", channels=("shell",))
        asked = second.send("shell", "kernel_info_request", {})
        second.take("shell", lambda m: m.parent_id == asked)  # it is the one now
        release.touch()
        assert second.reply("shell", msg_id).content["status"] == "ok"
        release.unlink()
        for each in (msg_id, asked):
            kernel.iopub(each)
        first.close()
        second.close()
    still_serves(kernel)
    settled(lambda: fds(kernel.pid), before)


def test_two_clients_at_once(fresh, long):
    """Replies go to the one who asked, statuses and outputs to both, in the order of the cells."""
    kernel = fresh
    kernel.run("seen = []")
    other = kernel.connect()
    other.welcome()
    kernel.take("iopub", lambda m: m.type == "iopub_welcome")
    both = (kernel, other)
    chance = random.Random(7)
    asked = []
    for number in range(1000 if long else 120):
        who = chance.choice(both)
        code = f"seen.append({number})\nprint({number})"
        asked.append((who, who.send_execute(code), f"{number}\n"))
        if chance.random() < 0.1:
            for each in both:
                asked.append((each, each.send("control", "kernel_info_request", {}), None))
    for who, msg_id, said in asked:
        whom = both[1 - both.index(who)]
        who.reply("shell" if said else "control", msg_id)
        mine, theirs = who.iopub(msg_id), whom.iopub(msg_id)
        assert [(m.type, m.content) for m in mine] == [(m.type, m.content) for m in theirs]
        assert [m.content["text"] for m in mine if m.type == "stream"] == ([said] if said else [])
    assert kernel.leftovers() == []
    other.queue["iopub"].clear()
    (_, seen), = kernel.run("print(sorted(seen) == list(range(len(seen))), len(seen))")
    assert seen.split() == ["True", str(sum(said is not None for _, _, said in asked))]


# --- too much ---------------------------------------------------------------------------


def test_a_flood_of_heartbeats(fresh, long):
    """A mad client beats as fast as it can: it gets them back in order, and others their turn."""
    kernel = fresh
    client = kernel.context.socket(zmq.DEALER)
    client.linger = 0
    client.rcvhwm = client.sndhwm = 0
    client.connect(kernel.endpoint("hb"))
    number = 200_000 if long else 20_000
    sent = got = 0
    while got < number:
        while sent < number and sent - got < 20:  # below what may wait for it
            client.send(b"%d" % sent)
            sent += 1
        assert client.poll(5000)
        assert client.recv() == b"%d" % got
        got += 1
        if got == number // 2:
            still_serves(kernel)
    client.close()


# --- no clients at all -----------------------------------------------------------------


GARBAGE = {
    "random": lambda chance: chance.randbytes(chance.randrange(1, 5000)),
    "http": lambda chance: b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "tls": lambda chance: b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + chance.randbytes(500),
    "half a greeting": lambda chance: b"\xff\0\0\0\0\0\0\0\x01\x7f\x03",
    "greeting, then garbage": lambda chance: (
        b"\xff\0\0\0\0\0\0\0\x01\x7f\x03\x00NULL" + b"\0" * 48 + chance.randbytes(300)),
    "ZMTP 2": lambda chance: b"\xff\0\0\0\0\0\0\0\x01\x7f\x01\x05\0\0" + chance.randbytes(300),
    "ZMTP 1": lambda chance: b"\x01\0\x05\0abcd" + b"\x01\0" + chance.randbytes(300),
    "a size of all ones": lambda chance: (
        b"\xff\0\0\0\0\0\0\0\x01\x7f\x03\x00NULL" + b"\0" * 48 +
        b"\x04\x19\x05READY\x0bSocket-Type\0\0\0\x06DEALER"[:27] + b"\x02" + b"\xff" * 8),
    "nothing": lambda chance: b"",
}


@pytest.mark.parametrize("name", GARBAGE)
def test_bytes_that_are_no_zmtp(start, name, long):
    """On all five ports; promise 4: no input from the network ends the kernel."""
    kernel = start()
    kernel.expect_log(r"einkorn: message on \w+ dropped: .*",
                      r"einkorn: \d+ more messages were dropped or ignored")
    chance = random.Random(name)
    for _ in range(100 if long else 10):
        for channel in CHANNELS:
            port = kernel.connection[f"{channel}_port"]
            with socket.create_connection(("127.0.0.1", port)) as raw:
                try:
                    raw.sendall(GARBAGE[name](chance))
                    if chance.random() < 0.3:
                        raw.shutdown(socket.SHUT_WR)
                except (BrokenPipeError, ConnectionResetError):
                    pass  # it would not hear more of it
    still_serves(kernel)
    kernel.stop()  # what is left are welcomes: some of it reads as a subscription


def test_half_open_connections(fresh):
    """They say nothing and stay: nobody waits for them, and once closed they leave nothing."""
    kernel = fresh
    before = fds_when_connected(kernel)
    silent = [socket.create_connection(("127.0.0.1", kernel.connection[f"{channel}_port"]))
              for channel in CHANNELS for _ in range(40)]
    still_serves(kernel)
    other = kernel.connect()
    other.welcome()
    kernel.take("iopub", lambda m: m.type == "iopub_welcome")
    other.close()
    for each in silent:
        each.close()
    settled(lambda: fds(kernel.pid), before)
