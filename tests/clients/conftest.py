"""
Fixtures: a kernelspec as `einkorn install` writes it, in a directory of its own, and
notebooks run on it through nbclient.
"""

import os
import pathlib
import subprocess
import sys

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = pathlib.Path(__file__).resolve().parents[2]
EINKORN = os.environ.get("EINKORN", str(ROOT / "build" / "dev" / "bin" / "einkorn"))
NOTEBOOKS = pathlib.Path(__file__).parent / "notebooks"


@pytest.fixture(scope="session")
def kernelspec(tmp_path_factory):
    """Installs into a prefix, and lets Jupyter look there. -> the kernelspec's directory"""
    prefix = tmp_path_factory.mktemp("prefix")
    done = subprocess.run([EINKORN, "install", "--prefix", prefix, "--python", sys.executable],
                          text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    own = {"JUPYTER_PATH": prefix / "share" / "jupyter",
           "JUPYTER_RUNTIME_DIR": tmp_path_factory.mktemp("runtime"),
           "IPYTHONDIR": tmp_path_factory.mktemp("ipython")}
    before = {name: os.environ.get(name) for name in own}
    os.environ.update({name: str(path) for name, path in own.items()})
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    yield prefix / "share" / "jupyter" / "kernels" / "einkorn"
    for name, value in before.items():
        if value is None:
            del os.environ[name]
        else:
            os.environ[name] = value


@pytest.fixture
def execute(kernelspec, tmp_path):
    """A function that runs a notebook, or cells of code, through nbclient. -> the notebook"""

    def run(source, keep=None, **options):
        if isinstance(source, str):
            notebook = nbformat.read(NOTEBOOKS / f"{source}.ipynb", as_version=4)
        else:
            cells = [nbformat.v4.new_code_cell(code) for code in source]
            notebook = nbformat.v4.new_notebook(cells=cells)
        if keep is not None:
            keep.append(notebook)  # what is in it when execute() raises
        options = {"kernel_name": "einkorn", "timeout": 60, **options}
        NotebookClient(notebook, resources={"metadata": {"path": str(tmp_path)}}, **options
                       ).execute()
        nbformat.validate(notebook)
        return notebook

    return run
