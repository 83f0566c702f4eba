"""A notebook run by nbclient in a kernel, and its outputs in a form that can be compared."""

import asyncio
import os
import pathlib
import re
import shutil
import sys

import nbformat
from jupyter_client import AsyncKernelManager
from jupyter_client.channels import AsyncZMQSocketChannel
from jupyter_client.kernelspec import KernelSpec
from nbclient import NotebookClient

from client import EINKORN, PYTHON, plain
from differential import REPLACED, normal

KERNELS = {
    "einkorn": [EINKORN, "kernel", "-f", "{connection_file}", "--python", PYTHON],
    "ipykernel": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
}
TIME_LIMIT = 60  # of a cell, in seconds
# What differs from one run to the next, besides addresses and times.
OF_A_RUN = (
    (r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])", "ID"),  # of widgets and comms
    (r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "UUID"),
    (r"\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?", "DATE"),
    (r"\b([mp])[0-9a-f]{10}\b", r"\1ID"),  # of parts of an SVG by matplotlib
)


send_past_asyncio = AsyncZMQSocketChannel.send


def send_and_look(self, message):
    """
    As jupyter_client's, but a reply that has come just before is noticed.  nbclient sends so in the
    midst of a cell that an output widget captures, and would wait for its time limit, with ipykernel
    most of the time (what ours does about it is in tests/ipython/test_output_widgets.py).
    """
    send_past_asyncio(self, message)
    self.socket._schedule_remaining_events()


AsyncZMQSocketChannel.send = send_and_look


def run(kernel, path, scratch):
    """
    Runs a notebook in a copy of its directory, in scratch, errors and all.
    -> the outputs of each code cell, and the widgets that were left
    """
    here = scratch / "here"  # the same path for both kernels: it may be in an output
    shutil.rmtree(here, ignore_errors=True)
    shutil.copytree(path.parent, here)
    notebook = nbformat.read(path, as_version=4)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "PYTHON"))}
    environment.pop("JPY_PARENT_PID", None)
    environment.update(IPYTHONDIR=str(scratch / kernel), JUPYTER_RUNTIME_DIR=str(scratch),
                       PYTHONHASHSEED="0", PYDEVD_DISABLE_FILE_VALIDATION="1")
    manager = AsyncKernelManager(connection_file=str(scratch / f"{kernel}.json"))
    manager._kernel_spec = KernelSpec(argv=KERNELS[kernel], language="python", display_name=kernel)
    client = NotebookClient(notebook, km=manager, allow_errors=True, timeout=TIME_LIMIT,
                            resources={"metadata": {"path": str(here)}})
    asyncio.run(client.async_execute(env=environment, cleanup_kc=True))
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return {"cells": [of_cell(cell) for cell in cells], "widgets": of_widgets(notebook)}


def of_cell(cell):
    """
    The source of a cell and its outputs.  Texts that follow each other are one for each stream: in
    which order two streams come is chance in ipykernel.
    """
    outputs, streams = [], {}
    for output in cell.outputs:
        kind = output.output_type
        if kind != "stream":
            streams = {}
        if kind == "error":
            outputs.append([kind, output.ename, output.evalue, of_traceback(output.traceback)])
        elif kind != "stream":
            outputs.append([kind, dict(output.data), dict(output.metadata)])
        elif output.name in streams:
            streams[output.name][2] += output.text
        else:
            streams[output.name] = [kind, output.name, output.text]
            outputs.append(streams[output.name])
            outputs[-len(streams):] = sorted(streams.values())
    return {"source": cell.source, "count": cell.execution_count,
            "outputs": normal(outputs, (*REPLACED, *OF_A_RUN))}


def of_traceback(lines):
    """
    Its text without colours, and without ipykernel's own frames: Einkorn has none.  Of the lines
    around the current one some are left out: IPython counts statements, the plain shell lines.
    """
    frames = plain(lines).split("\n\n")
    shown = [f for f in frames if not re.match(r"File \S*/ipykernel/", f)]
    return re.sub(r"(?m)^ +\d+ ?.*\n", "", "\n\n".join(shown))


def of_widgets(notebook):
    """The states of the widgets, in the order in which they were made, with their ids alike."""
    states = notebook.metadata.get("widgets", {})
    return [normal(model, (*REPLACED, *OF_A_RUN))
            for each in states.values() for model in each["state"].values()]
