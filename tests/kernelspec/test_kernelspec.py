"""`einkorn install` and `uninstall`: what they write, where, and what they refuse."""

import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys

import pytest

from running import (EINKORN, FOR_STOCK, VERSION, copy_tree, facts, fake_python, kernel_json,
                     real_python)


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
        "kernel_protocol_version": "5.5",
        "metadata": {"einkorn": {"version": spec["metadata"]["einkorn"]["version"]},
                     "interpreter": {"path": sys.executable}},
    }


def test_what_the_protocol_version_promises_is_kept(install, tmp_path):
    """
    JEP 66: from 5.5 on "the kernel supports both mechanisms". The installed command line is
    started with a registration file, as a launcher would that has read the number.
    """
    import zmq

    assert install("--prefix", tmp_path).returncode == 0
    spec = kernel_json(tmp_path)
    assert tuple(map(int, spec["kernel_protocol_version"].split("."))) >= (5, 5)
    with zmq.Context() as context, context.socket(zmq.ROUTER) as router:
        router.linger = 0
        port = router.bind_to_random_port("tcp://127.0.0.1")
        file = tmp_path / "registration.json"
        file.write_text(json.dumps({
            "kernel_id": "promised", "transport": "tcp", "registration_ip": "127.0.0.1",
            "registration_port": port, "signature_scheme": "hmac-sha256", "key": ""}))
        kernel = subprocess.Popen([each.replace("{connection_file}", str(file))
                                   for each in spec["argv"]],
                                  env={**os.environ, "JUPYTER_RUNTIME_DIR": str(tmp_path)})
        try:
            assert router.poll(30000), "the kernel has reported no ports"
            report = json.loads(router.recv_multipart()[-1])
            assert report["kernel_id"] == "promised" and report["shell_port"].isdigit()
            assert (tmp_path / "kernel-promised.json").exists()
        finally:
            kernel.terminate()
        assert kernel.wait(30) == 0


def test_restart_in_place_is_an_option_at_each_start(install, tmp_path):
    for name, options, more in ("a", [], []), ("b", ["--restart-in-place"],
                                               ["--on-death", "restart"]):
        assert install("--prefix", tmp_path, "--name", name, *options).returncode == 0
        spec = json.loads((tmp_path / "share/jupyter/kernels" / name / "kernel.json").read_text())
        assert spec["argv"][8:] == ["-f", "{connection_file}", *more]


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
    copy_tree(tmp_path / "moved")
    einkorn = tmp_path / "moved/bin/einkorn"
    done = subprocess.run([einkorn, "install", "--prefix", tmp_path, "--python", sys.executable],
                          capture_output=True, text=True, timeout=100,
                          env={**os.environ, **FOR_STOCK})
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


def test_a_python_that_is_all_in_its_executable_is_used_itself(install, tmp_path):
    python = real_python(tmp_path / "python", libpython="")
    done = install("--prefix", tmp_path, "--python", python)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 1
    assert kernel_json(tmp_path)["argv"][4:6] == ["--libpython", ""]


def test_a_libpython_that_does_not_serve_is_passed_over(install, tmp_path):
    library = tmp_path / "libpython3.so"
    library.write_bytes(b"no library")
    python = real_python(tmp_path / "python", libpython=str(library))
    done = install("--prefix", tmp_path, "--python", python)
    assert done.returncode == 0, done.stderr
    assert f"{library} does not serve" in done.stdout
    assert kernel_json(tmp_path)["argv"][4:6] == ["--libpython", ""]


def test_a_python_that_loads_neither_is_refused(install, tmp_path):
    """What its files say is fine, but no cell runs: the reason is the one that Python gives."""
    python = real_python(tmp_path / "python", libpython="",
                         otherwise="echo 'ImportError: undefined symbol: PyX' >&2; exit 1")
    done = install("--prefix", tmp_path / "p", "--python", python)
    assert (done.returncode, done.stdout) == (1, "")
    assert "runs no cells (ImportError: undefined symbol: PyX)" in done.stderr
    assert "--python" in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "p").exists()


def test_an_install_that_lost_its_runner_refuses(tmp_path):
    tree = copy_tree(tmp_path / "moved")
    (tree / "lib/einkorn/_einkorn.abi3.so").unlink()
    done = subprocess.run([tree / "bin/einkorn", "install", "--prefix", tmp_path / "p",
                           "--python", sys.executable], capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stdout) == (1, "")
    assert "_einkorn.abi3.so" in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "p").exists()


def test_an_environment_whose_base_is_gone_is_told_from_no_python(install, tmp_path):
    python = tmp_path / "venv/bin/python"
    python.parent.mkdir(parents=True)
    python.symlink_to(tmp_path / "removed/python3")
    done = install("--prefix", tmp_path / "p", "--python", python)
    assert (done.returncode, done.stdout) == (1, "")
    assert "venv --clear" in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "p").exists()


def test_what_leads_python_astray_today_is_not_the_pythons_fault(install, tmp_path):
    done = install("--prefix", tmp_path, "--python", sys.executable, PYTHONHOME="/nonexistent",
                   PYTHONPATH="/nonexistent")
    assert done.returncode == 0, done.stderr


def test_a_refusal_leaves_no_bytecode_either(tmp_path):
    """The trial would, as every start does where it can."""
    tree = copy_tree(tmp_path / "moved")
    (tmp_path / "file").write_text("")
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run([tree / "bin/einkorn", "install", "--prefix", tmp_path / "file",
                           "--python", sys.executable], capture_output=True, text=True,
                          timeout=100, env=env)
    assert done.returncode == 1, done.stdout
    assert not list(tree.rglob("*.pyc"))


def test_a_place_that_cannot_be_written_is_named(install, tmp_path):
    (tmp_path / "file").write_text("")
    done = install("--prefix", tmp_path / "file", "--python", sys.executable)
    assert done.returncode == 1
    assert str(tmp_path / "file") in done.stderr and done.stderr.count("\n") == 1


# ---- --env, --as-python3 ------------------------------------------------------------


def test_env_is_for_the_kernel_and_for_the_trial(install, tmp_path):
    done = install("--prefix", tmp_path, "--python", sys.executable, "--env", "A=1", "--env",
                   "B=x=${A} ü", "--env=A=2", "--env=C=")
    assert done.returncode == 0, done.stderr
    assert kernel_json(tmp_path)["env"] == {"A": "2", "B": "x=${A} ü", "C": ""}
    done = install("--prefix", tmp_path / "q", "--python", sys.executable,
                   "--env", "PYTHONHOME=/nonexistent")
    assert done.returncode == 1 and "runs no cells" in done.stderr
    assert not (tmp_path / "q").exists()


def test_what_is_not_utf8_cannot_be_in_kernel_json(install, tmp_path):
    done = install("--prefix", tmp_path / "p", "--python", sys.executable, "--env", "A=\udcff")
    assert done.returncode == 1 and "UTF-8" in done.stderr
    assert not (tmp_path / "p").exists()


FOREIGN = {"argv": ["x"], "display_name": "Python 3 (ipykernel)", "language": "python"}


def make_foreign(prefix, name):
    directory = prefix / "share/jupyter/kernels" / name
    directory.mkdir(parents=True)
    (directory / "kernel.json").write_text(json.dumps(FOREIGN))
    (directory / "logo-64x64.png").write_bytes(b"theirs")
    (directory / "own.txt").write_text("own")
    return directory


def contents(directory):
    return {str(f.relative_to(directory)): f.read_bytes() for f in directory.rglob("*")
            if f.is_file()}


def test_as_python3_stands_in_for_another_kernel_which_comes_back(install, einkorn, tmp_path):
    directory = make_foreign(tmp_path, "python3")
    before = contents(directory)
    for _ in range(2):  # the second time it is ours that is replaced, and theirs is still kept
        done = install("--prefix", tmp_path, "--python", sys.executable, "--as-python3")
        assert done.returncode == 0, done.stderr
        spec = kernel_json(tmp_path, "python3")
        assert "einkorn" in spec["metadata"]
        assert spec["display_name"] == f"Python {VERSION} (Einkorn)"
    done = einkorn("uninstall", "--prefix", tmp_path, "--as-python3")
    assert done.returncode == 0, done.stderr
    assert "is back" in done.stdout
    assert contents(directory) == before
    assert not (directory / "before-einkorn").exists()


def test_jupyter_client_takes_python3_for_ours(install, tmp_path):
    from jupyter_client.kernelspec import KernelSpecManager

    make_foreign(tmp_path, "python3")
    assert install("--prefix", tmp_path, "--python", sys.executable, "--as-python3").returncode == 0
    manager = KernelSpecManager(kernel_dirs=[str(tmp_path / "share/jupyter/kernels")],
                                ensure_native_kernel=False)
    assert list(manager.find_kernel_specs()) == ["python3"]
    assert manager.get_kernel_spec("python3").argv[0] == os.path.realpath(EINKORN)


@pytest.mark.parametrize("name, says", [("python3", "--as-python3"), ("other", "--name")])
def test_another_kernels_name_is_not_taken_by_accident(install, tmp_path, name, says):
    directory = make_foreign(tmp_path, name)
    before = contents(directory)
    done = install("--prefix", tmp_path, "--python", sys.executable, "--name", name)
    assert (done.returncode, done.stdout) == (1, "")
    assert says in done.stderr and done.stderr.count("\n") == 1
    assert contents(directory) == before


# ---- uninstall ------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["--prefix", "--user", "--sys-prefix"])
def test_uninstall_leaves_nothing_of_what_install_wrote(einkorn, tmp_path, where):
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    place = {"--prefix": ["--prefix", tmp_path / "p"], "--user": ["--user"],
             "--sys-prefix": ["--sys-prefix"]}[where]
    common = [*place, "--python", venv / "bin/python", "--name", "Ek.1"]
    before = contents(tmp_path)
    assert einkorn("install", *common).returncode == 0
    added = contents(tmp_path).keys() - before.keys()
    assert len(added) == 4 and all("/jupyter/kernels/Ek.1/" in name for name in added)
    done = einkorn("uninstall", *common)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Removed the kernelspec Ek.1" in done.stdout
    assert contents(tmp_path) == before
    assert not list(tmp_path.rglob("Ek.1"))


def test_uninstall_knows_nothing_to_remove(einkorn, tmp_path):
    done = einkorn("uninstall", "--prefix", tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "no kernelspec" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("text", [json.dumps(FOREIGN), "{", "[]", '{"metadata": {"other": 1}}'])
def test_uninstall_leaves_what_is_not_ours(einkorn, tmp_path, text):
    directory = make_foreign(tmp_path, "einkorn")
    (directory / "kernel.json").write_text(text)
    before = contents(directory)
    done = einkorn("uninstall", "--prefix", tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "another kernel's" in done.stderr and done.stderr.count("\n") == 1
    assert contents(directory) == before


def test_uninstall_keeps_files_of_others_in_the_directory(einkorn, install, tmp_path):
    assert install("--prefix", tmp_path, "--python", sys.executable).returncode == 0
    directory = tmp_path / "share/jupyter/kernels/einkorn"
    (directory / "kernel.js").write_text("mine")
    assert einkorn("uninstall", "--prefix", tmp_path).returncode == 0
    assert contents(directory) == {"kernel.js": b"mine"}


def test_uninstall_without_its_python_says_how_to_do_without(einkorn, tmp_path):
    done = einkorn("uninstall", "--sys-prefix", "--python", tmp_path / "none")
    assert done.returncode == 1
    assert "--prefix DIR" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_user_needs_a_home(einkorn, command):
    done = einkorn(command, "--user", "--python", sys.executable, HOME="")
    assert (done.returncode, done.stdout) == (1, "")
    assert "HOME" in done.stderr and done.stderr.count("\n") == 1
