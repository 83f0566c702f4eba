"""
Issue 1, "Bad input": a worker that cannot start. kernel_info still answers, and the
first cell's error says what happened and how to mend it.
"""

import shutil
import subprocess
import sys

import pytest

from client import text

LOGGED = r"(?s).*"  # the same words again, on as many lines as Python wrote


MEND = "einkorn install"


def told(kernel, *words):
    """Cells fail with one clear error that has these words; kernel_info answers all the time."""
    kernel.expect_log(LOGGED)
    for count in (1, 2):
        failed = kernel.fail("print('never')")
        assert failed.error[0] == "KernelStartError"
        assert failed.outputs == [("error", *failed.error)]
        for word in words:
            assert word in failed.error[1], failed.error[1]
        assert failed.count == count
    assert kernel.kernel_info("shell").content["status"] == "ok"
    assert kernel.kernel_info("control").content["status"] == "ok"
    assert kernel.ping() == b"ping"
    assert kernel.interrupt().content == {"status": "ok"}


def test_a_deleted_environment(start, tmp_path):
    """venv deleted."""
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    python = str(venv / "bin" / "python")
    kernel = start(python=python)
    assert kernel.run("import sys; sys.prefix") == [("result", text(repr(str(venv))))]
    kernel.stop()
    shutil.rmtree(venv)
    told(start(python=python), python, MEND)


def test_the_environments_base_is_gone(start, tmp_path):
    """bin/python is a link to a Python that was removed."""
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin" / "python"
    python.symlink_to(tmp_path / "removed" / "python3")
    told(start(python=str(python)), str(python), MEND)


def test_libpython_is_gone(start):
    """The libpython that the kernelspec names is no more."""
    missing = "/nonexistent/libpython3.11.so.1.0"
    told(start(args=["--libpython", missing]), missing, MEND)


def test_libpython_is_no_library(start, tmp_path):
    broken = tmp_path / "libpython3.11.so.1.0"
    broken.write_bytes(b"not a library")
    told(start(args=["--libpython", str(broken)]), str(broken), MEND)


@pytest.mark.parametrize("script, words", [
    ("exit 3\n", []),
    ("echo 'something is wrong' >&2; exit 1\n", ["something is wrong"]),
    ("kill -9 $$\n", []),
], ids=["exit 3", "stderr", "killed"])
def test_a_program_that_is_no_python(start, tmp_path, script, words):
    fake = tmp_path / "python"
    fake.write_text("#!/bin/sh\n" + script)
    fake.chmod(0o755)
    told(start(python=str(fake)), str(fake), *words, MEND)


def test_a_file_that_cannot_be_run(start, tmp_path):
    fake = tmp_path / "python"
    fake.write_text("text")
    told(start(python=str(fake)), str(fake), MEND)


def test_a_python_that_cannot_find_its_library(start):
    """PYTHONHOME that leads nowhere: Python's own words are in the error."""
    kernel = start(env={"PYTHONHOME": "/nonexistent"})
    told(kernel, "encodings")


def test_a_site_hook_that_ends_python(start, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import os\nos.write(2, b'the hook')\nos._exit(5)\n")
    told(start(env={"PYTHONPATH": str(tmp_path)}), "the hook")


def test_what_python_says_while_it_starts_is_no_output_of_a_cell(start, tmp_path):
    """It goes to the kernel's log."""
    (tmp_path / "sitecustomize.py").write_text("print('from the hook')\n")
    kernel = start(env={"PYTHONPATH": str(tmp_path)})
    kernel.expect_log(r"einkorn: .*from the hook.*", "")
    assert kernel.run("print(1)") == [("stdout", "1\n")]
    assert "from the hook" in kernel.stderr()
