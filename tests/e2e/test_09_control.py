"""
Issue 1, "Kernel process": control, heartbeat and kernel_info answer whatever Python does.
"""

import os
import secrets
import signal
import time

import pytest

from client import text, within

GIL_HELD = ("import ctypes, time\nlibc = ctypes.PyDLL(None)      # keeps the GIL\n"
            "t = time.monotonic()\nlibc.usleep(1_500_000)\nprint(round(time.monotonic() - t, 1))")


def beats(kernel, count=5):
    for _ in range(count):
        data = secrets.token_bytes(32)
        assert kernel.ping(data, timeout=0.5) == data


def test_while_the_gil_is_held(kernel):
    """C059, peers 7.14: heartbeat and control at once, kernel_info on both channels."""
    msg_id = kernel.send_execute(GIL_HELD)
    kernel.take("iopub", lambda m: m.parent_id == msg_id and m.type == "execute_input")
    beats(kernel)
    for channel in ("control", "shell"):
        reply = kernel.kernel_info(channel, timeout=1)
        assert reply.content["status"] == "ok"
    assert not [m for m in kernel.queue["shell"] if m.parent_id == msg_id]  # the cell still runs
    assert kernel.reply("shell", msg_id).content["status"] == "ok"
    shown = [m for m in kernel.iopub(msg_id) if m.type == "stream"]
    assert [m.content["text"] for m in shown] == ["1.5\n"]


def test_while_python_computes(kernel):
    """C059, second cell."""
    code = "x = sum(i * i for i in range(5_000_000))\nprint(x)"
    msg_id = kernel.send_execute(code)
    kernel.take("iopub", lambda m: m.parent_id == msg_id and m.state == "busy")
    beats(kernel)
    assert kernel.kernel_info("control", timeout=0.5).content["status"] == "ok"
    assert kernel.reply("shell", msg_id).content["status"] == "ok"
    shown = [m for m in kernel.iopub(msg_id) if m.type == "stream"]
    assert [m.content["text"] for m in shown] == ["41666654166667500000\n"]


@pytest.mark.parametrize("code, shown", [
    ("import ctypes, time\nlibc = ctypes.PyDLL(None)      # keeps the GIL\nt = time.monotonic()\n"
     "libc.usleep(2_500_000)\nprint(round(time.monotonic() - t, 1))", "2.5\n"),
    ("x = sum(i * i for i in range(20_000_000))\nprint(x)", "2666666466666670000000\n"),
], ids=["GIL held", "computing"])
def test_every_ping_of_a_long_cell_is_echoed(kernel, code, shown):
    """C059 as written: a ping every 0.2 s until the reply is there, control in the middle."""
    msg_id = kernel.send_execute(code)
    begun = kernel.take("iopub", lambda m: m.parent_id == msg_id and m.type == "execute_input")
    kernel.queue["iopub"].append(begun)
    during = 0
    while not kernel.sockets["shell"].poll(200):
        beats(kernel, 1)
        during += 1
        if during == 2:
            assert kernel.kernel_info("control", timeout=1).content["status"] == "ok"
            assert not kernel.queue["shell"]  # answered before the cell was
    assert during >= 3
    assert kernel.finish_execute(msg_id, code).outputs == [("stdout", shown)]


def test_while_the_worker_is_stopped(kernel):
    """A Python that the system does not run at all."""
    worker = kernel.worker
    os.kill(worker, signal.SIGSTOP)
    try:
        beats(kernel)
        assert kernel.kernel_info("control", timeout=1).content["status"] == "ok"
        assert kernel.interrupt().content == {"status": "ok"}
        assert kernel.ask("control", "connect_request", timeout=1).content["shell_port"] > 0
    finally:
        os.kill(worker, signal.SIGCONT)
    assert kernel.run("1") == [("result", text("1"))]


def test_while_python_starts(start):
    """kernel_info from C, also while Python still starts; a cell sent then runs when it can."""
    kernel = start(ready=False)
    asked = kernel.send_execute("'early'")
    for channel in ("control", "shell"):
        msg_id = kernel.send(channel, "kernel_info_request", {})
        assert kernel.reply(channel, msg_id).content["status"] == "ok"
    beats(kernel, 2)
    assert kernel.reply("shell", asked).content["status"] == "ok"
    kernel.run("1")
    kernel.queue["iopub"].clear()  # how much of it came before our subscription is no matter


def test_while_python_hangs_at_start(start, tmp_path):
    """A site hook that hangs: kernel_info, interrupt and shutdown work all the same."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    (tmp_path / "sitecustomize.py").write_text(f"open({str(gate)!r}).read()\n")
    kernel = start(env={"PYTHONPATH": str(tmp_path)})  # the fixture's kernel_info is answered
    beats(kernel, 2)
    cell = kernel.send_execute("print('later')")
    assert kernel.kernel_info("control", timeout=1).content["status"] == "ok"
    gate.write_text("x")
    assert kernel.finish_execute(cell, "print('later')").outputs == [("stdout", "later\n")]


def test_shutdown_while_python_hangs_at_start(start, tmp_path):
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    (tmp_path / "sitecustomize.py").write_text(f"open({str(gate)!r}).read()\n")
    kernel = start(env={"PYTHONPATH": str(tmp_path)})
    kernel.expect_log(r"einkorn: Python does not end: killed")
    kernel.request_shutdown()
    assert kernel.exit_status(3) == 0
    kernel.check_gone()


def test_every_request_has_its_own_busy_and_idle(kernel):
    """C061: on shell and control, also when it fails or is unknown, and while a cell runs."""
    kernel.expect_log(r"einkorn: .*")
    code = "import time\nprint('go')\ntime.sleep(0.5)\nprint(\"done\")"
    cell = kernel.started(code)
    during = [("control", "kernel_info_request"), ("shell", "comm_info_request"),
              ("control", "debug_request"), ("control", "no_such_request")]
    asked = [(kernel.send(ch, kind, {"command": "debugInfo"}), ch, kind) for ch, kind in during]
    begin = time.monotonic()
    assert kernel.reply("control", asked[0][0]).content["status"] == "ok"
    assert time.monotonic() - begin < within(0.4)
    result = kernel.finished(cell)
    assert result.outputs == [("stdout", "go\ndone\n")]
    after = ["history_request", "is_complete_request", "complete_request", "inspect_request",
             "comm_info_request", "kernel_info_request"]
    asked += [(kernel.send("shell", kind, {"code": "x", "cursor_pos": 0}), "shell", kind)
              for kind in after]
    for number, (msg_id, channel, kind) in enumerate(asked):
        assert [m.state for m in kernel.iopub(msg_id)] == ["busy", "idle"], kind
        if number > 0 and kind != "no_such_request":
            reply = kernel.reply(channel, msg_id)
            assert reply.type == kind.replace("_request", "_reply")


def test_control_requests_are_handled_in_order(kernel):
    """Strictly one at a time, in order."""
    kinds = ["kernel_info_request", "connect_request", "interrupt_request"] * 10
    asked = [kernel.send("control", kind, {}) for kind in kinds]
    got = []
    for msg_id in asked:
        assert kernel.queue["control"] == [] or kernel.queue["control"][0].parent_id == msg_id
        got.append(kernel.reply("control", msg_id).type)
        assert [m.state for m in kernel.iopub(msg_id)] == ["busy", "idle"]
    assert got == [kind.replace("_request", "_reply") for kind in kinds]


@pytest.mark.parametrize("code", [
    "for i in range(300): print('x' * 10_000)",
    "for i in range(20_000): display(i)",
])
def test_control_during_a_flood(kernel, code):
    """Control and heartbeat are looked at between slices."""
    msg_id = kernel.send_execute(code)
    for _ in range(20):
        assert kernel.kernel_info("control", timeout=2).content["status"] == "ok"
        beats(kernel, 1)
    assert kernel.reply("shell", msg_id).content["status"] == "ok"
    kernel.iopub(msg_id)


def test_fifty_clients(kernel):
    """Each asks on shell and control and is answered."""
    others = [kernel.connect(channels=("shell", "control"))
              for _ in range(50)]
    asked = [(c, ch, c.send(ch, "kernel_info_request", {}))
             for c in others for ch in ("shell", "control")]
    for client, channel, msg_id in asked:
        assert client.reply(channel, msg_id).content["status"] == "ok"
        kernel.iopub(msg_id)
    for client in others:
        client.close()
