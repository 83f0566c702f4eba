"""
The same cells under ipykernel with matplotlib_inline and under Einkorn with its own backend: the
same messages in the same order, with the same representations, metadata and pixels.
"""

import base64
import hashlib
import json
import os
import re

import pytest
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager

from client import DEADLINE, EINKORN, ROOT, plain

PYTHON, IPYTHON = (str(ROOT / "build" / f"{name}-venv" / "bin" / "python")
                   for name in ("plot", "ipython"))
COMMANDS = {
    "ipykernel": [IPYTHON, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
    "own": [EINKORN, "kernel", "-f", "{connection_file}", "--python", PYTHON],
    "plain": [EINKORN, "kernel", "-f", "{connection_file}", "--python", IPYTHON, "--shell=plain"],
    "ipython": [EINKORN, "kernel", "-f", "{connection_file}", "--python", IPYTHON],
}

# Each a session of cells behind "import matplotlib.pyplot as plt". The two kernels have different
# ways to choose formats, so FORMATS stands for the module that has the functions for it.
SESSIONS = {
    "left": ["plt.plot([1, 2, 3])\nprint('after')", "print(plt.get_fignums())"],
    "left_behind_a_result": ["plt.plot([1, 2]);\n'result'"],
    "the_list_of_lines_is_the_result": ["len(plt.plot([1, 2]))"],
    "silenced": ["fig, ax = plt.subplots(figsize=(2, 2))\nax.plot([1, 2]);", "fig", "fig;"],
    "shown_at_once": [
        "plt.plot([3])\nplt.show()\nprint('between')\nplt.plot([4])\nplt.show()\nprint('end')",
    ],
    "shown_and_left": ["plt.plot([3])\nplt.show()\nplt.figure(figsize=(1, 1)).text(0, 0, 'a')"],
    "error": ["plt.plot([1])\n1 / 0", "print(plt.get_fignums())"],
    "without_pyplot": [
        "plt.figure()\nplt.close()",
        "from matplotlib.figure import Figure\nf = Figure(figsize=(1, 1))\n"
        "f.subplots().plot([1, 2])\nf",
        "display(f)",
        "display(f, metadata={'k': 1}, include=['image/png'])",
        "display(f, exclude=['image/png'])",
        "h = display(f, display_id='one')\nh.update(f)",
        "[f, f]",
    ],
    "closed": ["plt.figure()\nplt.close()\nprint('none')"],
    "empty": ["plt.figure()", "fig = plt.figure(figsize=(3, 2)); fig"],
    "several": [
        "for n in range(3):\n    plt.figure(figsize=(n + 1, 1)).subplots()",
        "plt.figure(7, figsize=(1, 1)).subplots()\nplt.figure(3, figsize=(2, 1)).subplots()\n"
        "plt.figure(7)\n",
    ],
    "subplots": [
        "fig, axes = plt.subplots(2, 3, figsize=(4, 3), sharex=True, layout='constrained')\n"
        "axes[0, 0].set_title('title')",
        "fig = plt.figure(figsize=(4, 2))\none, two = fig.subfigures(1, 2)\none.subplots()",
    ],
    "background": [
        "plt.figure(figsize=(2, 2), facecolor='none').subplots()",
        "plt.figure(figsize=(2, 2), facecolor=(1, 1, 1, 0.4)).subplots().tick_params("
        "labelcolor='white')",
        "ax = plt.figure(figsize=(2, 2), facecolor='none').subplots()\n"
        "ax.tick_params(axis='x', labelcolor='white')",
        "plt.figure(figsize=(2, 2), facecolor='none').text(0, 0, 'no axes')",
        "plt.figure(figsize=(2, 2), facecolor='blue').subplots()",
        "with plt.style.context('dark_background'):\n    plt.figure(figsize=(2, 2)).subplots()\n"
        "    plt.show()",
    ],
    "size": [
        "plt.figure(figsize=(2, 1), dpi=200).subplots().set_title('above')",
        "plt.figure(figsize=(2, 1)).subplots().text(3, 0.5, 'far outside')",
        "plt.rcParams['figure.dpi'] = 50\nplt.plot([1])",
        "plt.rcdefaults()\nprint(plt.isinteractive())\nplt.plot([1])",
    ],
    "settings_of_savefig": [
        "with plt.rc_context({'savefig.facecolor': 'red', 'savefig.edgecolor': 'red',\n"
        "                     'savefig.dpi': 20, 'savefig.bbox': None, 'savefig.format': 'pdf'}):\n"
        "    plt.figure(figsize=(2, 1), linewidth=3).subplots()\n    plt.show()",
    ],
    "ioff": [
        "plt.plot([0])",
        "plt.ioff()\nplt.plot([1])",
        "print(plt.get_fignums(), plt.isinteractive())\nplt.show()\nprint(plt.get_fignums())",
        "with plt.ion():\n    plt.figure(figsize=(1, 1)).subplots()",
        "plt.ion()\nwith plt.ioff():\n    fig = plt.figure(figsize=(1, 1))\nfig.subplots()",
        "print(plt.get_fignums())\nplt.plot([2])",
    ],
    "pause": ["plt.plot([1])\nplt.pause(0.01)\nprint('paused')", "plt.pause(0.01)"],
    "draw": ["plt.plot([1])\nplt.draw()\nplt.gcf().canvas.draw()\nprint('drawn')"],
    "show_without_close": [
        "plt.plot([1])\nplt.show(close=False)\nprint(plt.get_fignums())",
        "print(plt.get_fignums())",
        "plt.plot([1])\nplt.show(block=True)",
    ],
    "savefig": [
        "import io\nfile = io.BytesIO()\nplt.plot([1])\nplt.savefig(file, dpi=30)\n"
        "plt.close()\nprint(len(file.getvalue()))",
    ],
    "fails_to_draw": [
        "class Bad(plt.Line2D):\n    def draw(self, renderer):\n        raise LookupError('bad')\n"
        "plt.figure(figsize=(1, 1)).subplots().add_line(Bad([1], [2]))\n"
        "plt.figure(figsize=(2, 1)).subplots()\nprint('ok')",
        "print(plt.get_fignums())",
        "plt.title(r'$\\wrong$')\nplt.show()\nprint('ok')",
        "plt.title(r'$\\wrong$')\nprint('ok')",
        "fig = plt.figure()\nplt.title(r'$\\wrong$')\nplt.close()\ndisplay(fig)\nprint('ok')",
    ],
    "thread": [
        "import threading\nt = threading.Thread(target=lambda: plt.plot([1]))\nt.start()\nt.join()",
        "def show():\n    plt.plot([1])\n    plt.show()\n    print('shown')\n"
        "t = threading.Thread(target=show)\nt.start()\nt.join()\nprint('joined')",
    ],
    "await": [
        "import asyncio\nplt.plot([1])\nawait asyncio.sleep(0.01)\nprint('woken')",
        "async def draw():\n    plt.plot([2])\ntask = asyncio.create_task(draw())",
        "await task\nprint('done')",
    ],
    "formats": [
        "from FORMATS import set_matplotlib_formats\nset_matplotlib_formats('svg')\nplt.plot([1]);",
        "set_matplotlib_formats('retina')\nplt.plot([1]);",
        "set_matplotlib_formats('png', 'jpeg', 'pdf', pil_kwargs={'quality': 50})",
        "set_matplotlib_formats('png', 'jpeg')\nplt.plot([1]);",
        "set_matplotlib_formats('pdf')\nplt.plot([1]);",
        "set_matplotlib_formats('png', bbox_inches=None)\nplt.plot([1]);",
        "set_matplotlib_formats('png2x', dpi=30)\nfig = plt.figure(figsize=(2, 2))\n"
        "fig.subplots(); fig",
    ],
    "open_figures": [
        "from FORMATS import set_matplotlib_close\nset_matplotlib_close(False)",
        "plt.plot([1])",
        "plt.title('t')\nprint(plt.get_fignums())",
        "plt.figure()\nplt.plot([1])\nplt.close(1)",
        "plt.figure()\nplt.show()\nprint(plt.get_fignums())",
        "set_matplotlib_close()\nplt.plot([1])",
        "print(plt.get_fignums())",
    ],
    "animation": [
        "from matplotlib.animation import FuncAnimation\n"
        "plt.rcParams['animation.html'] = 'jshtml'\nfig, ax = plt.subplots(figsize=(1, 1))\n"
        "line, = ax.plot([0, 1])\n"
        "anim = FuncAnimation(fig, lambda i: line.set_ydata([0, i]), frames=3)\nplt.close()",
        "anim",
    ],
    "pickled": [
        "import pickle\nplt.figure(figsize=(1, 1)).subplots()\nkept = pickle.dumps(plt.gcf())",
        "copy = pickle.loads(kept)\nprint(plt.get_fignums())",
    ],
    "seen_from_inside": [
        "fig = plt.figure()\nfrom matplotlib.backends.backend_agg import FigureCanvasAgg\n"
        "print(isinstance(fig.canvas, FigureCanvasAgg), fig.canvas.manager.num, "
        "fig.canvas.required_interactive_framework, plt.isinteractive(), fig.number)\n"
        "import matplotlib\nprint('inline' in matplotlib.get_backend())\nplt.close()",
    ],
    "silent": ["#silent\nplt.plot([1])", "print(plt.get_fignums())"],
}
THEIRS, OURS = "matplotlib_inline.backend_inline", "einkorn.inline"
FORMATS = {"ipykernel": THEIRS, "own": OURS, "plain": OURS, "ipython": THEIRS}


@pytest.fixture(scope="module")
def open_session(tmp_path_factory):
    """A function (kernel's name) -> client of a kernel, the same one until reset."""
    specs = tmp_path_factory.mktemp("kernels")
    for name, argv in COMMANDS.items():
        (specs / name).mkdir()
        spec = {"argv": argv, "display_name": name, "language": "python"}
        (specs / name / "kernel.json").write_text(json.dumps(spec))
    environment = {**os.environ, "IPYTHONDIR": str(specs / "ipython"),
                   "JUPYTER_RUNTIME_DIR": str(specs), "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    environment.pop("MPLBACKEND", None)
    managers = []
    finder = KernelSpecManager(kernel_dirs=[str(specs)], ensure_native_kernel=False)

    def open_kernel(name):
        manager = KernelManager(kernel_name=name, kernel_spec_manager=finder)
        managers.append(manager)
        manager.start_kernel(env=environment)
        client = manager.client()
        client.start_channels()
        client.wait_for_ready(timeout=DEADLINE)
        return client

    yield open_kernel
    for manager in managers:
        manager.shutdown_kernel(now=True)


@pytest.fixture(scope="module")
def kernels(open_session):
    return {name: open_session(name) for name in COMMANDS}


def run(client, code):
    """What a cell shows, in order: each message as a tuple that can be compared."""
    shown = []

    def take(message):
        content = message["content"]
        if message["msg_type"] == "stream":
            if shown and shown[-1][:2] == ("stream", content["name"]):
                content = {**content, "text": shown.pop()[2] + content["text"]}
            shown.append(("stream", content["name"], content["text"]))
        elif message["msg_type"] == "error":
            shown.append(("error", content["ename"], content["evalue"]))
        elif message["msg_type"] not in ("status", "execute_input"):
            data = {mime: digest(mime, value) for mime, value in content["data"].items()}
            shown.append((message["msg_type"], data, content["metadata"], content["transient"]
                          if "transient" in content else {}))

    reply = client.execute_interactive(code, output_hook=take, timeout=DEADLINE,
                                       silent=code.startswith("#silent"), stop_on_error=False)
    return [*shown, reply["content"]["status"]]


def digest(mime, value):
    """What is the same each time that a representation is made."""
    if mime in ("image/png", "image/jpeg"):
        image = base64.b64decode(value, validate=True)
        size = [int.from_bytes(image[at : at + 4], "big") for at in (16, 20)]
        return (size if mime == "image/png" else None, hashlib.sha256(image).hexdigest())
    if mime == "image/svg+xml":
        return re.findall(r'<svg [^>]*(?:height|width|viewBox)="[^>]*>', value)
    if mime == "application/pdf":
        return base64.b64decode(value, validate=True)[:8]
    value = re.sub(r"(?: object)? at 0x[0-9a-f]+|[0-9a-f]{32}", "*", plain(value))
    return re.sub(r"[A-Za-z0-9+/=\\\n]{200,}", "*", value)


@pytest.mark.parametrize("name", SESSIONS)
def test_figures_are_shown_as_under_ipykernel(kernels, name):
    seen = {}
    for kernel, client in kernels.items():
        client.execute_interactive(
            "globals().update(dict.fromkeys(['fig', 'ax']))\nimport matplotlib\n"
            "import matplotlib.pyplot as plt\nplt.close('all')\nplt.ion()",
            output_hook=lambda message: None, timeout=DEADLINE)
        cells = [code.replace("FORMATS", FORMATS[kernel]) for code in SESSIONS[name]]
        seen[kernel] = [run(client, code) for code in cells]
    expected = seen.pop("ipykernel")
    for kernel, shown in seen.items():
        for code, theirs, ours in zip(SESSIONS[name], expected, shown):
            assert ours == theirs, (kernel, code)
