"""nbval: a notebook is a test; each cell has to write again what is stored in it."""

import pathlib
import re

import nbformat
import pytest

NOTEBOOKS = pathlib.Path(__file__).parent / "notebooks"


@pytest.fixture
def nbval(run):
    """A function that checks a notebook. -> (exit status, results by cell, pytest's output)"""

    def nbval(path):
        done = run("python", "-m", "pytest", "-v", "-p", "no:cacheprovider", "--color", "no",
                   "--nbval", path)
        cells = re.findall(r"::Cell (\d+) (PASSED|FAILED)", done.stdout)
        return done.returncode, {int(number): result for number, result in cells}, done.stdout

    return nbval


def test_outputs_as_another_kernel_stored_them(nbval, tmp_path):
    """The outputs in plain.ipynb are ipykernel's: text, results, displays, errors, await."""
    path = tmp_path / "plain.ipynb"
    path.write_bytes((NOTEBOOKS / path.name).read_bytes())
    code = [c for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"]
    status, cells, output = nbval(path)
    assert (status, cells) == (0, {number: "PASSED" for number in range(len(code))}), output


def test_another_output_fails(run, nbval, notebook):
    """Only the cells that differ, and nbval shows how."""
    path = notebook("print('text')", "6 * 7", "'the same'", ("1 / 0", "raises-exception"))
    record(run, path)
    stored = path.read_text()
    for ours, other in [("text\\n\"", "txt\\n\""), ('"42"', '"41"'), ("division by", "div by")]:
        assert stored.count(ours) >= 1
        stored = stored.replace(ours, other)
    path.write_text(stored)
    status, cells, output = nbval(path)
    assert (status, cells) == (1, {0: "FAILED", 1: "FAILED", 2: "PASSED", 3: "FAILED"}), output
    assert "- text" in output and "+ txt" in output and "'41' == '42'" in output


def record(run, path):
    done = run("jupyter", "execute", "--allow-errors", "--inplace", path)
    assert done.returncode == 0, done.stderr


def test_a_syntax_error_is_told_the_same_way_again(run, nbval, notebook):
    """nbval runs cells without history: what the error says must not depend on counters."""
    path = notebook("1", ("def (", "raises-exception"))
    record(run, path)
    status, _, output = nbval(path)
    assert status == 0, output


def test_the_last_result_is_known_without_history(run, nbval, notebook):
    """_ is the last result, also of a cell that is not kept in the history."""
    path = notebook("6 * 7", "_ + 1")
    record(run, path)
    status, _, output = nbval(path)
    assert status == 0, output
