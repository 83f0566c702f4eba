"""
asyncio in cells (issue 6, "asyncio"): every way to run a loop works in one session, in any order,
without nest_asyncio; tasks go on while nothing runs; an interrupt cancels an await.

What the Python half does alone is tested in tests/python/test_tasks.py.
"""

import itertools
import json
import os
import pathlib
import subprocess

import pytest

from client import PYTHON, text

SETUP = """
import asyncio, contextvars, sys, threading
async def add(a, b):
    await asyncio.sleep(0.001)
    return a + b
def library():
    return asyncio.run(add(20, 1))
def in_a_thread(function):
    out = []
    thread = threading.Thread(target=lambda: out.append(function()))
    thread.start(); thread.join()
    return out[0]
tasks = []
"""

# What a cell does, and what its result is. {n} is a number that no other cell has.
WAYS = {
    "asyncio.run": ("asyncio.run(add({n}, 0))", "{n}"),
    "await": ("await add({n}, 1) - 1", "{n}"),
    "a loop of its own": (
        "loop = asyncio.new_event_loop()\nx = loop.run_until_complete(add({n}, 0))\nloop.close()\nx", "{n}"),
    "a loop of its own, set": (
        "loop = asyncio.new_event_loop()\nasyncio.set_event_loop(loop)\nx = loop.run_until_complete(add({n}, 0))\n"
        "loop.close()\nasyncio.set_event_loop(None)\nx", "{n}"),
    "the running loop": ("asyncio.get_running_loop().run_until_complete(add({n}, 0))", "{n}"),
    "get_event_loop": ("asyncio.get_event_loop().run_until_complete(add({n}, 0))", "{n}"),
    "Runner": ("with asyncio.Runner() as runner:\n    x = runner.run(add({n}, 0)), runner.run(add({n}, 1))\nx[0]", "{n}"),
    "debug mode": ("asyncio.run(add({n}, 0), debug=True)", "{n}"),
    "a task that is awaited": ("await asyncio.create_task(add({n}, 0))", "{n}"),
    "a task that is left behind": ("tasks.append(asyncio.create_task(add({n}, 0)))\n{n}", "{n}"),
    "tasks of earlier cells": ("await asyncio.gather(*tasks)\ntasks.clear()\n{n}", "{n}"),
    "TaskGroup": ("async with asyncio.TaskGroup() as group:\n    task = group.create_task(add({n}, 0))\n"
                  "task.result()", "{n}"),
    "timeout": ("try:\n    async with asyncio.timeout(0.001):\n        await asyncio.sleep(60)\n"
                "except TimeoutError:\n    x = {n}\nx", "{n}"),
    "a library in a plain cell": ("library() + {n} - 21", "{n}"),
    "a library in an await": ("await asyncio.to_thread(library) + {n} - 21", "{n}"),
    "a library in a thread": ("in_a_thread(library) + {n} - 21", "{n}"),
    "a loop that runs for ever in a thread": (
        "other = asyncio.new_event_loop()\nthread = threading.Thread(target=other.run_forever)\nthread.start()\n"
        "x = asyncio.run_coroutine_threadsafe(add({n}, 0), other).result()\n"
        "other.call_soon_threadsafe(other.stop)\nthread.join()\nother.close()\nx", "{n}"),
    "the same, awaited": (
        "other = asyncio.new_event_loop()\nthread = threading.Thread(target=other.run_forever)\nthread.start()\n"
        "x = await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(add({n}, 0), other))\n"
        "other.call_soon_threadsafe(other.stop)\nthread.join()\nother.close()\nx", "{n}"),
    "a loop that runs within one that runs": (
        "async def nested():\n    c = add(1, 2)\n    try:\n        asyncio.run(c)\n    finally:\n        c.close()\n"
        "try:\n    await nested()\nexcept RuntimeError as error:\n"
        "    x = {n} if 'cannot be called from a running event loop' in str(error) else error\nx", "{n}"),
    "an await and other loops in one cell": (
        "x = await add({n}, 0)\ny = asyncio.run(add({n}, 0)), library(), asyncio.new_event_loop().run_until_complete("
        "add({n}, 0))\nz = await add({n}, 0)\nassert (x, 21, x) == y and asyncio.current_task() is not None\nz", "{n}"),
    "a generator that runs a loop": (
        "async def nested():\n    c = add(1, 2)\n    try:\n        yield asyncio.run(c)\n    finally:\n        c.close()\n"
        "try:\n    [x async for x in nested()]\nexcept RuntimeError as error:\n"
        "    x = {n} if 'cannot be called from a running event loop' in str(error) else error\nx", "{n}"),
    "eager tasks": (
        "loop = asyncio.get_running_loop()\nif hasattr(asyncio, 'eager_task_factory'):\n"
        "    loop.set_task_factory(asyncio.eager_task_factory)\nx = await asyncio.create_task(add({n}, 0))\n"
        "y = asyncio.create_task(add({n}, 0))\nloop.set_task_factory(None)\nassert await y == x\nx", "{n}"),
    "a generator": ("async def count():\n    for i in range(3):\n        yield await add(i, 0)\n"
                    "[x async for x in count()] and {n}", "{n}"),
    "a child": ("p = await asyncio.create_subprocess_exec('echo', '{n}', stdout=-1)\n"
                "int((await p.communicate())[0])", "{n}"),
    "no asyncio at all": ("{n}", "{n}"),
}


def other_pythons():
    """One shared build per minor version that is not the tests' own."""
    found = {}
    for path in sorted((pathlib.Path.home() / ".pyenv/versions").glob("*/bin/python3")):
        known = subprocess.run([path, "-c", "import sys; print('.'.join(map(str, sys.version_info[:2])))"],
                               capture_output=True, text=True, check=False).stdout.strip()
        if known and tuple(map(int, known.split("."))) >= (3, 11):
            found[known] = str(path)
    own = subprocess.run([PYTHON, "-c", "import sys; print('.'.join(map(str, sys.version_info[:2])))"],
                         capture_output=True, text=True, check=True).stdout.strip()
    found[own] = PYTHON
    return found


PYTHONS = other_pythons()
on_each_python = pytest.mark.parametrize("python", PYTHONS.values(), ids=PYTHONS)


def every_pair(items):
    """A sequence in which each item stands once directly behind each other one, and itself."""
    items = list(items)
    following = {item: list(items) for item in items}
    path, found = [items[0]], []
    while path:  # Hierholzer's way through all edges
        if following[path[-1]]:
            path.append(following[path[-1]].pop())
        else:
            found.append(path.pop())
    return found[::-1]


@on_each_python
def test_every_way_works_behind_every_other(start, python):
    """Issue: in one session in any order."""
    kernel = start(python=python)
    kernel.run(SETUP)
    order = every_pair(WAYS)
    assert set(itertools.pairwise(order)) == set(itertools.product(WAYS, WAYS))
    asked = []
    for n, way in enumerate(order):
        code, result = (part.replace("{n}", str(n)) for part in WAYS[way])
        asked.append((way, kernel.send_execute(code), code, result))
    for before, (way, msg_id, code, result) in zip([None, *order], asked):
        shown = kernel.finish_execute(msg_id, code)
        assert shown.status == "ok", (before, way, shown.traceback)
        assert (before, way, shown.outputs) == (before, way, [("result", text(result))])


@pytest.mark.parametrize("run", ["asyncio.run({})", "asyncio.new_event_loop().run_until_complete({})",
                                 "asyncio.Runner().run({})"])
def test_an_interrupt_of_another_loop_in_a_cell_that_awaits(kernel, run):
    kernel.run(SETUP)
    running = kernel.started("await add(1, 2)\nprint('go')\n" + run.format("asyncio.sleep(60)"))
    kernel.interrupt()
    assert kernel.finished(running).error == ("KeyboardInterrupt", "")
    running = kernel.started("await add(1, 2)\nprint('go')\nawait asyncio.sleep(60)")
    kernel.interrupt()
    assert kernel.finished(running).error == ("KeyboardInterrupt", "")
    assert kernel.run("asyncio.run(add(1, 2)), await add(3, 4)") == [("result", text("(3, 7)"))]


@on_each_python
def test_children_under_a_policy_that_watches_none(start, python):
    """uvloop's is one: its loops need no watcher, the loop of the cells up to Python 3.13 does."""
    kernel = start(python=python)
    kernel.run(SETUP + "class Policy(asyncio.DefaultEventLoopPolicy):\n    def get_child_watcher(self):\n"
                       "        raise NotImplementedError\nasyncio.set_event_loop_policy(Policy())")
    for n in range(2):
        assert kernel.run(WAYS["a child"][0].replace("{n}", str(n))) == [("result", text(str(n)))]


def test_the_one_loop_does_not_run_within_itself(kernel):
    kernel.run(SETUP)
    failed = kernel.fail("await add(1, 2)\nc = add(1, 2)\ntry:\n"
                         "    asyncio.get_running_loop().run_until_complete(c)\nfinally:\n    c.close()")
    assert failed.error == ("RuntimeError", "This event loop is already running")


@on_each_python
def test_every_way_is_the_first_one(start, python):
    """asyncio is imported by the cell itself, or by what it calls."""
    first = ["import asyncio\nasyncio.run(asyncio.sleep(0, 5))", "import asyncio\nawait asyncio.sleep(0, 5)",
             "async def five():\n    return 5\nawait five()",
             "import asyncio\nasyncio.new_event_loop().run_until_complete(asyncio.sleep(0, 5))",
             "import asyncio\nasyncio.get_event_loop().run_until_complete(asyncio.sleep(0, 5))",
             "from asyncio import run, sleep\nrun(sleep(0, 5))",
             "import asyncio\nt = asyncio.ensure_future(asyncio.sleep(0, 5))\nawait t"]
    for code in first:
        kernel = start(python=python)
        assert kernel.run(code) == [("result", text("5"))]
        assert kernel.run("import asyncio\nasyncio.run(asyncio.sleep(0, 6))") == [("result", text("6"))]
        assert kernel.run("await asyncio.sleep(0, 7)") == [("result", text("7"))]
        kernel.stop()


def test_a_task_of_a_plain_cell_goes_on_while_nothing_runs(kernel):
    """What it says is its cell's; nobody asks for anything meanwhile."""
    kernel.run(SETUP)
    cell = kernel.send_execute("async def speak():\n    for i in range(3):\n        await asyncio.sleep(0.05)\n"
                               "        print(i)\nt = asyncio.create_task(speak())")
    kernel.finish(cell)
    said = ""
    while said != "0\n1\n2\n":
        message = kernel.take("iopub", lambda m: m.type == "stream" and m.parent_id == cell)
        said += message.content["text"]
        assert "0\n1\n2\n".startswith(said)


def test_a_task_of_a_plain_cell_goes_on_in_the_awaits_of_later_ones(kernel):
    kernel.run(SETUP)
    kernel.run("ticks = []\nasync def tick():\n    while True:\n        ticks.append(1)\n        await asyncio.sleep(0)\n"
               "t = asyncio.create_task(tick())")
    kernel.run("n = len(ticks)\nawait asyncio.sleep(0.05)\nm = len(ticks)")
    assert kernel.run("m > n + 10, t.cancel()") == [("result", text("(True, True)"))]


@pytest.mark.parametrize("cell, told", [
    ("await asyncio.sleep(60)", ""),
    ("await asyncio.gather(asyncio.sleep(60), asyncio.sleep(61))", ""),
    ("async with asyncio.TaskGroup() as group:\n    group.create_task(asyncio.sleep(60))", ""),
    ("async with asyncio.timeout(60):\n    await asyncio.sleep(61)", ""),
    ("try:\n    await asyncio.sleep(60)\nfinally:\n    await asyncio.sleep(0)\n    print('cleaned')", "cleaned\n"),
    ("asyncio.run(asyncio.sleep(60))", ""),
    ("asyncio.new_event_loop().run_until_complete(asyncio.sleep(60))", ""),
    ("asyncio.get_running_loop().run_until_complete(asyncio.sleep(60))", ""),
    ("await asyncio.to_thread(stop.wait, 60)", ""),
    ("await asyncio.get_running_loop().run_in_executor(None, stop.wait, 60)", ""),
])
def test_an_interrupt_ends_what_runs_a_loop_and_nothing_else(kernel, cell, told):
    """Issue: interrupting an await cancels it. The loop and its other tasks live on."""
    kernel.run(SETUP + "stop = threading.Event()\nlasting = asyncio.create_task(asyncio.sleep(60, 'x'))")
    running = kernel.started("print('go')\n" + cell)
    kernel.interrupt()
    ended = kernel.finished(running)
    assert (ended.error, ended.stdout) == (("KeyboardInterrupt", ""), "go\n" + told)
    kernel.run("stop.set()")
    assert kernel.run("lasting.done(), await asyncio.sleep(0, 'y'), asyncio.run(add(1, 2)), lasting.cancel()") == [
        ("result", text("(False, 'y', 3, True)"))]


@on_each_python
def test_context_variables_last_over_cells_of_either_kind(start, python):
    kernel = start(python=python)
    kernel.run(SETUP + "v = contextvars.ContextVar('v')\nasync def look():\n    return v.get()")
    kernel.run("v.set('plain'); None")
    assert kernel.run("await look(), asyncio.run(look()), v.get()") == [
        ("result", text("('plain', 'plain', 'plain')"))]
    kernel.run("await asyncio.sleep(0)\nv.set('awaiting'); None")
    assert kernel.run("v.get()") == [("result", text("'awaiting'"))]
    kernel.run("async def change():\n    v.set('task')\nawait asyncio.create_task(change())")
    assert kernel.run("v.get()") == [("result", text("'awaiting'"))]


@on_each_python
@pytest.mark.parametrize("how", ["env", "set_debug", "policy"])
def test_debug_mode_and_policies(start, python, how):
    """What slows callbacks down is told on stderr as everywhere, and nothing of ours is among it."""
    kernel = start(python=python, env={**os.environ, "PYTHONASYNCIODEBUG": "1"} if how == "env" else None)
    kernel.run(SETUP)
    if how == "set_debug":
        kernel.run("asyncio.get_running_loop().set_debug(True)")
    if how == "policy":
        kernel.run("asyncio.set_event_loop_policy(asyncio.DefaultEventLoopPolicy())")
    for code in ("asyncio.run(add(1, 2))", "await add(1, 2)", "t = asyncio.create_task(add(1, 2))\nawait t",
                 "asyncio.get_event_loop().run_until_complete(add(1, 2))"):
        assert kernel.run(code) == [("result", text("3"))]


def test_a_worker_thread_may_use_the_loop_of_the_cells(kernel):
    """run_coroutine_threadsafe, from a thread that outlives its cell, while nothing runs."""
    kernel.run(SETUP)
    cell = kernel.send_execute(
        "loop = asyncio.get_running_loop()\ngo = threading.Event()\n"
        "def work():\n    go.wait(20)\n    print(asyncio.run_coroutine_threadsafe(add(3, 4), loop).result(20))\n"
        "thread = threading.Thread(target=work); thread.start()\n"
        "keep = asyncio.create_task(asyncio.sleep(60))\nloop.call_later(0.05, go.set);")
    kernel.finish(cell)
    message = kernel.take("iopub", lambda m: m.type == "stream" and m.parent_id == cell)
    assert message.content["text"] == "7\n"
    kernel.run("keep.cancel(); thread.join()")


def test_a_server_of_one_cell_answers_while_nothing_runs(kernel):
    """asyncio.start_server in a plain await; a client that is no part of the session."""
    import socket
    shown = kernel.run(
        "import asyncio\nasync def answer(reader, writer):\n    writer.write(b'hello ' + await reader.readline())\n"
        "    await writer.drain()\n    writer.close()\n"
        "server = await asyncio.start_server(answer, '127.0.0.1', 0)\nprint(server.sockets[0].getsockname()[1])")
    port = json.loads(shown[0][1])
    with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
        client.sendall(b"you\n")
        assert client.makefile().read() == "hello you\n"
    kernel.run("server.close(); await server.wait_closed()")
