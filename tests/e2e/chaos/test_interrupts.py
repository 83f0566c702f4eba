"""
Issue 5, "Interrupt discipline": random interrupts over a session of mixed cells (60 of them; 500 with
--long). Each cell ends with the status that is right for it, the session keeps its state, the
cell after it is never hit, and Python never dies.
"""

import contextlib
import os
import random
import re
import signal

from client import descendants_of, join_streams, simple, text

SETUP = """
import asyncio, hashlib, os, re, subprocess, sys, threading, time
from IPython.display import display
count = 0
class Finalized:
    def __del__(self):
        for i in range(20_000): pass
class Shown:
    def _repr_html_(self):
        time.sleep(0.01)
        return "shown"
async def step(seconds):
    await asyncio.sleep(seconds)
    return seconds
"""

ENDLESS = {
    "loop": "while True: pass",
    "loop with calls": "while True: sum(range(100))",
    "sleep": "time.sleep(600)",
    "await": "await asyncio.sleep(600)",
    "gather": "await asyncio.gather(step(600), step(700))",
    "busy await": "while True: await step(0)",
    "sleep in a coroutine": "async def c():\n    time.sleep(600)\nawait c()",
    "run another loop": "threading.Thread(target=time.sleep, args=(0,)).start()\n"
                        "asyncio.run(step(600))",
    "input": "input('? ')",
    "loop in C": "re.match('(a+)+$', 'a' * 60 + 'b')",
    "child": "subprocess.run(['sleep', '600'])",
    "child in a shell": "subprocess.run('sleep 600; true', shell=True)",
    "pipe of a child": "subprocess.run(['sleep', '600'], capture_output=True)",
    "lock": "lock = threading.Lock()\nwith lock:\n    lock.acquire()",
    "event": "threading.Event().wait()",
    "prints": "while True:\n    print('word')\n    time.sleep(0.0002)",
    "displays": "while True: display('word')",
    "finalizers": "while True: Finalized()",
    "results": "while True: display(Shown())",
    "file": "r, w = os.pipe()\ntry: os.read(r, 1)\nfinally:\n    os.close(r); os.close(w)",
}

SHORT = {
    "nothing": "None",
    "result": "count",
    "compute": "for i in range(200_000): pass",
    "C call": "hashlib.pbkdf2_hmac('sha256', b'p', b's', 20_000)",
    "sort": "sorted(range(200_000, 0, -1), key=str)[0]",
    "print": "for i in range(2000): print('word')",
    "flushed prints": "for i in range(200): print('word', flush=True)",
    "child": "subprocess.run(['true'])",
    "os.system": "os.system('sleep 0.02')",
    "file descriptor": "for i in range(50): os.write(1, b'word ')",
    "await": "await step(0.01)",
    "finalizers": "for i in range(5): Finalized()",
    "formatting": "Shown()",
    "import": "sys.modules.pop('json.tool', None)\nimport json.tool",
}

CELLS = [*((name, code, True) for name, code in ENDLESS.items()),
         *((name, code, False) for name, code in SHORT.items())]


def by_message(kernel):
    kernel.interrupt()


def by_signal(kernel):
    os.kill(kernel.pid, signal.SIGINT)


def by_group(kernel):
    kernel.signal_group()


def to_the_worker(kernel):
    """Again if need be: before Python has begun with the cell it is idle, and is left alone."""
    os.kill(kernel.worker, signal.SIGINT)
    while not (kernel.queue["shell"] or kernel.sockets["shell"].poll(150)):
        os.kill(kernel.worker, signal.SIGINT)


def one_by_one(kernel):
    for pid in [*descendants_of(kernel.pid), kernel.pid]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGINT)


WAYS = [by_message, by_signal, by_group, to_the_worker, one_by_one]


# asyncio.run() that is struck before the coroutine begins, or in its last steps, leaves objects that
# complain once the collector finds them, in whatever cell that is.
LEFT_BY_ASYNCIO = re.compile("coroutine 'step' was never awaited|BaseEventLoop.__del__|"
                             "Task was destroyed but it is pending")

# Struck between setting its handler and its count to 0, it knows nothing of the interrupt any more.
ALSO = {"run another loop": "CancelledError"}


def of_its_own(outputs):
    return [(kind, data) for kind, data in outputs
            if kind != "stderr" or not LEFT_BY_ASYNCIO.search(data)]


def test_interrupts_at_random_moments(fresh, long):
    choice = random.Random(11)
    fresh.run(SETUP)
    worker, count = fresh.worker, 0
    cells = [choice.choice(CELLS) for _ in range(500)] if long else choice.sample(CELLS * 2, 60)
    for name, body, endless in cells:
        way = choice.choice(WAYS)
        code = f"count += 1\n{body}"
        cell = fresh.send_execute(code, stop_on_error=False, allow_stdin=True)
        fresh.take("iopub", lambda m: m.parent_id == cell and m.state == "busy")
        fresh.sockets["shell"].poll(choice.choice([0, 1, 3, 10, 30]))
        way(fresh)
        reply = fresh.reply("shell", cell, 10)
        rest = fresh.iopub(cell)
        seen = of_its_own(join_streams([simple(m) for m in rest if m.type == "stream"]))
        assert not [data for kind, data in seen if kind != "stdout"], rest
        assert set("".join(data for _, data in seen).split()) <= {"word"}, (name, seen)
        what = (name, way.__name__, reply.content)
        if endless or reply.content["status"] == "error":
            assert reply.content.get("ename") in ("KeyboardInterrupt", ALSO.get(name)), what
            assert [m.content["evalue"] for m in rest if m.type == "error"] == [""], what
        else:
            assert reply.content["status"] == "ok", what
        # The next one is whole, and knows how far that one came.
        (kind, data), = of_its_own(fresh.run("time.sleep(0.002)\ncount"))
        now = int(data["text/plain"])
        assert now in (count, count + 1), what
        assert now == count + 1 or reply.content["status"] == "error", what
        count = now
    assert fresh.worker == worker
    assert count > len(cells) / 2
    while fresh.sockets["stdin"].poll(0) or fresh.queue["stdin"]:
        assert fresh.take("stdin").type == "input_request"
    assert of_its_own(fresh.run("6 * 7")) == [("result", text("42"))]
