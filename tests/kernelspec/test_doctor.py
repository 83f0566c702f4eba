"""`einkorn doctor`: what it finds, whether a kernel runs, what to do."""

import json
import os
import pathlib
import select
import shutil
import subprocess
import sys

import pytest

from running import (EINKORN, VERSION, copy_tree, facts, fake_python, real_python)


def value(text, name):
    """What stands behind a name."""
    found = [line.split(name, 1)[1].strip() for line in text.splitlines()
             if line.strip().startswith(name)]
    assert found, (name, text)
    return found[0]


def test_a_python_that_works(einkorn, tmp_path):
    before = sorted(tmp_path.rglob("*"))
    done = einkorn("doctor", "--python", sys.executable)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout.startswith("Einkorn ")
    assert value(done.stdout, "program") == os.path.realpath(EINKORN)
    for name, file in [("launcher", "einkorn-python"), ("runner", "_einkorn.abi3.so"),
                       ("Python half", "hooks.py"), ("probe", "probe.py")]:
        assert value(done.stdout, name).endswith(file)
    assert value(done.stdout, "path") == sys.executable
    assert value(done.stdout, "version") == VERSION
    assert value(done.stdout, "prefix") == sys.prefix
    if sys.prefix != sys.base_prefix:
        assert value(done.stdout, "environment") == f"of {sys.base_prefix}"
    assert "1 + 1 is 2" in done.stdout and "A kernel runs." in done.stdout
    assert "einkorn install" in done.stdout  # nothing is installed in this home
    assert sorted(tmp_path.rglob("*")) == before


def test_packages_are_those_that_a_cell_would_find(einkorn, tmp_path):
    for name, version in [("comm", "7.1"), ("debugpy", "8.2")]:
        (tmp_path / f"{name}-{version}.dist-info").mkdir()
        (tmp_path / f"{name}-{version}.dist-info/METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    done = einkorn("doctor", "--python", venv / "bin/python", PYTHONPATH=str(tmp_path))
    assert done.returncode == 0, done.stdout
    assert value(done.stdout, "comm") == "7.1"
    assert value(done.stdout, "debugpy") == "8.2"
    assert value(done.stdout, "ipykernel").startswith("not installed")
    assert f"{venv}/bin/python -m pip install ipython ipykernel matplotlib-inline" in done.stdout


def test_the_stock_way_is_tried_where_there_is_no_library(einkorn, tmp_path):
    python = real_python(tmp_path / "python", libpython="")
    done = einkorn("doctor", "--python", python)
    assert done.returncode == 0, done.stdout
    assert value(done.stdout, "library").startswith("none")
    assert value(done.stdout, "in itself") == "1 + 1 is 2"
    assert "by its library" not in done.stdout


def test_a_library_that_does_not_serve_is_told_and_the_stock_way_runs(einkorn, tmp_path):
    (tmp_path / "libpython3.so").write_bytes(b"no library")
    python = real_python(tmp_path / "python", libpython=str(tmp_path / "libpython3.so"))
    done = einkorn("doctor", "--python", python)
    assert done.returncode == 0, done.stdout
    assert value(done.stdout, "by its library").startswith("FAILED")
    assert value(done.stdout, "in itself") == "1 + 1 is 2"


@pytest.mark.parametrize("script, says", [
    (facts(version="3.10.1"), "needs 3.11"),
    (facts(free_threaded=True), "free-threaded"),
    ("exit 1\n", "does not work"),
])
def test_a_python_that_cannot_work(einkorn, tmp_path, script, says):
    python = fake_python(tmp_path / "python", script)
    done = einkorn("doctor", "--python", python)
    assert (done.returncode, done.stderr) == (1, "")
    assert says in value(done.stdout, "UNUSABLE")
    assert "NO KERNEL RUNS." in done.stdout and "--python PATH" in done.stdout


def test_a_python_in_which_no_cell_runs(einkorn, tmp_path):
    python = real_python(tmp_path / "python", libpython="", otherwise="echo the reason >&2; exit 1")
    done = einkorn("doctor", "--python", python)
    assert done.returncode == 1
    assert "FAILED: the reason" in done.stdout and "NO KERNEL RUNS." in done.stdout


def test_a_site_hook_that_ends_python(einkorn, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import os\nos.write(2, b'the hook')\nos._exit(5)\n")
    done = einkorn("doctor", "--python", sys.executable, PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert "the hook" in done.stdout


@pytest.mark.parametrize("part", ["einkorn-python", "_einkorn.abi3.so", "python/einkorn/hooks.py"])
def test_a_part_of_einkorn_is_missing(tmp_path, part):
    tree = copy_tree(tmp_path / "moved")
    (tree / "lib/einkorn" / part).unlink()
    done = subprocess.run([tree / "bin/einkorn", "doctor", "--python", sys.executable], text=True,
                          capture_output=True, timeout=100)
    assert done.returncode == 1
    assert f"MISSING: {tree}/lib/einkorn/{part}" in done.stdout
    assert "Install Einkorn anew" in done.stdout


def processes_of_session(session):
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(stat.read_text().rpartition(")")[2].split()[3]) == session:
                found.append(int(stat.parent.name))
        except OSError:
            pass  # it has ended meanwhile
    return found


def ends(pid):
    """A killed process may take a moment, and then wait for init to see to it."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([fd], [], [], 5)[0])
    finally:
        os.close(fd)


def test_without_the_kernels_shared_object_nothing_but_the_version_is_left(tmp_path):
    tree = copy_tree(tmp_path / "moved")
    (tree / "lib/einkorn/einkorn-kernel.so").unlink()
    for words in ["doctor"], ["kernel", "-f", tmp_path / "c.json"]:
        with subprocess.Popen([tree / "bin/einkorn", *words], text=True, start_new_session=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            output, error = process.communicate(timeout=100)
        assert (process.returncode, output) == (1, "")
        assert f"{tree}/lib/einkorn/einkorn-kernel.so" in error and error.count("\n") == 1
        for pid in processes_of_session(process.pid):  # the worker was spawned before that
            assert ends(pid)
    done = subprocess.run([tree / "bin/einkorn", "--version"], capture_output=True, text=True,
                          timeout=100)
    assert done.returncode == 0 and done.stdout.startswith("einkorn ")


def test_kernelspecs_are_listed_with_what_is_gone(einkorn, tmp_path):
    """Ours only, wherever Jupyter looks for them."""
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    python = venv / "bin/python"
    places = [(["--user"], "mine", tmp_path / "home/.local/share/jupyter"),
              (["--sys-prefix"], "its", venv / "share/jupyter"),
              (["--prefix", tmp_path / "p"], "far", tmp_path / "p/share/jupyter")]
    for where, name, _ in places:
        assert einkorn("install", *where, "--python", python, "--name", name).returncode == 0
    foreign = tmp_path / "p/share/jupyter/kernels/foreign"
    foreign.mkdir()
    (foreign / "kernel.json").write_text(json.dumps({"argv": ["x"], "display_name": "x"}))

    far = {"JUPYTER_PATH": f"/nonexistent::{tmp_path}/p/share/jupyter:{venv}/share/jupyter"}
    done = einkorn("doctor", "--python", python, **far)
    assert done.returncode == 0, done.stdout
    for _, name, data in places:
        assert done.stdout.count(f"  {data}/kernels/{name}\n") == 1
    assert "foreign" not in done.stdout and "GONE" not in done.stdout

    shutil.rmtree(venv)
    done = einkorn("doctor", "--python", sys.executable, **far)
    assert done.returncode == 0, done.stdout  # this Python works; theirs is gone
    assert done.stdout.count("GONE") == 2
    assert f"{python} is gone" in done.stdout
    assert "einkorn install --name mine" in done.stdout
