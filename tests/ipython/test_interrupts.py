"""
An interrupt on IPython's way to the cell's own code ends the cell, on whatever line it comes.

A first cell notes the lines that Python goes through before the user's code. Then, for each of
them, a trace function has the kernel interrupted there, and a cell that would wait must end of it.
"""

import json

import pytest

TRACING = """
import os, signal, sys, time
from einkorn import tasks
from einkorn.ipython.shell import ZMQInteractiveShell

BEGIN = (ZMQInteractiveShell.run.__code__.co_filename, "run")
lines = []

def place(frame):
    return frame.f_code.co_filename, frame.f_code.co_name, frame.f_lineno

def traced(action):
    "Have action(place) called for each line of the next cell, from where the shell begins with it."
    begun = False
    def trace(frame, event, argument):
        nonlocal begun
        begun = begun or place(frame)[:2] == BEGIN
        if begun and event in ("call", "line"):
            action(place(frame))
        return trace
    sys.settrace(trace)

def note():
    traced(lambda place: place in lines or lines.append(place))

def hit(target):
    def interrupt(place):
        if place == target:
            sys.settrace(None)
            os.kill(KERNEL, signal.SIGINT)
            end = time.monotonic() + 0.05  # it comes here, or waits until the shell lets it
            while time.monotonic() < end:
                pass
    traced(interrupt)

take = tasks._Interrupt.take

def take_for_traced(self, frame):
    "Those who ask where the interrupt came mean the traced line, not this code."
    while frame is not None and frame.f_code.co_name in ("interrupt", "trace"):
        frame = frame.f_back
    return take(self, frame)

tasks._Interrupt.take = take_for_traced
"""

WAITS = {
    "plain": "end = time.monotonic() + {}\nwhile time.monotonic() < end: time.sleep(0.01)\nprint('lost')",
    "await": "import asyncio\nend = time.monotonic() + {}\n"
             "while time.monotonic() < end: await asyncio.sleep(0.01)\nprint('lost')",
}


@pytest.mark.parametrize("kind", WAITS)
def test_no_line_before_the_cell_swallows_one(start, kind):
    kernel = start()
    kernel.run("get_ipython()")
    kernel.run(f"KERNEL = {kernel.pid}\n{TRACING}")
    kernel.run("get_ipython().events.register('pre_execute', lambda: None)\n"
               "get_ipython().events.register('pre_run_cell', lambda info: None)")
    wait = WAITS[kind].format(1)
    for _ in range(2):  # what is done once is not what this is about
        kernel.run(WAITS[kind].format(0))
    kernel.run("note()")
    kernel.run(f"sys.settrace(None)\n{WAITS[kind].format(0)}")
    ((_, text),) = kernel.run("import json; print(json.dumps(lines))")
    lines = json.loads(text)
    cell = next(n for n, (file, *_) in enumerate(lines) if "ipykernel_" in file)
    assert cell > 150
    lost = []
    for line in lines[:cell]:
        kernel.run(f"hit({tuple(line)})")
        found = kernel.execute(wait, stop_on_error=False)
        if found.outputs[-1][:2] != ("error", "KeyboardInterrupt"):
            lost.append((line, found.outputs))
    assert lost == []
