"""Output widgets in nbclient, which sends their state past asyncio on the socket that replies come on."""

import os
import subprocess
import sys

from client import EINKORN, PYTHON

TIME_LIMIT = 30  # of a cell

# In a process of its own: what nbclient imports on its way makes the first notebook's replies overtake.
RUN = """
import sys, time
import nbformat
from jupyter_client import AsyncKernelManager
from jupyter_client.kernelspec import KernelSpec
from nbclient import NotebookClient

einkorn, python, limit = sys.argv[1:]
cells = [
    "from ipywidgets import interactive\\nfrom IPython.display import HTML, display",
    "def show(x=1): display(HTML('y' * 300_000))\\ndisplay(interactive(show, x=(0, 5)))",
    "print('after it')",
]
notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
manager = AsyncKernelManager()
argv = [einkorn, "kernel", "-f", "{connection_file}", "--python", python]
manager._kernel_spec = KernelSpec(argv=argv, language="python", display_name="einkorn")
begin = time.monotonic()
NotebookClient(notebook, km=manager, timeout=int(limit)).execute()
print(int(time.monotonic() - begin), notebook.cells[-1].outputs[0].text.strip())
"""


def test_a_reply_does_not_come_while_nbclient_looks_away(tmp_path):
    """It would see it only at the cell's time limit; with ipykernel it does."""
    environment = {**os.environ, "IPYTHONDIR": str(tmp_path), "JUPYTER_RUNTIME_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", RUN, EINKORN, PYTHON, str(TIME_LIMIT)], env=environment,
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    seconds, text = done.stdout.split(maxsplit=1)
    assert text == "after it\n"
    assert int(seconds) < TIME_LIMIT
