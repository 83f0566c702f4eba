"""
What is measured. Each function starts kernels of one spec, and gives numbers
by name: seconds, kB or a count; a figure that this kernel cannot have is left
out. One call is one sample; bench.py calls them for all kernels in turn, many
times.

Nothing here waits by sleeping where an event tells more; only an idle kernel
is waited for by looking at its processor time.
"""

import os
import re
import select
import time

import client
import kernels
import load
from stopwatch import quantile, timed

PRINTS = 100_000
BIG = 900_000  # characters
CELLS = 500
ROUND_TRIPS = 300
HELD = 0.5  # seconds
ECHOES = 20
ECHO = 1_000_000  # bytes


def start(spec):
    """From nothing to the first answer of any kind, and back to nothing."""
    with spec.start() as kernel:
        kernel.reply("shell", kernel.send("shell", "kernel_info_request", {}))
        info = kernel.since_spawn()
        kernel.subscribe()
        # Python may still be starting in there: let it, so that shutdown is that of a
        # kernel at rest.
        kernel.run("1+1")
        begin = time.perf_counter()
        kernel.send("control", "shutdown_request", {"restart": False})
        kernel.wait_end(10)
        return {"kernel_info": info, "shutdown": time.perf_counter() - begin}


def first(spec):
    """From nothing to the reply to a first cell, and what the Python in it costs alone."""
    with spec.start() as kernel:
        request = kernel.send_cell("1+1", user_expressions={"two": "1+1"})
        reply = kernel.reply("shell", request)
        seconds = kernel.since_spawn()
        client.check_ok(reply, "1+1")
        expressions = client.content_of(reply)["user_expressions"]
        # xeus-python in raw mode knows none.
        assert not expressions or expressions["two"]["data"]["text/plain"] == "2", expressions
    bare = kernels.python_pass()
    return {"first_result": seconds, "python_pass": bare, "first_result_by_pass": seconds / bare}


def memory(spec):
    """At rest after the first cell."""
    with spec.start() as kernel:
        kernel.ready().run("1+1")
        pid = kernel.process.pid
        kernels.wait_quiet(pid)
        found = {f"idle_{name}": size for name, size in kernels.memory(pid).items()}
        if alone := kernels.pss_alone(pid):
            found["idle_pss_alone"] = alone
        return found


def round_trips(spec):
    with spec.start() as kernel:
        kernel.ready()
        heart = kernel.socket("hb")

        def beat():
            heart.send(b"ping")
            heart.recv()

        def cell():
            kernel.until_idle(kernel.send_cell("pass"))

        beats, controls = times_of(beat), [kernel.control() for _ in range(ROUND_TRIPS)]
        kernel.settle()
        cells = times_of(cell)
        return {"heartbeat": quantile(beats, 0.5), "control": quantile(controls, 0.5),
                "execute_p50": quantile(cells, 0.5), "execute_p99": quantile(cells, 0.99)}


def shell(spec):
    """IPython where it is needed: the first magic of a session, and the cells after it."""
    with spec.start() as kernel:
        kernel.ready().run("pass")
        try:
            _, magic = timed(lambda: kernel.run("%time pass", client.PATIENCE))
        except AssertionError as error:
            raise client.Unsupported("there are no magics") from error

        def cell():
            kernel.until_idle(kernel.send_cell("pass"))

        cells = times_of(cell)
        pid = kernel.process.pid
        kernels.wait_quiet(pid)
        found = {f"shell_{name}": size for name, size in kernels.memory(pid).items()}
    bare = kernels.python_import("IPython")
    return {**found, "first_magic": magic, "python_import": bare,
            "first_magic_by_import": magic / bare, "shell_p50": quantile(cells, 0.5),
            "shell_p99": quantile(cells, 0.99)}


def prints(spec):
    return printed(spec, "prints", f"for i in range({PRINTS}): print(i)", lines_of(PRINTS))


def flushed(spec):
    return printed(spec, "flushed", load.LOADS["flushed"], lines_of(load.FLUSHED))


def big_print(spec):
    return printed(spec, "big_print", f"print('x' * {BIG})", BIG + 1)


def printed(spec, name, code, characters):
    """From the request to idle; all of the text must have come."""
    with spec.start() as kernel:
        kernel.ready().run("pass")
        messages, seconds = timed(lambda: kernel.run(code, 4 * client.PATIENCE))
        texts = client.contents(messages, "stream")
        came = sum(len(content["text"]) for content in texts)
        if came != characters:
            raise client.Unsupported(f"{came:,} of {characters:,} characters come")
        return {name: seconds, f"{name}_messages": len(texts)}


def displays(spec):
    with spec.start() as kernel:
        kernel.ready().run(load.SETUP)
        messages, seconds = timed(lambda: kernel.run(load.LOADS["displays"]))
        assert len(client.contents(messages, "display_data")) == load.DISPLAYS
        return {"displays": seconds}


def interrupts(spec):
    """From the interrupt_request to the reply to the cell, which is running for certain."""
    found = {}
    with spec.start() as kernel:
        kernel.ready().run("import time")
        for name, busy in (("interrupt_loop", "while True: pass"),
                           ("interrupt_sleep", "time.sleep(60)")):
            samples = []
            for _ in range(5):
                request = kernel.send_cell(f"print('go', flush=True)\n{busy}")
                kernel.until_text(request, client.PATIENCE)
                # A second look at the kernel: the cell is past its print by now.
                kernel.control()
                begin = time.perf_counter()
                kernel.send("control", "interrupt_request", {})
                reply = kernel.reply("shell", request, client.PATIENCE)
                samples.append(time.perf_counter() - begin)
                assert client.content_of(reply)["ename"] == "KeyboardInterrupt"
                kernel.until_idle(request)
            found[name] = quantile(samples, 0.5)
    return found


def held(spec):
    """
    Control round trips while the cell waits in C without giving the GIL away. It is C
    that says through a FIFO when this has begun. The slowest of them is taken as the
    kernel has it: from reading the request off the connection to writing the answer.
    """
    with spec.start(watched=True) as kernel:
        kernel.ready().run("import ctypes; c = ctypes.PyDLL(None)")
        path = kernel.directory / "held"
        os.mkfifo(path)
        fifo = os.open(path, os.O_RDWR)
        request = kernel.send_cell(f"c.system(b'echo > {path}; exec sleep {HELD}')")
        begun = select.select([fifo], [], [], client.DEADLINE)[0]
        os.close(fifo)
        assert begun, "the cell does not begin"
        begin = time.perf_counter()
        samples = []
        while len(samples) < ROUND_TRIPS and time.perf_counter() < begin + HELD * 0.8:
            samples.append(kernel.control())
        client.check_ok(kernel.reply("shell", request), "system")
        found = {"control_gil_held": quantile(samples, 0.5)}
        if kernels.WATCH:
            inside = kernel.seconds_inside(begin)
            assert len(inside) == len(samples), f"{len(samples)} answers, {len(inside)} seen inside"
            found["control_gil_held_inside"] = max(inside)
        return found


def comm_echo(spec):
    """A comm whose other end sends every message back, with its buffer."""
    with spec.start() as kernel:
        reply = kernel.reply("shell", kernel.ready().send_cell(ECHO_TARGET))
        if client.content_of(reply)["status"] != "ok":
            raise client.Unsupported("no comms in Python")
        kernel.settle()
        opened = kernel.send("shell", "comm_open",
                             {"comm_id": "bench", "target_name": "echo", "data": {}})
        if any(client.type_of(m) == "comm_close" for m in kernel.until_idle(opened, client.PATIENCE)):
            raise client.Unsupported("no comms from clients")
        buffer = os.urandom(ECHO)

        def echo():
            request = kernel.send("shell", "comm_msg", {"comm_id": "bench", "data": {}}, [buffer])
            return kernel.until_idle(request, client.PATIENCE)

        samples = []
        for _ in range(ECHOES):
            messages, seconds = timed(echo)
            samples.append(seconds)
            answers = [m for m in messages if client.type_of(m) == "comm_msg"]
            if not answers:
                raise client.Unsupported("comm messages do not arrive")
            if answers[0][client.CONTENT + 1:] != [buffer]:
                raise client.Unsupported("buffers get lost")
        return {"comm_echo": quantile(samples, 0.5)}


ECHO_TARGET = """
def echo(comm, opened):
    @comm.on_msg
    def answer(message):
        comm.send(message["content"]["data"], buffers=message["buffers"])

try:
    from comm import get_comm_manager
    manager = get_comm_manager()
except ImportError:
    manager = get_ipython().kernel.comm_manager
manager.register_target("echo", echo)
"""


def restart(spec):
    """From the death of Python in a cell until another is in place, as the kernel's log has it."""
    if not spec.restarts_python:
        return {}
    with spec.start(options=["--on-death", "restart"]) as kernel:
        kernel.ready().run("import os, signal")
        died = kernel.reply("shell", kernel.send_cell("os.kill(os.getpid(), signal.SIGKILL)"))
        assert client.content_of(died)["ename"] == "KernelDied"
        kernel.run("pass")  # by the other one
        text = (kernel.directory / "log").read_text()
        return {"restart": float(re.search(r"in place again, ([\d.]+) ms after", text)[1]) / 1000}


def queued(spec):
    """A notebook's "run all": every request is sent before the first is answered."""
    with spec.start() as kernel:
        kernel.ready().run("pass")

        def run_all():
            requests = [kernel.send_cell(f"x{i} = {i}\nprint(x{i})\nx{i}") for i in range(CELLS)]
            for request in requests:
                kernel.until_idle(request)
            return requests

        requests, seconds = timed(run_all)
        for request in requests:
            client.check_ok(kernel.reply("shell", request), "a queued cell")
        return {"queued": seconds}


GROUPS = {f.__name__: f for f in (start, first, memory, round_trips, shell, prints, flushed, big_print,
                                  displays, comm_echo, interrupts, held, queued, restart,
                                  load.memory_of_floods, load.control_under_load,
                                  load.interrupts_under_load)}
# What the null kernel has, too.
WITHOUT_PYTHON = ("start", "memory", "round_trips", "queued")


def lines_of(count):
    """How many characters the numbers below count take, a line each."""
    return sum(len(str(i)) + 1 for i in range(count))


def times_of(act):
    return [timed(act)[1] for _ in range(ROUND_TRIPS)]
