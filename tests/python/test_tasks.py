"""asyncio in cells: one loop, marked in plain cells, turning between them."""

import pytest

ADD = """import asyncio
async def add(a, b):
    await asyncio.sleep(0.01)
    return a + b
"""


def test_await_run_and_background_tasks_go_together(shell):
    """C027."""
    results = shell(
        ADD + "asyncio.run(add(1, 2))", "await add(1, 2)", "[await add(i, 1) for i in range(3)]",
        "async def agen():\n    for i in range(3):\n        yield i\ntot = 0\n"
        "async for v in agen():\n    tot += v\n(tot, v)",
        "async def bg():\n    for i in range(3):\n        await asyncio.sleep(0.1)\n"
        "        log.append(i)\nlog = []\ntask = asyncio.create_task(bg())",
        {"idle": 0.6}, "import time\nprint(len(log), task.done())", "def f():\n    await add(1, 2)",
        "return 5", "async with asyncio.Lock() as l:\n    q = 9\nq", "v + q",
    )  # fmt: skip
    assert [results[i].text for i in (0, 1, 2, 3)] == ["3", "3", "[1, 2, 3]", "(3, 2)"]
    assert results[4]["status"] == "ok"
    assert results[5]["took"] >= 0.5
    assert results[6].stdout == "3 True\n"
    assert "'await' outside async function" in results[7]["evalue"]
    assert "'return' outside function" in results[8]["evalue"]
    assert (results[9].text, results[10].text) == ("9", "11")
    assert not any(item.stderr for item in results)


def test_every_way_to_run_a_loop_works_in_any_order(shell):
    ways = {
        "asyncio.run(add(1, 2))": "3",
        "await add(2, 2)": "4",
        "asyncio.get_running_loop().run_until_complete(add(1, 4))": "5",
        "asyncio.get_event_loop().run_until_complete(add(1, 5))": "6",
        "l = asyncio.new_event_loop()\nr = l.run_until_complete(add(1, 6))\nl.close()\nr": "7",
        "with asyncio.Runner() as runner:\n    r = runner.run(add(1, 7)), runner.run(add(0, 0))\nr": "(8, 0)",
        "t = asyncio.create_task(add(4, 5))\nawait t": "9",
        "t = asyncio.ensure_future(add(4, 6))\nasyncio.get_event_loop().run_until_complete(t)": "10",
        "async def n():\n    return await asyncio.gather(add(1, 2), add(3, 4))\nasyncio.run(n())": "[3, 7]",
    }
    cells = list(ways) * 2 + list(ways)[::-1]
    for code, result in zip(cells, shell(ADD, *cells)[1:]):
        assert (code, result.text, result.stderr) == (code, ways[code], "")


def test_the_mark_is_back_within_the_same_cell(shell):
    code = (
        "a = asyncio.run(add(1, 2))\nt = asyncio.create_task(add(3, 4))\n"
        "l = asyncio.get_running_loop()\nb = l.run_until_complete(t)\n"
        "(a, b, asyncio.get_running_loop() is l)"
    )
    assert shell(ADD, code)[1].text == "(3, 7, True)"


def test_nested_runs_fail_as_everywhere(shell):
    results = shell(
        ADD + "async def f():\n    asyncio.run(add(1, 2))",
        "await f()", "asyncio.run(f())",
        "async def g():\n    asyncio.new_event_loop().run_until_complete(add(1, 1))\nasyncio.run(g())",
        "await g()", "async def h():\n    asyncio.get_running_loop().run_forever()\nawait h()",
        "asyncio.get_running_loop().is_running(), asyncio.current_task()",
    )  # fmt: skip
    for result in results[1:3]:
        assert result["evalue"] == "asyncio.run() cannot be called from a running event loop"
    for result in results[3:5]:
        assert result["evalue"] == "Cannot run the event loop while another loop is running"
    assert results[5]["evalue"] == "This event loop is already running"
    assert results[6].text == "(False, None)"


def test_an_interrupt_cancels_the_await_and_runs_its_finally(shell):
    """C011."""
    code = 'try:\n    await asyncio.sleep(10)\n    print("finished")\nfinally:\n    print("cleanup")'
    results = shell(
        "import asyncio, time\nasync def other():\n    await asyncio.sleep(0.6); return 'other'\n"
        "o = asyncio.create_task(other())",
        {"code": code, "interrupt": [0.2]},
        {"code": "await asyncio.gather(asyncio.sleep(9), asyncio.sleep(8))", "interrupt": [0.1]},
        'x = await asyncio.sleep(0.01, "loop ok")\nx', "await o",
        {"code": "try:\n    time.sleep(9)\nfinally:\n    print('c')\nawait x", "interrupt": [0.1]},
        "await asyncio.sleep(0, 'again')",
    )  # fmt: skip
    assert (results[1]["ename"], results[1]["evalue"]) == ("KeyboardInterrupt", "")
    assert results[1].stdout == "cleanup\n"
    assert "----> 2     await asyncio.sleep(10)" in results[1].plain
    assert "CancelledError" not in results[1].plain
    assert results[2]["ename"] == "KeyboardInterrupt"
    assert (results[3].text, results[4].text) == ("'loop ok'", "'other'")
    assert (results[5]["ename"], results[5].stdout) == ("KeyboardInterrupt", "c\n")
    assert results[6].text == "'again'"
    assert not any(item.stderr for item in results)


def test_an_interrupt_between_two_steps_is_due_before_the_next(shell):
    """The step that is due may block for ever: the task must be cancelled before it begins."""
    strike = (
        "import os, signal, time\nimport einkorn.tasks as tasks\nfinish = tasks._finish\n"
        "def strike(*arguments):\n    os.kill(os.getpid(), signal.SIGINT)\n"
        "    return finish(*arguments)\ntasks._finish = strike"
    )
    blocks = "async def block():\n    print('begun')\n    time.sleep(5)\nawait block()"
    results = shell(strike, blocks, "tasks._finish = finish\nawait block()")
    assert (results[1]["ename"], results[1].stdout) == ("KeyboardInterrupt", "")
    assert (results[2]["status"], results[2].stdout) == ("ok", "begun\n")


def test_an_interrupt_after_the_last_step_is_not_lost(shell):
    """The task is done, but the loop's functions have not returned."""
    strike = (
        "import os, signal\nimport einkorn.tasks as tasks\nrun = tasks._run_interruptible\n"
        "def strike(*arguments):\n    value = run(*arguments)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n    return value\n"
        "strike.__code__ = strike.__code__.replace(co_filename=tasks.__file__)\n"
        "tasks._run_interruptible = strike"
    )
    results = shell(strike, "import asyncio\nawait asyncio.sleep(0, 'value')",
                    "tasks._run_interruptible = run\nawait asyncio.sleep(0, 'value')")  # fmt: skip
    assert results[1]["ename"] == "KeyboardInterrupt"
    assert results[2].text == "'value'"


def test_a_second_interrupt_gives_up_waiting_for_the_clean_up(shell):
    code = ("async def f():\n    try:\n        await asyncio.sleep(10)\n    finally:\n"
            "        await asyncio.sleep(0.5)\n        print('late')\nawait f()")  # fmt: skip
    results = shell("import asyncio", {"code": code, "interrupt": [0.1, 0.3]}, {"idle": 0.8}, "1")
    assert (results[1]["ename"], results[1].stdout) == ("KeyboardInterrupt", "")
    assert results[2].stdout == "late\n"
    assert results[3].text == "1"


def test_the_interrupted_task_may_fail_or_carry_on(shell):
    results = shell(
        "import asyncio",
        {"code": "try:\n    await asyncio.sleep(9)\nfinally:\n    1/0", "interrupt": [0.1]},
        {"code": "try:\n    await asyncio.sleep(9)\nexcept asyncio.CancelledError:\n    print('no')",
         "interrupt": [0.1]},
        {"code": "import time\ntry:\n    time.sleep(9)\nexcept KeyboardInterrupt:\n    print('saved')\n"
         "await asyncio.sleep(0, 'ok')", "interrupt": [0.1]},
    )  # fmt: skip
    assert results[1]["ename"] == "KeyboardInterrupt" and "ZeroDivisionError" in results[1].plain
    assert (results[2]["ename"], results[2].stdout) == ("KeyboardInterrupt", "no\n")
    assert (results[3].text, results[3].stdout) == ("'ok'", "saved\n")


def test_exits_and_errors_of_tasks_are_reported_as_such(shell):
    results = shell(
        "import asyncio\nawait asyncio.sleep(0)\nraise SystemExit(3)",
        "async def leave():\n    await asyncio.sleep(0.05)\n    raise SystemExit(4)\n"
        "t = asyncio.create_task(leave())\nawait asyncio.sleep(0.2, 'mine')",
        "t = asyncio.create_task(leave())", {"idle": 0.3}, "t.exception()",
        "asyncio.get_running_loop().call_soon(lambda: 1/0);", {"idle": 0.1},
        "await asyncio.sleep(0, 'alive')",
    )  # fmt: skip
    assert (results[0]["ename"], results[0]["evalue"]) == ("SystemExit", "3")
    assert results[1].text == "'mine'" and "SystemExit: 4" in results[1].stderr
    assert "SystemExit: 4" in results[3].stderr
    assert results[4].text == "SystemExit(4)"
    assert "ZeroDivisionError" in results[6].stderr
    assert results[7].text == "'alive'"


def test_idle_returns_at_once_without_a_loop_and_waits_with_one(shell):
    results = shell("1", {"idle": 3}, "import asyncio", {"idle": 0.5},
                    "await asyncio.sleep(0)", {"idle": 0.5})  # fmt: skip
    assert results[1]["took"] < 2
    assert all(results[i]["took"] >= 0.5 for i in (3, 5))


def test_a_thread_gives_work_to_a_loop_that_has_none(shell):
    results = shell(
        "import asyncio, threading\nloop = asyncio.get_running_loop()",
        "threading.Timer(0.1, lambda: loop.call_soon_threadsafe(print, 'woken')).start()",
        {"idle": 2}, "1",
    )  # fmt: skip
    assert results[2].stdout == "woken\n"


def test_a_closed_or_stopped_loop_does_not_matter(shell):
    results = shell(
        "import asyncio\nasyncio.get_running_loop().close()", "await asyncio.sleep(0, 1)",
        "asyncio.get_running_loop().stop()\nawait asyncio.sleep(0.01, 2)",
        "asyncio._set_running_loop(None)", "asyncio.get_running_loop().time() > 0",
        "asyncio.get_running_loop().close()", {"idle": 0.05}, "asyncio.run(asyncio.sleep(0, 3))",
    )  # fmt: skip
    assert [results[i].text for i in (1, 2, 4, 7)] == ["1", "2", "True", "3"]


def test_threads_run_loops_of_their_own(shell):
    result = shell(
        ADD + "import threading\nout = []\ndef work():\n    try:\n        asyncio.get_running_loop()\n"
        "    except RuntimeError:\n        out.append(asyncio.run(add(1, 2)))\n"
        "t = threading.Thread(target=work)\nt.start()\nt.join()\nout",
        "async def f():\n    await asyncio.to_thread(work)\n    return out\nawait f()",
    )  # fmt: skip
    assert [item.text for item in result] == ["[3]", "[3, 3]"]


def test_asyncio_first_imported_by_a_thread(shell):
    results = shell(
        "import threading\ndef work():\n    import asyncio\n"
        "    out.append(asyncio.run(asyncio.sleep(0, 5)))\n"
        "out = []\nt = threading.Thread(target=work); t.start(); t.join()\nout",
        "import asyncio\nt = asyncio.create_task(asyncio.sleep(0, 6))\nawait t",
    )  # fmt: skip
    assert [item.text for item in results] == ["[5]", "6"]


def test_pending_tasks_and_generators_end_quietly_at_exit(shell, tmp_path):
    code = ("import asyncio, pathlib\nasync def f():\n    try:\n        await asyncio.sleep(99)\n"
            "    finally:\n        pathlib.Path('end').write_text('task')\n"
            "async def g():\n    try:\n        yield 1\n    finally:\n"
            "        pathlib.Path('gen').write_text('gen')\n"
            "t = asyncio.create_task(f())\nit = g()\nawait it.__anext__()\nawait asyncio.sleep(0)")  # fmt: skip
    shell(code)
    assert (tmp_path / "end").read_text() == "task"
    assert (tmp_path / "gen").read_text() == "gen"


def test_context_variables_last_and_belong_to_their_cell(shell):
    results = shell(
        "import contextvars, asyncio, _einkorn\nv = contextvars.ContextVar('v', default=0)\nv.set(1);",
        "await asyncio.sleep(0)\nv.set(2);", "v.get()",
        "async def who():\n    await asyncio.sleep(0.1)\n    return _einkorn.cell.get()\n"
        "t = asyncio.create_task(who())", "await asyncio.sleep(0.2)\nt.result(), _einkorn.cell.get()",
    )  # fmt: skip
    assert results[2].text == "2"
    assert results[4].text == "(4, 5)"


def test_subprocesses_work_in_cells(shell):
    result = shell(
        "import asyncio, sys\np = await asyncio.create_subprocess_exec(sys.executable, '-c', "
        "'print(7)', stdout=-1)\n(await p.communicate())[0]"
    )[0]
    assert result.text == "b'7\\n'"


@pytest.mark.parametrize("debug", ["", "1"])
def test_debug_mode_of_asyncio(shell, debug):
    env = {"PYTHONASYNCIODEBUG": debug}
    results = shell(ADD + "await add(1, 2)", "asyncio.run(add(1, 2))", {"idle": 0.05}, env=env)
    assert [item.text for item in results[:2]] == ["3", "3"]
