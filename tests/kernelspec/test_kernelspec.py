"""`einkorn install`: what it writes, where, and what it refuses."""

import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EINKORN = os.environ.get("EINKORN", str(ROOT / "build" / "dev" / "bin" / "einkorn"))
VERSION = "%d.%d.%d" % sys.version_info[:3]


@pytest.fixture
def install(tmp_path):
    """Runs the command in a home of its own."""

    def run(*arguments, **env):
        env = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"], **env}
        for name in ("ASAN_OPTIONS", "PYTHONMALLOC"):
            if name in os.environ:
                env[name] = os.environ[name]
        return subprocess.run([EINKORN, "install", *map(str, arguments)], env=env, text=True,
                              capture_output=True, cwd=tmp_path, timeout=100)

    return run


def fake_python(path, text):
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path


def facts(**changes):
    values = {"implementation": "cpython", "version": "3.12.1", "executable": "/x/python",
              "prefix": "/x", "free_threaded": False, "libpython": "", **changes}
    return "echo 'einkorn-probe %s'\n" % json.dumps(values)


def test_kernel_json_pins_everything_that_a_start_needs(install, tmp_path):
    done = install("--prefix", tmp_path / "p", "--python", sys.executable)
    assert done.returncode == 0, done.stderr
    directory = tmp_path / "p/share/jupyter/kernels/einkorn"
    assert str(directory) in done.stdout
    spec = json.loads((directory / "kernel.json").read_text())
    libpython = spec["argv"][5]
    assert libpython == "" or pathlib.Path(libpython).is_file()
    assert spec == {
        "argv": [os.path.realpath(EINKORN), "kernel", "--python", sys.executable,
                 "--libpython", libpython, "--python-version", VERSION,
                 "-f", "{connection_file}"],
        "display_name": f"Python {VERSION} (Einkorn)",
        "language": "python",
        "interrupt_mode": "message",
        "metadata": {"einkorn": {"version": spec["metadata"]["einkorn"]["version"]},
                     "interpreter": {"path": sys.executable}},
    }


def test_logos_are_pictures_of_their_size(install, tmp_path):
    assert install("--prefix", tmp_path, "--python", sys.executable).returncode == 0
    directory = tmp_path / "share/jupyter/kernels/einkorn"
    assert sorted(f.name for f in directory.iterdir()) == [
        "kernel.json", "logo-32x32.png", "logo-64x64.png", "logo-svg.svg"]
    for size in 32, 64:
        png = (directory / f"logo-{size}x{size}.png").read_bytes()
        assert png[:8] == b"\x89PNG\r\n\x1a\n"
        assert struct.unpack(">II", png[16:24]) == (size, size)
    assert (directory / "logo-svg.svg").read_text().startswith("<svg")


def test_jupyter_client_finds_it(install, tmp_path):
    from jupyter_client.kernelspec import KernelSpecManager

    assert install("--prefix", tmp_path, "--python", sys.executable).returncode == 0
    manager = KernelSpecManager(kernel_dirs=[str(tmp_path / "share/jupyter/kernels")])
    spec = manager.get_kernel_spec("einkorn")
    assert spec.interrupt_mode == "message"
    assert spec.display_name == f"Python {VERSION} (Einkorn)"


def test_sys_prefix_is_that_of_the_named_python_and_its_path_is_kept(install, tmp_path):
    """A virtual environment is known by the path of its bin/python, which is a link."""
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    done = install("--sys-prefix", "--python", "venv/bin/python")
    assert done.returncode == 0, done.stderr
    spec = json.loads((venv / "share/jupyter/kernels/einkorn/kernel.json").read_text())
    assert spec["argv"][3] == str(venv / "bin/python")


def test_an_active_virtual_environment_is_the_default(install, tmp_path):
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    assert install("--prefix", tmp_path, VIRTUAL_ENV=str(venv)).returncode == 0
    spec = json.loads((tmp_path / "share/jupyter/kernels/einkorn/kernel.json").read_text())
    assert spec["argv"][3] == str(venv / "bin/python")


def test_without_one_it_is_python3_on_path_and_a_shim_is_seen_through(install, tmp_path):
    fake_python(tmp_path / "python3", f'exec {sys.executable} "$@"\n')
    assert install("--prefix", tmp_path, PATH=f"{tmp_path}:/usr/bin:/bin").returncode == 0
    spec = json.loads((tmp_path / "share/jupyter/kernels/einkorn/kernel.json").read_text())
    assert spec["argv"][3] == sys.executable


@pytest.mark.parametrize("variables, place", [
    ({}, "home/.local/share/jupyter"),
    ({"XDG_DATA_HOME": "{tmp}/xdg"}, "xdg/jupyter"),
    ({"XDG_DATA_HOME": "{tmp}/xdg", "JUPYTER_DATA_DIR": "{tmp}/data"}, "data"),
])
def test_user_is_where_jupyter_looks_for_the_users_kernels(install, tmp_path, variables, place):
    env = {name: value.format(tmp=tmp_path) for name, value in variables.items()}
    done = install("--user", "--python", sys.executable, **env)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / place / "kernels/einkorn/kernel.json").is_file()


def test_user_without_a_home_is_refused(install):
    done = install("--user", "--python", sys.executable, HOME="")
    assert (done.returncode, done.stdout) == (1, "")
    assert "HOME" in done.stderr


def test_name_and_display_name(install, tmp_path):
    assert install("--prefix", tmp_path, "--python", sys.executable, "--name", "wheat-1.x",
                   "--display-name", 'Wheat "ö"').returncode == 0
    spec = json.loads((tmp_path / "share/jupyter/kernels/wheat-1.x/kernel.json").read_text())
    assert spec["display_name"] == 'Wheat "ö"'


def test_again_replaces_and_leaves_no_draft(install, tmp_path):
    for name in "first", "second":
        assert install("--prefix", tmp_path, "--python", sys.executable,
                       "--display-name", name).returncode == 0
    directory = tmp_path / "share/jupyter/kernels/einkorn"
    assert json.loads((directory / "kernel.json").read_text())["display_name"] == "second"
    assert not [f for f in directory.iterdir() if f.name.startswith(".")]


def test_the_python_half_is_compiled_for_that_python(install, tmp_path):
    """On a copy of the tree: it shows that the tree can be moved, too."""
    tree = pathlib.Path(EINKORN).resolve().parents[1]
    (tmp_path / "moved").mkdir()
    for part in "bin", "lib":
        shutil.copytree(tree / part, tmp_path / "moved" / part,
                        ignore=shutil.ignore_patterns("__pycache__"))
    einkorn = tmp_path / "moved/bin/einkorn"
    done = subprocess.run([einkorn, "install", "--prefix", tmp_path, "--python", sys.executable],
                          capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    spec = json.loads((tmp_path / "share/jupyter/kernels/einkorn/kernel.json").read_text())
    assert spec["argv"][0] == str(einkorn)
    sources = list(tmp_path.glob("moved/lib/**/python/einkorn/*.py"))
    assert sources
    for source in sources:
        tag = sys.implementation.cache_tag
        assert (source.parent / "__pycache__" / f"{source.stem}.{tag}.pyc").is_file()


@pytest.mark.parametrize("arguments, says", [
    ([], "--user"),
    (["--prefix", "p", "--name", "../x"], "--name"),
    (["--prefix", "p", "--name", ".."], "--name"),
    (["--prefix", "p", "--name", ""], "--name"),
])
def test_wrong_usage_is_status_2_and_one_line(install, tmp_path, arguments, says):
    done = install("--python", sys.executable, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "p").exists()


@pytest.mark.parametrize("script, says", [
    (facts(version="3.10.13"), "needs 3.11"),
    (facts(version="2.7.18"), "needs 3.11"),
    (facts(free_threaded=True), "free-threaded"),
    (facts(implementation="pypy"), "is pypy"),
    ("echo noise; echo 'No module named encodings' >&2; exit 1\n", "No module named encodings"),
    ("exit 0\n", "does not work"),
    ("echo 'einkorn-probe {}'\n", "makes no sense"),
    ("echo 'einkorn-probe ['\n", "makes no sense"),
    ("kill -SEGV $$\n", "signal 11"),
])
def test_a_python_that_cannot_work_is_refused_in_one_line(install, tmp_path, script, says):
    python = fake_python(tmp_path / "python", script)
    done = install("--prefix", tmp_path / "p", "--python", python)
    assert (done.returncode, done.stdout) == (1, "")
    assert says in done.stderr and "--python" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "p").exists()


def test_a_python_that_is_not_there_is_refused(install, tmp_path):
    done = install("--prefix", tmp_path / "p", "--python", tmp_path / "none")
    assert done.returncode == 1
    assert "No such file" in done.stderr
    assert not (tmp_path / "p").exists()


def test_without_a_shared_libpython_the_interpreter_itself_is_used(install, tmp_path):
    python = fake_python(tmp_path / "python", facts())
    done = install("--prefix", tmp_path, "--python", python)
    assert done.returncode == 0, done.stderr
    assert "no shared libpython" in done.stdout
    spec = json.loads((tmp_path / "share/jupyter/kernels/einkorn/kernel.json").read_text())
    assert spec["argv"][4:6] == ["--libpython", ""]


def test_a_place_that_cannot_be_written_is_named(install, tmp_path):
    (tmp_path / "file").write_text("")
    done = install("--prefix", tmp_path / "file", "--python", sys.executable)
    assert done.returncode == 1
    assert str(tmp_path / "file") in done.stderr and done.stderr.count("\n") == 1
