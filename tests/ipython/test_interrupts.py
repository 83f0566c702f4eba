"""
An interrupt on IPython's way to the cell's own code ends the cell, on whatever line it comes, and
without a word about it where a coroutine has just been made.

A first cell notes the lines that Python goes through before the user's code, or the instructions
behind calls. Then, for each of them, a trace function has the kernel interrupted there, and a cell
that would wait must end of it.
"""

import json

import pytest

TRACING = """
import dis, functools, os, signal, sys, time
from einkorn import tasks
from einkorn.ipython.shell import ZMQInteractiveShell

BEGIN = (ZMQInteractiveShell.run.__code__.co_filename, "run")
lines = []

MAKERS = "run", "_run", "_run_async", "run_cell", "_run_cell", "run_cell_async", "run_ast_nodes"

@functools.cache
def behind_calls(code):
    steps = list(dis.get_instructions(code))
    return {b.offset for a, b in zip(steps, steps[1:]) if a.opname.startswith("CALL")}

def traced(action, behind):
    '''Have action(place) called on the way of the next cell, from where the shell begins with it:
    for each line, or for each instruction behind a call.'''
    begun = False
    def trace(frame, event, argument):
        nonlocal begun
        code = frame.f_code
        place = code.co_filename, code.co_name, frame.f_lasti if behind else frame.f_lineno
        begun = begun or place[:2] == BEGIN
        if behind:
            frame.f_trace_opcodes = code.co_name in MAKERS
            wanted = event == "opcode" and frame.f_lasti in behind_calls(code)
        else:
            wanted = event in ("call", "line")
        if begun and wanted:
            action(place)
        return trace
    sys.settrace(trace)

def note(behind=False):
    traced(lambda place: place in lines or lines.append(place), behind)

def hit(target, behind=False):
    def interrupt(place):
        if place == target:
            sys.settrace(None)
            os.kill(KERNEL, signal.SIGINT)
            end = time.monotonic() + 0.05  # it comes here, or waits until the shell lets it
            while time.monotonic() < end:
                pass
    traced(interrupt, behind)

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


def traced_kernel(start, kind, behind=False):
    """-> a kernel, and the places before the code of a cell of that kind"""
    kernel = start()
    kernel.run("get_ipython()")
    kernel.run(f"KERNEL = {kernel.pid}\n{TRACING}")
    kernel.run("get_ipython().events.register('pre_execute', lambda: None)\n"
               "get_ipython().events.register('pre_run_cell', lambda info: None)")
    for _ in range(2):  # what is done once is not what this is about
        kernel.run(WAITS[kind].format(0))
    kernel.run(f"note({behind})")
    kernel.run(f"sys.settrace(None)\n{WAITS[kind].format(0)}")
    ((_, text),) = kernel.run("import json; print(json.dumps(lines))")
    return kernel, json.loads(text)


@pytest.mark.parametrize("kind", WAITS)
def test_no_line_before_the_cell_swallows_one(start, kind):
    kernel, lines = traced_kernel(start, kind)
    wait = WAITS[kind].format(1)
    cell = next(n for n, (file, *_) in enumerate(lines) if "ipykernel_" in file)
    assert cell > 150
    lost = []
    for line in lines[:cell]:
        kernel.run(f"hit({tuple(line)})")
        found = kernel.execute(wait, stop_on_error=False)
        if found.outputs[-1][:2] != ("error", "KeyboardInterrupt"):
            lost.append((line, found.outputs))
    assert lost == []


@pytest.mark.parametrize("kind", WAITS)
def test_a_coroutine_that_it_came_before_is_not_spoken_of(start, kind):
    kernel, places = traced_kernel(start, kind, behind=True)
    wait = WAITS[kind].format(0.2)  # some come behind the wait
    assert {"run_cell_async", "run_ast_nodes"} <= {name for _, name, _ in places}
    told = []
    for place in places:
        kernel.run(f"hit({tuple(place)}, True)")
        found = kernel.execute(wait, stop_on_error=False)
        after = kernel.execute("import gc; gc.collect(); None")
        if found.stderr or after.outputs:
            told.append((place, found.outputs, after.outputs))
    assert told == []
