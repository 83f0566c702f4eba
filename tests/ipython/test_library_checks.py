"""
Issue 6, "Proof": what the most used libraries look for to learn where they are (clients.md 5.2).
A row with `needs` uses the library itself, where it is installed; one without has the library's
check written out. Each row has a kernel of its own, in which IPython is not loaded yet.
"""

import json

import pytest

from environment import rows_for

ROWS = [
    # (name, what must be installed, cell, what it prints)
    ("tqdm.auto", ["tqdm", "ipywidgets"],
     "import tqdm.auto, tqdm.notebook\n"
     "print(issubclass(tqdm.auto.tqdm, tqdm.notebook.tqdm))", "True"),
    ("tqdm, written out", [],
     "import sys\nprint('ipykernel.zmqshell' in sys.modules,"
     " sys.modules['IPython'].get_ipython().__class__.__name__)", "True ZMQInteractiveShell"),
    ("tqdm before 4.60", [],
     "print('IPKernelApp' in get_ipython().config)", "True"),
    ("rich", ["rich"],
     "from rich.console import Console\nprint(Console().is_jupyter)", "True"),
    ("rich.traceback.install", ["rich"],
     "import rich.traceback\nold = get_ipython().showtraceback\nrich.traceback.install()\n"
     "print(get_ipython().showtraceback is not old)", "True"),
    ("rich, written out", [],
     "def check():\n    try:\n        get_ipython\n    except NameError:\n        return False\n"
     "    return get_ipython().__class__.__name__\nprint(check())", "ZMQInteractiveShell"),
    ("plotly", ["plotly"],
     "import plotly.io\nprint(plotly.io.renderers.default)", "plotly_mimetype"),
    ("plotly in VS Code", ["plotly"],
     "import os; os.environ['VSCODE_PID'] = '1'\n"
     "import plotly.io\nprint(plotly.io.renderers.default)", "vscode"),
    ("plotly, written out", [],
     "from IPython import get_ipython\nip = get_ipython()\n"
     "print(ip.__class__.__name__ == 'ZMQInteractiveShell'"
     " and type(ip).__module__.startswith('ipykernel.'))", "True"),
    ("pandas", ["pandas"],
     "from pandas.io.formats import console\nimport pandas\n"
     "print(console.in_ipython_frontend(), console.in_interactive_session(),"
     " pandas.get_option('display.notebook_repr_html'))", "True True True"),
    ("pandas, written out", [],
     "import __main__\nprint('zmq' in str(type(get_ipython())).lower(),"
     " hasattr(get_ipython(), 'kernel'), hasattr(__main__, '__file__'), __IPYTHON__)",
     "True True False True"),
    ("polars", ["polars"],
     "from polars._utils.various import _in_notebook\nprint(_in_notebook())", "True"),
    ("bokeh", ["bokeh"],
     "import bokeh.io.notebook, comm\nc = bokeh.io.notebook.get_comms('t')\n"
     "print(c.comm_id in comm.get_comm_manager().comms, c.target_name)", "True t"),
    ("bokeh, its history", [],
     "print(isinstance(list(get_ipython().history_manager.get_tail(1)), list))", "True"),
    ("altair", ["altair"],
     "import altair\nprint(altair.renderers.active, altair.data_transformers.active)",
     "default default"),
    ("panel, written out", [],
     "from ipykernel.comm import Comm, CommManager\nfrom ipykernel.kernelbase import Kernel\n"
     "class PanelKernel(Kernel):\n"
     "    implementation = 'panel'\n"
     "    def __init__(self, **traits):\n"
     "        super().__init__(**traits)\n"
     "        self.session = None\n"
     "        self.comm_manager = CommManager(parent=self, kernel=self)\n"
     "before, Kernel._instance = Kernel._instance, PanelKernel()\n"
     "Kernel._instance = before\n"
     "print(get_ipython().kernel is not None, Kernel.instance() is get_ipython().kernel)",
     "True True"),
    ("wandb, written out", [],
     "__vsc_ipynb_file__ = 'a.ipynb'\nimport sys\nfrom IPython import get_ipython\n"
     "from ipykernel import connect\nip = get_ipython()\n"
     "print(ip.__module__.startswith('ipykernel'), ip.kernel.shell.user_ns['__vsc_ipynb_file__'],"
     " ip.config.get('IPKernelApp', {})['connection_file'] == connect.get_connection_file())",
     "True a.ipynb True"),
    ("huggingface_hub, written out", [],
     "import IPython\nshell = IPython.get_ipython().__class__\n"
     "print(any(c.__name__ == 'ZMQInteractiveShell' for c in shell.__mro__))", "True"),
    ("transformers, written out", [],
     "import sys, os\nget_ipython = sys.modules['IPython'].get_ipython\n"
     "print('IPKernelApp' in get_ipython().config, 'VSCODE_PID' in os.environ)", "True False"),
    ("spaCy, written out", [],
     "ip = get_ipython()\nprint(ip.__class__.__name__ == 'ZMQInteractiveShell',"
     " ip.__class__.__module__ == 'google.colab._shell')", "True False"),
    ("distributed, written out", [],
     "import sys\ndef is_kernel():\n    if 'IPython' not in sys.modules:\n        return False\n"
     "    from IPython import get_ipython\n"
     "    return getattr(get_ipython(), 'kernel', None) is not None\nprint(is_kernel())", "True"),
    ("sklearn", ["sklearn"],
     "from sklearn.linear_model import LogisticRegression\n"
     "print(sorted(LogisticRegression()._repr_mimebundle_()))", "['text/html', 'text/plain']"),
    ("sympy", ["sympy"],
     "import sympy\nsympy.init_printing()\n"
     "data, _ = get_ipython().display_formatter.format(sympy.Symbol('x') ** 2)\n"
     "print('text/latex' in data)", "True"),
    ("matplotlib, the hook of pyplot", ["matplotlib"],
     "%matplotlib inline\nimport matplotlib.pyplot as plt\n"
     "print(plt.get_backend().removeprefix('module://matplotlib_inline.backend_'),"
     " len(get_ipython().events.callbacks['post_execute']) > 0)", "inline True"),
    ("matplotlib nbagg", ["matplotlib", "tornado"],
     "import matplotlib.backends.backend_nbagg as nbagg, ipykernel.comm\n"
     "print(nbagg.Comm is ipykernel.comm.Comm)", "True"),
    ("ipympl", ["ipympl"],
     "%matplotlib widget\nimport matplotlib.pyplot as plt\n"
     "print(plt.get_backend() in ('widget', 'ipympl', 'module://ipympl.backend_nbagg'))", "True"),
    ("numba's locator, written out", [],
     "import os  # numba\ndef f(): pass\nfile = f.__code__.co_filename\n"
     "print(file.startswith('<ipython-') or"
     " os.path.basename(os.path.dirname(file)).startswith('ipykernel_'))", "True"),
    ("joblib", ["joblib"],
     "import joblib.func_inspect\ndef f(): pass\n"
     "print('-ipykernel-' in ''.join(joblib.func_inspect.get_func_name(f)[0]))", "True"),
    ("datasets' hash, written out", [],
     "import os  # datasets\nf = lambda: 1\nprint(os.path.basename("
     "os.path.dirname(f.__code__.co_filename)).startswith('ipykernel_'))", "True"),
    ("dill, written out", [],
     "import inspect, pickle\ndef f(): return 1\n"
     "print(f.__module__, inspect.getsource(f).strip(), pickle.loads(pickle.dumps(f)) is f)",
     "__main__ def f(): return 1 True"),
    ("cloudpickle", ["cloudpickle"],
     "import cloudpickle\ndef f(): return 1\nprint(cloudpickle.loads(cloudpickle.dumps(f))())", "1"),
    ("ipywidgets, its version check", ["ipywidgets"],
     "import ipywidgets.comm\nprint(ipywidgets.comm.requires_ipykernel_shim())", "False"),
    ("ipywidgets, its targets", ["ipywidgets"],
     "import ipywidgets, comm\n"
     "print('jupyter.widget' in comm.get_comm_manager().targets,"
     " get_ipython().kernel.comm_manager is comm.get_comm_manager())", "True True"),
    ("anywidget", ["anywidget"],
     "import anywidget\nclass W(anywidget.AnyWidget):\n    _esm = 'export default {}'\n"
     "w = W()\nimport ipykernel.comm\nprint(isinstance(w.comm, ipykernel.comm.Comm))", "True"),
    ("gradio, written out", [],
     "print('google.colab' in str(get_ipython()), type(get_ipython()).__name__)",
     "False ZMQInteractiveShell"),
    ("ipyparallel, its import", [],
     "import ipykernel.comm\nfrom ipykernel.jsonutil import json_clean\n"
     "from ipykernel.kernelapp import IPKernelApp\nfrom ipykernel.zmqshell import "
     "ZMQInteractiveShell\nfrom ipykernel.iostream import OutStream\n"
     "print(IPKernelApp.initialized())", "True"),
    ("ipytest, jupysql and other extensions", [],
     "ip = get_ipython()\n"
     "print(all(hasattr(ip, n) for n in ('input_transformers_cleanup', 'input_transformers_post',"
     " 'ast_transformers', 'register_magic_function', 'set_custom_exc', 'run_line_magic',"
     " 'run_cell_magic', 'push', 'extension_manager', 'configurables', 'magics_manager',"
     " 'input_transformer_manager', 'user_ns_hidden', 'getoutput', 'system')))", "True"),
]


@pytest.fixture
def kernel(start):
    """A kernel that may be killed at the end: after such imports Python takes its time to end."""
    kernel = start()
    kernel.expect_log("einkorn: Python does not end: killed")
    return kernel


def printed(kernel, code):
    """What a cell prints; comms that it opens are let pass."""
    msg_id = kernel.send_execute(code)
    reply, iopub = kernel.reply("shell", msg_id), kernel.iopub(msg_id)
    assert reply.content["status"] == "ok", reply.content
    return "".join(m.content["text"] for m in iopub
                   if m.type == "stream" and m.content["name"] == "stdout")


LIBRARY_ROWS = rows_for(ROWS, lambda row: row[1])


@pytest.mark.parametrize("name, needs, code, expected", LIBRARY_ROWS,
                         ids=[row[0] for row in LIBRARY_ROWS])
def test_the_check_of_a_library(kernel, name, needs, code, expected):
    assert printed(kernel, code) == expected + "\n"


RESULTS = [
    ("pandas", "import pandas; pandas.DataFrame({'a': [1]})", "text/html"),
    ("polars", "import polars; polars.DataFrame({'a': [1]})", "text/html"),
    ("sklearn", "from sklearn.linear_model import Ridge; Ridge()", "text/html"),
    ("plotly", "import plotly.graph_objects as go; go.Figure()", "application/vnd.plotly.v1+json"),
    ("sympy", "import sympy; sympy.init_printing(); sympy.Symbol('x')", "text/latex"),
    ("altair", "import altair; altair.Chart(altair.Data(values=[])).mark_point()",
     "text/html"),
    ("ipywidgets", "import ipywidgets; ipywidgets.IntSlider()",
     "application/vnd.jupyter.widget-view+json"),
    ("seaborn", "import seaborn; seaborn.lineplot(x=[1, 2], y=[1, 2]);", "image/png"),
    ("matplotlib", "import matplotlib.pyplot as plt; plt.plot([1, 2]);", "image/png"),
    ("rich", "import rich; rich.print('[bold]x')", "text/html"),
]
RESULT_ROWS = rows_for(RESULTS, lambda row: [row[0]])

if RESULT_ROWS:

    @pytest.mark.parametrize("library, code, mime", RESULT_ROWS, ids=[row[0] for row in RESULT_ROWS])
    def test_what_it_shows(kernel, library, code, mime):
        """Its own representation, as the result or the display of a session's first cell."""
        msg_id = kernel.send_execute(code)
        reply, iopub = kernel.reply("shell", msg_id), kernel.iopub(msg_id)
        assert reply.content["status"] == "ok", reply.content
        shown = [m for m in iopub if m.type in ("execute_result", "display_data")]
        assert [any(key.startswith(mime) for key in m.content["data"]) for m in shown] == [True], (
            json.dumps([sorted(m.content["data"]) for m in shown]))


def test_the_signs_of_ipykernel(start):
    """C044: what libraries decide by, in the order in which they look; the first cell asks already."""
    kernel = start()
    for code, expected in (
        ("import sys\nip = get_ipython()\nprint(type(ip).__name__, 'IPKernelApp' in ip.config, "
         "hasattr(ip, 'kernel'), 'IPython' in sys.modules)", "ZMQInteractiveShell True True True"),
        ("from IPython import get_ipython as g2\nprint(g2() is ip, ip.execution_count > 0, "
         "callable(ip.run_line_magic), callable(display))", "True True True True"),
        ("import builtins\nprint(all(hasattr(builtins, n) for n in ('get_ipython', 'display')))",
         "True"),
        ("import os\nprint(sys.stdout.isatty(), os.environ.get('CLICOLOR'), "
         "'ipykernel' in sys.modules)", "False 1 True"),
    ):
        assert printed(kernel, code) == expected + "\n"
