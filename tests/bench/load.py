"""
What a kernel does while a cell floods it: the time, what goes over the wire,
what it costs in memory, and whether control is answered meanwhile.

A listener in a process of its own takes IOPub (subscriber.py). The control
round trips alternate with heartbeats of the null kernel, which has nothing to
do: what these take under the same load is the machine's share.
"""

import contextlib
import json
import subprocess
import sys
import time

import client
import kernels
from stopwatch import quantile, timed

HUGE = 200_000_000  # characters
RUNAWAY = 200  # prints of a million characters
DISPLAYS = 2_000
FLUSHED = 5_000
LOAD_SAMPLES = 10_000
LOAD_SECONDS = 5  # what is measured until then must do
INTERRUPTS = 5
HEARTBEAT_SPEC = None  # of the null kernel; bench.py says where it is

SETUP = "class Bold:\n    def _repr_html_(self): return '<b>x</b>'\nx = Bold()"
LOADS = {
    "runaway": f"for i in range({RUNAWAY}): print('x' * 999_999)",
    "displays": f"for _ in range({DISPLAYS}): display(x)",
    "flushed": f"for i in range({FLUSHED}): print(i, flush=True)",
}


def memory_of_floods(spec):
    """200 MB in 200 prints, then in one: time, bytes on the wire, peak of each process."""
    found = {}
    for name, code in (("runaway", LOADS["runaway"]), ("huge", f"print('x' * {HUGE:_})")):
        with spec.start() as kernel, Listener(kernel) as listener:
            listener.wait_ready()
            answered(kernel, "pass")
            kernels.wait_quiet(kernel.process.pid)
            before = kernels.peaks(kernel.process.pid, reset=True)
            begin = time.perf_counter()
            request = kernel.send_cell(code)
            listener.expect(request)
            client.check_ok(kernel.reply("shell", request), code)
            came = listener.result()
            found[name] = time.perf_counter() - begin
            if not came["characters"]:
                raise client.Unsupported("no text comes")
            after = kernels.peaks(kernel.process.pid)
        found[f"{name}_characters"] = came["characters"]
        found[f"{name}_bytes"] = came["bytes"] / 1024
        grown = [now - then for then, now in zip(before, after)]
        found[f"{name}_grown_first"] = grown[0]
        if len(grown) > 1:
            found[f"{name}_grown_others"] = sum(grown[1:])
        found[f"{name}_grown"] = sum(grown)
    return found


def control_under_load(spec):
    """The slowest per cent of control's answers during each flood, outside and inside."""
    found = {}
    for name, code in LOADS.items():
        with spec.start(watched=True) as kernel, Listener(kernel) as listener, floor() as heart:
            listener.wait_ready()
            answered(kernel, SETUP)
            begin = time.perf_counter()
            controls, beats = flooded(kernel, listener, heart, code)
            if not controls:
                raise client.Unsupported("control does not answer while a cell runs")
            found[f"control_{name}_p99"] = quantile(controls, 0.99)
            found[f"control_{name}_by_floor"] = (found[f"control_{name}_p99"] /
                                                 quantile(beats, 0.99))
            if kernels.WATCH:
                found[f"control_{name}_inside"] = quantile(
                    kernel.seconds_inside(begin), 0.99)
    return found


def flooded(kernel, listener, heart, code):
    """
    Runs the cell again and again until there are samples enough; none is taken
    unless a cell is running. -> seconds of control's answers, of heartbeats
    """
    prepared = [kernel.prepare_control() for _ in range(LOAD_SAMPLES)]
    controls, beats = [], []
    end = time.perf_counter() + LOAD_SECONDS
    while prepared and time.perf_counter() < end:
        request = kernel.send_cell(code)
        listener.expect(request)
        shell = kernel.socket("shell")
        while prepared and not shell.poll(0):
            controls.append(kernel.control(prepared.pop()))
            beats.append(timed(heart)[1])
        client.check_ok(kernel.reply("shell", request), code)
        listener.result()
    return controls, beats


def interrupts_under_load(spec):
    """From the interrupt_request to the reply, of a cell that prints as fast as it can."""
    with spec.start() as kernel, Listener(kernel) as listener:
        kernel.ready()
        listener.wait_ready()
        samples = []
        for _ in range(INTERRUPTS):
            request = kernel.send_cell("while True: print('x' * 100)")
            kernel.control()
            listener.expect(request)
            kernel.until_text(request, client.PATIENCE)
            begin = time.perf_counter()
            kernel.send("control", "interrupt_request", {})
            reply = kernel.reply("shell", request, client.PATIENCE)
            samples.append(time.perf_counter() - begin)
            assert client.content_of(reply)["ename"] == "KeyboardInterrupt"
            listener.result()
        return {"interrupt_flood": quantile(samples, 0.5)}


def answered(kernel, code):
    """Runs a cell without reading IOPub."""
    client.check_ok(kernel.reply("shell", kernel.send_cell(code)), code)


class Listener:
    """subscriber.py, beside a kernel."""

    def __init__(self, kernel):
        self.process = subprocess.Popen(
            [sys.executable, "-B", str(kernels.HERE / "subscriber.py"),
             str(kernel.directory / "connection.json")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.kernel = kernel

    def wait_ready(self):
        """Its subscription may come later than ours: messages are made until it has one."""
        ready = kernels.readable(self.process.stdout)
        while not ready(0.05):
            self.kernel.control()
        assert self.process.stdout.readline() == "ready\n"

    def expect(self, request):
        self.process.stdin.write(request + "\n")
        self.process.stdin.flush()

    def result(self):
        if not kernels.readable(self.process.stdout)(client.DEADLINE):
            raise TimeoutError("the listener does not see the cell's idle")
        return json.loads(self.process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


@contextlib.contextmanager
def floor():
    """A null kernel. -> a function that takes one heartbeat of it"""
    with HEARTBEAT_SPEC.start() as kernel:
        kernel.reply("shell", kernel.send("shell", "kernel_info_request", {}))
        heart = kernel.socket("hb")

        def beat():
            heart.send(b"ping")
            heart.recv()

        yield beat
