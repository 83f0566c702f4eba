"""
Fixtures: programs that drive a kernel from a command line, each run as a user runs it.

They come from the environment that runs the tests. The kernel's Python is another one, without
IPython, and Jupyter finds the kernel by a kernelspec as `einkorn install` writes it.
"""

import os
import pathlib
import re
import subprocess
import sys

import nbformat
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EINKORN = os.environ.get("EINKORN", str(ROOT / "build" / "dev" / "bin" / "einkorn"))
KERNEL_PYTHON = os.environ.get("EINKORN_KERNEL_PYTHON",
                               str(ROOT / "build" / "venv" / "bin" / "python"))
PROGRAMS = pathlib.Path(sys.executable).parent

sys.path.insert(0, str(ROOT / "tests" / "clients"))  # shown.py

import terminal  # noqa: E402


@pytest.fixture(scope="session")
def environment(tmp_path_factory):
    """The kernelspec is found, and nothing of the user's own settings."""
    prefix = tmp_path_factory.mktemp("prefix")
    home = tmp_path_factory.mktemp("home")
    done = subprocess.run([EINKORN, "install", "--prefix", prefix, "--python", KERNEL_PYTHON],
                          text=True, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("JUPYTER_", "IPYTHON", "PYTEST_", "XDG_", "VIRTUAL_ENV"))}
    return {**kept, "HOME": str(home), "PATH": f"{PROGRAMS}:{kept['PATH']}", "LC_ALL": "C.UTF-8",
            "JUPYTER_PATH": str(prefix / "share" / "jupyter"),
            "PYDEVD_DISABLE_FILE_VALIDATION": "1"}


@pytest.fixture
def run(environment, tmp_path):
    """A function that runs a program to its end. -> what it wrote and its exit status"""

    def run(program, *words, stdin=""):
        done = subprocess.run([str(PROGRAMS / program), *map(str, words)], env=environment,
                              cwd=tmp_path, input=stdin, text=True, capture_output=True,
                              timeout=90)
        done.stdout, done.stderr = without_colours(done.stdout), without_colours(done.stderr)
        return done

    return run


@pytest.fixture
def notebook(tmp_path):
    """
    A function that writes a notebook for the kernel, a cell for each code or (code, tag).
    -> its path
    """

    def write(*cells, name="it", kernel="einkorn"):
        written = nbformat.v4.new_notebook(metadata={"kernelspec": {
            "name": kernel, "display_name": "Python", "language": "python"}})
        for cell in cells:
            code, *tags = cell if isinstance(cell, tuple) else (cell,)
            written.cells.append(nbformat.v4.new_code_cell(
                code, metadata={"tags": tags} if tags else {}))
        path = tmp_path / f"{name}.ipynb"
        nbformat.write(written, path)
        return path

    return write


@pytest.fixture
def open_terminal(environment, tmp_path):
    """A function that starts a program in a terminal. -> terminal.Terminal"""
    opened = []
    own = {**environment, "JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime")}

    def start(*words):
        opened.append(terminal.Terminal(words, own, tmp_path))
        return opened[-1]

    yield start
    for each in opened:
        each.close()


@pytest.fixture(scope="session")
def kernel_python():
    """What sys.executable is in the kernel."""
    return KERNEL_PYTHON


def without_colours(text):
    return re.sub(r"\x1b\[[\d;]*m", "", text)
