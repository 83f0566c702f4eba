"""
Issue 6, "Proof": requests to Python on the control channel, as ipykernel takes them.
"""

import datetime


def moment(text):
    return datetime.datetime.fromisoformat(text)


def release(kernel):
    """Lets the cell that asks go on, once all that was sent on shell and control is there."""
    for channel in "shell", "control":
        kernel.kernel_info(channel)
    kernel.answer(kernel.take("stdin"), "")


def test_a_cell_on_control_is_answered_there(kernel):
    result = kernel.execute("print('said'); 6 * 7", channel="control")
    assert result.status == "ok"
    assert result.outputs == [("stdout", "said\n"), ("result", {"text/plain": "42"})]
    assert kernel.execute("_").outputs == [("result", {"text/plain": "42"})]


def test_they_overtake_the_cells_that_wait_in_their_own_order(kernel):
    """While a cell runs they wait for it: Python is one thread."""
    kernel.run("order = []")
    running = kernel.started("print('go')\ninput()\norder.append('runs')", allow_stdin=True)
    shell = [kernel.send_execute(f"order.append('shell {i}')") for i in range(3)]
    kernel.kernel_info("shell")  # they wait in the kernel
    control = [kernel.send_execute(f"order.append('control {i}')", "control") for i in range(3)]
    release(kernel)
    assert kernel.finished(running).status == "ok"
    for msg_id in control:
        assert kernel.finish(msg_id, "control").status == "ok"
    for msg_id in shell:
        assert kernel.finish(msg_id).status == "ok"
    assert kernel.execute("print(*order)").stdout.split(" ", 1)[1] == (
        "control 0 control 1 control 2 shell 0 shell 1 shell 2\n")


def test_each_begins_after_the_one_before_it(kernel):
    ids = [kernel.send_execute(f"import time; time.sleep({s})", "control") for s in (0.2, 0.1, 0)]
    replies = [kernel.finish(msg_id, "control").reply for msg_id in ids]
    starts = [moment(reply.metadata["started"]) for reply in replies]
    ends = [moment(reply.header["date"]) for reply in replies]
    assert starts[1] >= ends[0] and starts[2] >= ends[1]
    assert ends[0] - starts[0] >= datetime.timedelta(seconds=0.2)


def test_the_reply_has_the_metadata_of_ipykernel(kernel):
    for channel in "shell", "control":
        for code, status in ("1", "ok"), ("1/0", "error"):
            metadata = kernel.execute(code, channel).reply.metadata
            assert moment(metadata["started"]).tzinfo is not None
            assert metadata["dependencies_met"] is True
            assert metadata["engine"] == kernel.kernel_session
            assert metadata["status"] == status


def test_an_error_of_a_shell_cell_aborts_none_of_them(kernel):
    running = kernel.started("print('go')\ninput()\n1/0", allow_stdin=True)
    shell = kernel.send_execute("2")
    control = kernel.send_execute("3", "control")
    release(kernel)
    assert kernel.finished(running).status == "error"
    assert kernel.finish(shell).status == "aborted"
    assert kernel.finish(control, "control").outputs == [("result", {"text/plain": "3"})]
