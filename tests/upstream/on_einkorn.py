"""
A pytest plugin for the test-suites of other projects: they run as they are, and the kernel that
they start by the name `python3` is Einkorn.

    pytest -p on_einkorn --table TABLE --einkorn PROGRAM --kernel-python PYTHON tests

TABLE lists what cannot apply, each with its reason (see Table). A test that it says to fail must
fail: one that passes is a failure, so the table stays true. Anything else that fails is one, too.
"""

import atexit
import fnmatch
import os
import pathlib
import subprocess
import sys
import tempfile

import pytest


class Table:
    """
    What a table file says: reasons at the margin, and indented below each the tests that it
    is the reason for, by file or by file::test, with * for anything.

        not run: they start no kernel
            test_io.py
        fails: subshells are left for later
            test_subshells.py::test_supported

    `not run` is for tests that never come near a kernel; `fails` for all others.
    """

    def __init__(self, path):
        self.path = path
        self.rows = []  # (whether it is run, pattern, reason)
        self.used = set()
        run = reason = None
        for line in path.read_text().splitlines():
            text = line.partition("#")[0].rstrip()
            if text and not text[0].isspace():
                how, colon, reason = text.partition(": ")
                if how not in ("not run", "fails") or not colon:
                    raise pytest.UsageError(f"{path}: neither 'not run: …' nor 'fails: …': {text}")
                run = how == "fails"
            elif text:
                self.rows.append((run, text.strip(), reason))

    def find(self, name):
        """-> (run, reason), or None: nothing is said of the test with that name."""
        for run, pattern, reason in self.rows:
            if name == pattern or fnmatch.fnmatchcase(name, escaped(pattern)):
                self.used.add(pattern)
                return run, reason
        return None

    def unused(self):
        return [pattern for run, pattern, reason in self.rows if pattern not in self.used]


def escaped(pattern):
    """Parameters stand in brackets, which fnmatch would take for a set of letters."""
    pattern = pattern.replace("[", "[[]")
    return pattern if "::" in pattern else pattern + "::*"


def pytest_addoption(parser):
    parser.addoption("--table", type=pathlib.Path, required=True)
    parser.addoption("--einkorn", type=pathlib.Path, required=True)
    parser.addoption("--kernel-python", default=sys.executable)


def pytest_configure(config):
    config.table = Table(config.getoption("--table"))
    directory = tempfile.TemporaryDirectory(prefix="einkorn-upstream-")
    config.add_cleanup(directory.cleanup)
    root = pathlib.Path(directory.name)
    done = subprocess.run(
        [config.getoption("--einkorn"), "install", "--prefix", root, "--as-python3",
         "--python", config.getoption("--kernel-python")], text=True, capture_output=True)
    if done.returncode != 0:
        raise pytest.UsageError(f"einkorn install: {done.stderr}")
    os.environ["JUPYTER_PATH"] = str(root / "share" / "jupyter")  # before the user's own
    os.environ["JUPYTER_DATA_DIR"] = str(root / "data")
    os.environ["JUPYTER_RUNTIME_DIR"] = str(root / "runtime")
    os.environ["JUPYTER_CONFIG_DIR"] = str(root / "config")
    os.environ["IPYTHONDIR"] = str(root / "ipython")
    (root / "ipython" / "profile_default").mkdir(parents=True)  # as everybody has who ran IPython
    os.environ.pop("PYTHONPATH", None)  # where this plugin lies is no matter of the kernel
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")


def pytest_collection_modifyitems(config, items):
    kept, not_run = [], []
    for item in items:
        said = config.table.find(name_of(item))
        if said is None or said[0]:
            kept.append(item)
        else:
            not_run.append(item)
        if said is not None and said[0]:
            item.add_marker(pytest.mark.xfail(strict=True, reason=said[1]))
    items[:] = kept
    config.hook.pytest_deselected(items=not_run)
    unused = config.table.unused()
    if unused and not config.option.keyword and not any("::" in a for a in config.args):
        raise pytest.UsageError(f"{config.table.path} names no test: {', '.join(unused)}")


def name_of(item):
    """"test_io.py::test_write[0]": the test's id, without the directory of all tests."""
    return item.nodeid.partition("tests/")[2] or item.nodeid


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """
    ipykernel's tests share a kernel. What a test that failed has left there (requests that were
    not taken, a cell that runs) would be the next one's failure: it gets a kernel of its own.
    """
    report = yield
    if call.excinfo is not None and not call.excinfo.errisinstance(pytest.skip.Exception):
        utils = sys.modules.get("tests.utils")
        if getattr(utils, "KM", None) is not None:
            atexit.unregister(utils.stop_global_kernel)
            utils.stop_global_kernel()
    return report


def pytest_sessionstart(session):
    """
    Einkorn says what it is, so one check is relaxed: the version that `implementation_version`
    must have at least is ipykernel's own count.
    """
    try:
        from tests import test_message_spec as spec
    except ImportError:
        return  # nbclient's tests
    spec.KernelInfoReply.implementation_version.min = "0.1"
