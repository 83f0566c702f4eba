"""The kernelspec as jupyter_client uses it: start, interrupt, restart, shutdown."""

import json
import sys
import time

import pytest
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager

VERSION = "%d.%d.%d" % sys.version_info[:3]


@pytest.fixture
def manager(kernelspec):
    manager = KernelManager(kernel_name="einkorn")
    manager.start_kernel()
    yield manager
    manager.shutdown_kernel(now=True)
    manager.cleanup_resources()


@pytest.fixture
def client(manager):
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=30)
    yield client
    client.stop_channels()


def run(client, code):
    """-> (content of the reply, [(message type, content)] of the outputs)"""
    shown = []
    reply = client.execute_interactive(
        code, timeout=30, allow_stdin=False,
        output_hook=lambda m: shown.append((m["msg_type"], m["content"])))
    return reply["content"], [s for s in shown if s[0] not in ("status", "execute_input")]


def test_the_kernelspec_is_found(kernelspec):
    """Issue: absolute argv, "-f" and "{connection_file}" apart, language, display name, mode."""
    spec = KernelSpecManager().get_kernel_spec("einkorn")
    assert spec.resource_dir == str(kernelspec)
    assert spec.argv[0].startswith("/")
    assert spec.argv[-2:] == ["-f", "{connection_file}"]
    assert spec.language == "python"
    assert spec.display_name == f"Python {VERSION} (Einkorn)"
    assert spec.interrupt_mode == "message"
    assert json.loads((kernelspec / "kernel.json").read_text())["kernel_protocol_version"] == "5.5"


def test_a_cell(client):
    content, shown = run(client, "print('a')\n6 * 7")
    assert content["status"] == "ok"
    assert shown == [
        ("stream", {"name": "stdout", "text": "a\n"}),
        ("execute_result", {"data": {"text/plain": "42"}, "metadata": {}, "transient": {},
                            "execution_count": 1})]


def test_interrupt(manager, client):
    """interrupt_mode message: the manager sends interrupt_request on control."""
    client.execute("print('go')\nwhile True: pass")
    while client.get_iopub_msg(timeout=30)["msg_type"] != "stream":
        pass
    manager.interrupt_kernel()
    reply = client.get_shell_msg(timeout=5)
    assert reply["content"]["ename"] == "KeyboardInterrupt"
    assert run(client, "1")[0]["status"] == "ok"


def test_restart_on_the_same_ports(manager, client):
    """A new process and session on the same ports; the namespace is new."""
    ports, first = manager.ports, manager.provisioner.pid
    session = client.kernel_info(reply=True, timeout=30)["header"]["session"]
    run(client, "x = 1")
    begin = time.monotonic()
    manager.restart_kernel()
    client.wait_for_ready(timeout=30)
    assert time.monotonic() - begin < 5
    assert manager.ports == ports and manager.provisioner.pid != first
    assert client.kernel_info(reply=True, timeout=30)["header"]["session"] != session
    content, _ = run(client, "x")
    assert (content["status"], content["ename"]) == ("error", "NameError")


def test_shutdown_is_quick(manager, client):
    """The manager waits for the process: well below its 2.5 s before SIGTERM."""
    run(client, "1")
    begin = time.monotonic()
    manager.shutdown_kernel()
    assert time.monotonic() - begin < 2.0
    assert not manager.is_alive()


def test_ipc(kernelspec):
    """The ipc transport through jupyter_client."""
    manager = KernelManager(kernel_name="einkorn", transport="ipc")
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=30)
        assert run(client, "1")[0]["status"] == "ok"
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()
