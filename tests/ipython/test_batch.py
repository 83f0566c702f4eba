"""
Programs that run notebooks to their end, with a kernel whose Python has IPython (issue 6, "Batch").
tests/tools has the same programs for the plain shell; their fixtures are used here.
"""

import importlib.util
import os
import pathlib
import subprocess
import sys
import urllib.request

import nbformat
import pytest

from client import PORTS, wait_for_file

TOOLS = pathlib.Path(__file__).resolve().parents[1] / "tools"
sys.path.insert(0, str(TOOLS))
_spec = importlib.util.spec_from_file_location("tools_conftest", TOOLS / "conftest.py")
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
_module.KERNEL_PYTHON = os.environ.get("EINKORN_TEST_PYTHON", sys.executable)
environment, run, notebook = _module.environment, _module.run, _module.notebook

from shown import of_cell  # noqa: E402

EXTENSION = """\
def load_ipython_extension(shell):
    shell.register_magic_function(lambda line: line.upper(), magic_name="shout")
"""
MAGICS = ("%load_ext extension\n%shout who", "!echo from a shell", "x = !echo a; echo b\nx",
          "%%capture kept\nprint('captured')", "kept.stdout", "%%bash\necho bash")
SHOWN = [[("result", "'WHO'")], [("stdout", "from a shell\r\n")], [("result", "['a', 'b']")], [],
         [("result", "'captured\\n'")], [("stdout", "bash\n")]]
SCRIPT = "%load_ext extension\nprint(get_ipython().run_line_magic('shout', 'who'))\n!echo a shell\n6 * 7\n"


@pytest.fixture
def extension(tmp_path):
    """A module next to the notebook that is an extension of IPython."""
    (tmp_path / "extension.py").write_text(EXTENSION)


def outputs(path):
    written = nbformat.read(path, as_version=4)
    nbformat.validate(written)
    return list(map(of_cell, written.cells))


@pytest.mark.parametrize("command", [["execute", "--inplace"],
                                     ["nbconvert", "--execute", "--to", "notebook", "--inplace"]],
                         ids=["execute", "nbconvert"])
def test_a_notebook_with_magics(run, notebook, extension, command):
    path = notebook(*MAGICS)
    done = run("jupyter", *command, path)
    assert done.returncode == 0, done.stderr
    assert outputs(path) == SHOWN


def test_papermill_puts_parameters_before_magics(run, notebook, extension, tmp_path):
    path = notebook(("who = 'nobody'", "parameters"), "%load_ext extension\n%shout $who", "!echo {who}")
    done = run("papermill", path, tmp_path / "out.ipynb", "-p", "who", "somebody")
    assert done.returncode == 0, done.stderr
    assert outputs(tmp_path / "out.ipynb")[2:] == [[("result", "'SOMEBODY'")], [("stdout", "somebody\r\n")]]


def test_papermill_is_told_which_magic_failed(run, notebook, tmp_path):
    path = notebook("print('before')\n%run nothing.py", "print('never')")
    done = run("papermill", path, tmp_path / "out.ipynb")
    assert done.returncode == 1
    assert 'Exception encountered at "In [1]"' in done.stderr
    assert "File `'nothing.py'` not found" in done.stderr


def test_nbval_of_outputs_that_ipykernel_saved(run, notebook, extension):
    """The notebook is run by ipykernel, and checked in Einkorn."""
    path = notebook(
        *MAGICS, "import pandas\npandas.DataFrame({'a': [1, 2]})", "import sympy\nsympy.Symbol('x') / 2",
        "import matplotlib.pyplot as plt\n_ = plt.plot([1, 2])", "display({'a': 1}, display_id='d')",
        "from IPython.display import HTML\nHTML('<b>b</b>')", "{'long': list(range(60))}",
        ("1 / 0", "raises-exception"), ("%nothing", "raises-exception"), "await __import__('asyncio').sleep(0, 5)",
        "import sys\nprint('x', file=sys.stderr)", "?len")
    done = run("jupyter", "execute", "--kernel_name", "python3", "--allow-errors", "--inplace", path)
    assert done.returncode == 0, done.stderr
    saved = nbformat.read(path, as_version=4)
    assert len([cell for cell in saved.cells if cell.outputs]) >= 13
    check = ("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--nbval",
             "--nbval-kernel-name", "einkorn", path)
    done = run(*check)
    assert done.returncode == 0, done.stdout
    assert f"{len(saved.cells)} passed" in done.stdout
    path.write_text(path.read_text().replace("'WHO'", "'who'"))
    assert "1 failed" in run(*check).stdout


def test_nbconvert_to_a_page(run, notebook, tmp_path):
    notebook("import pandas\npandas.DataFrame({'grain': [1]})", "import ipywidgets\nipywidgets.IntSlider(7)",
             "import matplotlib.pyplot as plt\nplt.plot([1]);", "!echo a shell")
    done = run("jupyter", "nbconvert", "--execute", "--to", "html", "it.ipynb")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "it.html").read_text()
    for part in ("<th>grain</th>", '"IntSliderModel"', "data:image/png;base64,", "<pre>a shell"):
        assert part in page


def test_jupyter_run_of_a_script_with_magics(run, extension):
    done = run("jupyter", "run", "--kernel", "einkorn", stdin=SCRIPT)
    assert (done.returncode, done.stdout) == (0, "WHO\na shell\n42"), done.stderr


def test_a_page_of_voila(environment, notebook, tmp_path):
    """It runs the notebook for whoever asks, and shows its outputs and widgets."""
    path = notebook("print('text of a cell')", "import ipywidgets as w\nw.IntSlider(value=7)",
                    "from IPython.display import HTML\nHTML('<b>in bold</b>')")
    (port,) = PORTS.take(1)
    log = open(tmp_path / "log", "w")
    voila = subprocess.Popen(
        [str(_module.PROGRAMS / "voila"), str(path), "--no-browser", f"--port={port}", "--Voila.ip=127.0.0.1"],
        env=environment, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        wait_for_file(tmp_path / "log", lambda text: f":{port}/" in text)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60) as answer:
            page = answer.read().decode()
        for part in ("text of a cell", "application/vnd.jupyter.widget-view+json", "in bold"):
            assert part in page, (tmp_path / "log").read_text()
    finally:
        voila.terminate()
        voila.wait(30)
        log.close()
