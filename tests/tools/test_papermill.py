"""papermill: parameters go in, outputs come out, an error is told as the kernel tells it."""

import nbformat
import pytest

from shown import of_cell

WHO = "import sys\nsys.executable"
FAILS = ("def share(total):\n    return total / 0", "print('before')\nshare(6)", "print('never')")
TRACEBACK = """\
Exception encountered at "In [2]":
---------------------------------------------------------------------------
ZeroDivisionError                         Traceback (most recent call last)
Cell In[2], line 2
      1 print('before')
----> 2 share(6)

Cell In[1], line 2, in share(total)
      1 def share(total):
----> 2     return total / 0

ZeroDivisionError: division by zero
"""


@pytest.fixture
def papermill(run, tmp_path):
    """A function that runs a notebook with papermill. -> (how it ended, the notebook it wrote)"""

    def papermill(notebook, *options):
        output = tmp_path / "output.ipynb"
        done = run("papermill", notebook, output, *options)
        return done, nbformat.read(output, as_version=4)

    return papermill


def code_cells(notebook):
    """The cells of code, without those that papermill puts in for its messages."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_parameters(papermill, notebook, kernel_python):
    """An injected cell behind the one tagged "parameters" overrides its values."""
    done, written = papermill(
        notebook(("town = 'Lyon'\npeople = 1", "parameters"), "print(town, people * 2)",
                 "people * 7", WHO),
        "-p", "people", "6", "-p", "town", "Łódź", "--log-output")
    assert done.returncode == 0, done.stderr
    injected = written.cells[1]
    assert injected.metadata.tags == ["injected-parameters"]
    assert injected.source.splitlines() == [
        "# Parameters", "people = 6", 'town = "\\u0141\\xf3d\\u017a"']
    assert list(map(of_cell, written.cells)) == [
        [], [], [("stdout", "Łódź 12\n")], [("result", "42")], [("result", repr(kernel_python))]]
    assert [cell.execution_count for cell in written.cells] == [1, 2, 3, 4, 5]
    assert [cell.metadata.papermill.status for cell in written.cells] == ["completed"] * 5
    assert written.metadata.papermill.exception is None
    assert written.metadata.language_info.name == "python"
    assert "Łódź 12\n" in done.stderr and "\n42\n" in done.stderr


def test_the_kernel_by_its_name(papermill, notebook, kernel_python):
    """-k overrides the notebook's kernel."""
    done, written = papermill(notebook(WHO, kernel="of-another-machine"), "-k", "einkorn")
    assert done.returncode == 0, done.stderr
    assert of_cell(written.cells[0]) == [("result", repr(kernel_python))]


def test_a_notebook_that_fails(papermill, notebook):
    """papermill raises its error with our traceback; later cells do not run."""
    done, written = papermill(notebook(*FAILS))
    assert done.returncode == 1
    head, _, told = done.stderr.partition("PapermillExecutionError: ")
    assert told.strip().removeprefix("-" * 75).strip() == TRACEBACK.strip()
    cells = code_cells(written)
    assert list(map(of_cell, cells)) == [
        [], [("stdout", "before\n"), ("error", "ZeroDivisionError", "division by zero")], []]
    assert [c.metadata.papermill.status for c in cells] == ["completed", "failed", "pending"]
    assert written.metadata.papermill.exception is True


@pytest.mark.parametrize("code", ["sys.exit()", "sys.exit(0)", "raise SystemExit"])
def test_an_exit_without_a_status_ends_the_run_early(papermill, notebook, code):
    """papermill knows it by ename SystemExit and evalue "" or "0": success, the rest is not run."""
    done, written = papermill(notebook("import sys\nprint('kept')", code, "print('never')"))
    assert done.returncode == 0, done.stderr
    cells = code_cells(written)
    assert of_cell(cells[0]) == [("stdout", "kept\n")]
    assert of_cell(cells[2]) == []
    assert len(cells) == len(written.cells)  # no message about an error is put in


def test_an_exit_with_a_status_is_a_failure(papermill, notebook):
    done, written = papermill(notebook("import sys\nsys.exit(3)", "print('never')"))
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith("\nSystemExit: 3")
    assert list(map(of_cell, code_cells(written))) == [[("error", "SystemExit", "3")], []]
