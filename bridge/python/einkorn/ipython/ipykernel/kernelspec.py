"""The kernelspec of the kernel that runs: what jupyter_client takes for ``python3`` from here."""

import os
import sys

import einkorn

__all__ = ["KERNEL_NAME", "RESOURCES", "get_kernel_dict", "install", "make_ipkernel_cmd"]

KERNEL_NAME = "python3"
RESOURCES = os.path.normpath(os.path.join(os.path.dirname(einkorn.__file__), "../../kernelspec"))


def make_ipkernel_cmd(
    mod="ipykernel_launcher", executable=None, extra_arguments=None, python_arguments=None
):
    """Return the command (list) that starts a kernel like this one for a Python."""
    program = os.readlink(f"/proc/{os.getppid()}/exe")  # the worker is its child
    python = executable or sys.executable
    return [
        program, "kernel", "-f", "{connection_file}", "--python", python, *(extra_arguments or [])
    ]  # fmt: skip


def get_kernel_dict(extra_arguments=None, python_arguments=None):
    """Return the content of a kernel.json."""
    return {
        "argv": make_ipkernel_cmd(extra_arguments=extra_arguments),
        "display_name": "Python 3 (Einkorn)",
        "language": "python",
        "interrupt_mode": "message",
        "metadata": {},
    }


def install(*_arguments, **_keywords):
    """Raise RuntimeError: ``einkorn install`` does this."""
    raise RuntimeError("kernelspecs of Einkorn are installed by the command `einkorn install`")
