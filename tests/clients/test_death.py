"""A Python that dies, as servers and batch runners see it: C065 and --restart-in-place."""

import asyncio
import json
import subprocess
import sys
import time

import pytest
from jupyter_client.ioloop import AsyncIOLoopKernelManager
from jupyter_client.manager import KernelManager
from nbclient.exceptions import CellExecutionError

from shown import of_cell, of_notebook

DIES = "import os, signal\nprint('about to die', flush=True)\nos.kill(os.getpid(), signal.SIGKILL)"
EXITS = "import os\nprint('about to exit', flush=True)\nos._exit(7)"


@pytest.mark.parametrize("code, wrote, words", [
    (DIES, "about to die\n", "Python was killed by SIGKILL (killed)"),
    (EXITS, "about to exit\n", "Python ended with exit status 7"),
], ids=["SIGKILL", "os._exit"])
def test_nbclient_names_the_death(execute, code, wrote, words):
    """C065: CellExecutionError with the cause, within 5 s; what was written is in the notebook."""
    kept = []
    with pytest.raises(CellExecutionError) as caught:
        execute(["print(\"step 1\")", code], kept, timeout=None)
    assert caught.value.ename == "KernelDied"
    assert caught.value.evalue.startswith(words) and words in str(caught.value)
    first, second = kept[0].cells
    assert of_cell(first) == [("stdout", "step 1\n")]
    shown = of_cell(second)
    assert shown[0] == ("stdout", wrote) and shown[-1][:2] == ("error", "KernelDied")


@pytest.mark.parametrize("code, status", [(DIES, -9), (EXITS, 7)], ids=["SIGKILL", "os._exit"])
def test_the_process_ends_as_python_did(kernelspec, code, status):
    """C065, by hand: no process of ours keeps the pid; its exit status is the worker's."""
    manager = KernelManager(kernel_name="einkorn")
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=30)
        reply = client.execute_interactive(code, timeout=30, output_hook=lambda message: None)
        assert reply["content"]["ename"] == "KernelDied"
        assert manager.provisioner.process.wait(5) == status
        assert not manager.is_alive()
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def test_a_server_restarts_it(kernelspec):
    """jupyter_client's restarter, which servers use, sees the end and starts a new one."""

    async def scenario():
        manager = AsyncIOLoopKernelManager(kernel_name="einkorn")
        restarted = asyncio.Event()
        await manager.start_kernel()
        manager.add_restart_callback(restarted.set, "restart")
        client = manager.client()
        client.start_channels()
        try:
            await client.wait_for_ready(timeout=30)
            client.execute("import os\nos._exit(7)")
            await asyncio.wait_for(restarted.wait(), 30)
            client.stop_channels()
            client = manager.client()  # before a kernel was stable, ports may change
            client.start_channels()
            await client.wait_for_ready(timeout=30)
            reply = await client.execute("1 + 1", reply=True, timeout=30)
            assert (reply["content"]["status"], reply["content"]["execution_count"]) == ("ok", 1)
        finally:
            client.stop_channels()
            await manager.shutdown_kernel(now=True)

    asyncio.run(scenario())


@pytest.fixture
def in_place(kernelspec, tmp_path, monkeypatch):
    """The name of a kernelspec that was installed with --restart-in-place."""
    einkorn = json.loads((kernelspec / "kernel.json").read_text())["argv"][0]
    done = subprocess.run([einkorn, "install", "--prefix", tmp_path, "--name", "in-place",
                           "--python", sys.executable, "--restart-in-place"],
                          text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "share" / "jupyter"))
    return "in-place"


def test_a_notebook_goes_on_in_a_new_python(execute, in_place):
    """With allow_errors: the cell shows the death, the next one runs, without the variables."""
    begin = time.monotonic()
    notebook = execute(["import os\nx = 1\nprint(os.getppid())", "print('last')\nos._exit(3)",
                        "x", "import os\nprint(os.getppid())"],
                       kernel_name=in_place, allow_errors=True)
    shown = of_notebook(notebook)
    assert shown[1][0] == ("stdout", "last\n")
    assert shown[1][1][:2] == ("error", "KernelDied")
    assert shown[1][1][2].endswith("all variables are gone")
    assert shown[2] == [("error", "NameError", "name 'x' is not defined")]
    assert shown[3] == shown[0], "the kernel process is the same"
    assert time.monotonic() - begin < 20


def test_jupyter_client_hears_of_a_restart_in_place(kernelspec, in_place):
    """The manager sees a kernel that lives; a client sees the states of a restart."""
    manager = KernelManager(kernel_name=in_place)
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=30)
        client.execute("import os\nos._exit(3)")
        states = []
        while states[-3:] != ["restarting", "starting", "idle"]:
            message = client.get_iopub_msg(timeout=30)
            if message["msg_type"] == "status":
                states.append(message["content"]["execution_state"])
        reply = client.execute_interactive("1", timeout=30, output_hook=lambda message: None)
        assert (reply["content"]["status"], reply["content"]["execution_count"]) == ("ok", 1)
        assert manager.is_alive()
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=False)
    assert manager.provisioner.process is None or manager.provisioner.process.returncode == 0
