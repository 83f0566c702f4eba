"""
text/plain and all else that a value shows is IPython's, whether IPython is loaded yet or not.

Each value of values.py is shown three ways (as a result, by display(), as a user_expression) in a
session in which IPython is not loaded, and again after it was; both must equal what IPython's own
DisplayFormatter makes of it in a process of its own. Which way comes first, and so may be the one
that loads IPython, goes round from value to value.
"""

import functools
import json
import pathlib
import re
import subprocess
import tempfile

import pytest
from client import PYTHON, Kernel
from values import FAILING, HEAVY, LIGHT, LINES

CELLS = {**LIGHT, **HEAVY, **LINES, **FAILING}
NAMES = list(CELLS)
PROBE = "import sys; print('IPython.core' in sys.modules)"
ADDRESS = re.compile(r"0x[0-9a-f]{6,}|\b\d{15}\b")  # also as mocks and threads write them


@functools.cache
def reference():
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run([PYTHON, pathlib.Path(__file__).with_name("reference.py")], text=True,
                              input=json.dumps(CELLS), capture_output=True, timeout=120, cwd=home,
                              env={"HOME": home, "IPYTHONDIR": home,
                                   "PATH": "/usr/bin:/bin", "PYTHONHASHSEED": "0"})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def without_addresses(shown):
    return json.loads(ADDRESS.sub("ADDRESS", json.dumps(shown)))


class Sessions:
    """Kernels in which IPython is not loaded; a value that has loaded it costs the kernel."""

    def __init__(self):
        self.kernel = None

    def unloaded(self):
        if self.kernel is not None and self.is_loaded():
            self.end()
        if self.kernel is None:
            self.kernel = Kernel(args=["--shell=auto"], env={"PYTHONHASHSEED": "0"})
        return self.kernel

    def is_loaded(self):
        shown = self.kernel.run(PROBE, store_history=False)
        return shown == [("stdout", "True\n")]

    def end(self):
        kernel, self.kernel = self.kernel, None
        if kernel is not None:
            try:
                assert kernel.leftovers() == []
                kernel.stop()
            finally:
                kernel.close()


@pytest.fixture(scope="module")
def sessions():
    made = Sessions()
    yield made
    made.end()


def of_messages(result, kind):
    """(data, metadata, stdout) of the one message of a kind; empty where there is none."""
    found = [m.content for m in result.body if m.type == kind]
    assert len(found) <= 1, result.outputs
    content = found[0] if found else {"data": {}, "metadata": {}}
    return [content["data"], content["metadata"], result.stdout]


def as_result(kernel, expression):
    return of_messages(kernel.execute(expression), "execute_result")


def as_display(kernel, expression):
    return of_messages(kernel.execute(f"display({expression})"), "display_data")


def as_expression(kernel, expression):
    result = kernel.execute("", user_expressions={"x": expression})
    got = result.reply.content["user_expressions"]["x"]
    assert got["status"] == "ok", got
    return [got["data"], got["metadata"], result.stdout]


WAYS = [as_result, as_display, as_expression]


def ways_of(name):
    """All three, beginning with another one for each value. None has no result."""
    at = NAMES.index(name) % len(WAYS)
    ways = WAYS[at:] + WAYS[:at]
    return [way for way in ways if CELLS[name] != "None" or way is not as_result]


def check(kernel, name):
    expected = without_addresses(reference()[name])
    for way in ways_of(name):
        statements, _, expression = CELLS[name].strip().rpartition("\n")
        kernel.run(statements)
        assert without_addresses(way(kernel, expression)) == expected, way.__name__


@pytest.mark.parametrize("name", [*LIGHT, *LINES])
def test_shows_without_ipython_what_ipython_shows(sessions, name):
    """And IPython is not loaded for what the plain shell knows to show."""
    check(sessions.unloaded(), name)
    if name in LIGHT:
        assert not sessions.is_loaded()


@pytest.mark.parametrize("name", HEAVY)
def test_shows_the_same_when_it_has_to_load_ipython(sessions, name):
    check(sessions.unloaded(), name)


@pytest.mark.parametrize("name", FAILING)
def test_what_cannot_be_shown_is_an_error_of_the_cell(sessions, name):
    check(sessions.unloaded(), name)


@pytest.fixture(scope="module")
def loaded():
    kernel = Kernel(args=["--shell=auto"], env={"PYTHONHASHSEED": "0"})
    kernel.run("get_ipython()")
    yield kernel
    try:
        assert kernel.leftovers() == []
        kernel.stop()
    finally:
        kernel.close()


@pytest.mark.parametrize("name", NAMES)
def test_shows_the_same_after_ipython_was_loaded(loaded, name):
    check(loaded, name)


def test_the_table_is_long():
    assert len(NAMES) >= 80
