"""
What is measured. Each function starts kernels of one spec, and gives numbers
by name: seconds, kB or a count. One call is one sample; bench.py calls them
for all kernels in turn, many times.

Nothing here waits by sleeping where an event tells more; only an idle kernel
is waited for by looking at its processor time.
"""

import os
import select
import time

import client
import kernels

PRINTS = 100_000
FLUSHED = 5_000
BIG = 900_000  # characters
DISPLAYS = 2_000
CELLS = 500
ROUND_TRIPS = 300
HELD = 0.5  # seconds


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
        content = client.content_of(reply)
        assert content["user_expressions"]["two"]["data"]["text/plain"] == "2", content
    bare = kernels.python_pass()
    return {"first_result": seconds, "python_pass": bare, "first_result_by_pass": seconds / bare}


def memory(spec):
    """At rest after the first cell."""
    with spec.start() as kernel:
        kernel.ready().run("1+1")
        kernels.wait_quiet(kernel.process.pid)
        return {"idle_pss": kernels.pss(kernel.process.pid)}


def round_trips(spec):
    with spec.start() as kernel:
        kernel.ready()
        heart = kernel.socket("hb")

        def beat():
            heart.send(b"ping")
            heart.recv()

        def control():
            kernel.reply("control", kernel.send("control", "kernel_info_request", {}))

        def cell():
            kernel.until_idle(kernel.send_cell("pass"))

        beats, controls = times_of(beat), times_of(control)
        kernel.settle()
        cells = times_of(cell)
        return {"heartbeat": quantile(beats, 0.5), "control": quantile(controls, 0.5),
                "execute_p50": quantile(cells, 0.5), "execute_p99": quantile(cells, 0.99)}


def prints(spec):
    """From the request to idle; all of the text must have come."""
    found = {}
    with spec.start() as kernel:
        kernel.ready().run("pass")
        for name, code, characters in (
                ("prints", f"for i in range({PRINTS}): print(i)", lines_of(PRINTS)),
                ("flushed", f"for i in range({FLUSHED}): print(i, flush=True)", lines_of(FLUSHED)),
                ("big_print", f"print('x' * {BIG})", BIG + 1)):
            messages, found[name] = timed(lambda: kernel.run(code))
            texts = client.contents(messages, "stream")
            assert sum(len(content["text"]) for content in texts) == characters, name
            found[f"{name}_messages"] = len(texts)
    return found


def displays(spec):
    with spec.start() as kernel:
        kernel.ready().run("class Bold:\n    def _repr_html_(self): return '<b>x</b>'\nx = Bold()")
        messages, seconds = timed(lambda: kernel.run(f"for _ in range({DISPLAYS}): display(x)"))
        assert len(client.contents(messages, "display_data")) == DISPLAYS
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
                kernel.until_text(request)
                # A second look at the kernel: the cell is past its print by now.
                kernel.reply("control", kernel.send("control", "kernel_info_request", {}))
                begin = time.perf_counter()
                kernel.send("control", "interrupt_request", {})
                reply = kernel.reply("shell", request)
                samples.append(time.perf_counter() - begin)
                assert client.content_of(reply)["ename"] == "KeyboardInterrupt"
                kernel.until_idle(request)
            found[name] = quantile(samples, 0.5)
    return found


def held(spec):
    """
    A control round trip while the cell waits in C without giving the GIL away. It is C
    that says through a FIFO when this has begun; the reply may not come before its end.
    """
    with spec.start() as kernel:
        kernel.ready().run("import ctypes; c = ctypes.PyDLL(None)")
        path = kernel.directory / "held"
        os.mkfifo(path)
        fifo = os.open(path, os.O_RDWR)
        request = kernel.send_cell(f"c.system(b'echo > {path}; exec sleep {HELD}')")
        begun = select.select([fifo], [], [], client.DEADLINE)[0]
        os.close(fifo)
        assert begun, "the cell does not begin"
        begin = time.perf_counter()
        kernel.reply("control", kernel.send("control", "kernel_info_request", {}))
        seconds = time.perf_counter() - begin
        client.check_ok(kernel.reply("shell", request), "system")
        return {"control_gil_held": seconds}


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


GROUPS = {f.__name__: f for f in (start, first, memory, round_trips, prints, displays, interrupts,
                                  held, queued)}


def lines_of(count):
    """How many characters the numbers below count take, a line each."""
    return sum(len(str(i)) + 1 for i in range(count))


def timed(act):
    begin = time.perf_counter()
    result = act()
    return result, time.perf_counter() - begin


def times_of(act):
    return [timed(act)[1] for _ in range(ROUND_TRIPS)]


def quantile(samples, share):
    return sorted(samples)[int(len(samples) * share)]
