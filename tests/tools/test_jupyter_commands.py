"""jupyter execute, jupyter nbconvert --execute and jupyter run."""

import nbformat
import pytest

from shown import of_cell

WHO = "import sys\nsys.executable"
FAILS = ("def share(total):\n    return total / 0", "print('before')\nshare(6)", "print('after')")
TRACEBACK = """\
ZeroDivisionError                         Traceback (most recent call last)
Cell In[2], line 2
      1 print('before')
----> 2 share(6)

Cell In[1], line 2, in share(total)
      1 def share(total):
----> 2     return total / 0

ZeroDivisionError: division by zero
"""
FAILED = [[], [("stdout", "before\n"), ("error", "ZeroDivisionError", "division by zero")],
          [("stdout", "after\n")]]

EXECUTE = ["execute"]
NBCONVERT = ["nbconvert", "--execute", "--to", "notebook"]
both = pytest.mark.parametrize("command", [EXECUTE, NBCONVERT], ids=["execute", "nbconvert"])


def outputs(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return list(map(of_cell, notebook.cells))


@both
def test_a_notebook_in_place(run, notebook, kernel_python, command):
    path = notebook("print('Łódź')", "6 * 7",
                    "import asyncio\nawait asyncio.sleep(0, 'awaited')", WHO)
    done = run("jupyter", *command, "--inplace", path)
    assert done.returncode == 0, done.stderr
    assert outputs(path) == [[("stdout", "Łódź\n")], [("result", "42")], [("result", "'awaited'")],
                             [("result", repr(kernel_python))]]


@both
def test_an_error_ends_it_with_our_traceback(run, notebook, tmp_path, command):
    before = notebook(*FAILS).read_text()
    done = run("jupyter", *command, "it.ipynb", "--output", "out")
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith(TRACEBACK.rstrip())
    assert (tmp_path / "it.ipynb").read_text() == before


@both
def test_errors_that_are_allowed(run, notebook, tmp_path, command):
    notebook(*FAILS)
    done = run("jupyter", *command, "--allow-errors", "it.ipynb", "--output", "out")
    assert done.returncode == 0, done.stderr
    assert outputs(tmp_path / "out.ipynb") == FAILED


def test_nbconvert_to_html(run, notebook, tmp_path):
    """Text, results, tables and the colours of a traceback are in the page."""
    notebook("print('a < b')", "6 * 7",
             "class Table:\n    def _repr_html_(self):\n        return '<table><tr><td>in a cell'\n"
             "Table()", "1 / 0")
    done = run("jupyter", "nbconvert", "--execute", "--allow-errors", "--to", "html", "it.ipynb")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "it.html").read_text()
    assert "<pre>a &lt; b\n</pre>" in page
    assert "<pre>42</pre>" in page
    assert "<table><tr><td>in a cell" in page
    assert '<span class="ansi-red-fg">ZeroDivisionError</span>: division by zero</pre>' in page


SCRIPT = "import sys\nprint('out', 6 * 7)\nprint('err', file=sys.stderr)\nsys.executable\n"


def test_jupyter_run_from_stdin(run, kernel_python):
    """Streams go where they belong, and the result behind them."""
    done = run("jupyter", "run", "--kernel", "einkorn", stdin=SCRIPT)
    assert (done.returncode, done.stdout) == (0, f"out 42\n{kernel_python!r}")
    assert done.stderr == "err\n"


def test_jupyter_run_of_scripts(run, tmp_path, kernel_python):
    """One kernel runs them all. Jupyter gives their names to the kernel too; it has no use for
    them."""
    (tmp_path / "first.py").write_text("x = 20")
    (tmp_path / "second.py").write_text(SCRIPT + "print(x + 1)")
    done = run("jupyter", "run", "--kernel", "einkorn", "first.py", "second.py")
    assert (done.returncode, done.stdout) == (0, "out 42\n21\n"), done.stderr
    assert done.stderr.splitlines()[-1] == "err"


def test_jupyter_run_of_a_script_that_fails(run):
    done = run("jupyter", "run", "--kernel", "einkorn", stdin="print('before')\n1 / 0\n")
    assert (done.returncode, done.stdout) == (1, "before\n")
    assert "\nCell In[1], line 2\n      1 print('before')\n----> 2 1 / 0\n" in done.stderr
    assert "\nZeroDivisionError: division by zero" in done.stderr
