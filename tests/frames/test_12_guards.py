"""guards: what a cell leaves changed; and which native libraries it may load."""

import os
import shutil
import sysconfig
import tempfile
from pathlib import Path

import pytest

PLOT = str(Path(__file__).parents[2] / "build" / "plot-venv" / "bin" / "python")  # has matplotlib


@pytest.mark.parametrize(
    "code, guards",
    [
        ("x = 1", {}),
        ("import os\nos.environ['NEW'] = 'ä'", {"environ": {"added_or_changed": {"NEW": "ä"}, "removed": []}}),
        ("import os\nos.environ['KNOWN'] = '2'", {"environ": {"added_or_changed": {"KNOWN": "2"}, "removed": []}}),
        ("import os\ndel os.environ['KNOWN']", {"environ": {"added_or_changed": {}, "removed": ["KNOWN"]}}),
        ("import os\nos.environ['NEW'] = '1'\ndel os.environ['NEW']", {}),
        ("import os\nos.environ['NEW'] = '1'\n1 / 0", {"environ": {"added_or_changed": {"NEW": "1"}, "removed": []}}),
        ("import warnings\nwarnings.simplefilter('ignore')", {"warnings_filters": "mutated"}),
        ("import warnings\nwarnings.filters = []", {"warnings_filters": "mutated"}),
        ("import warnings\nwith warnings.catch_warnings():\n    warnings.simplefilter('error')", {}),
    ],
)  # fmt: skip
def test_a_change_is_told_and_kept(start, code, guards):
    worker = start(env={"KNOWN": "1"})
    assert worker.execute(code)["guards"] == ({"isolation": guards} if guards else {})
    assert worker.execute("x = 2")["guards"] == {}
    if "NEW'] = 'ä'" in code:
        assert worker.execute("print(os.environ['NEW'])")["stdout"] == "ä\n"


@pytest.mark.parametrize("mode", ["python", "jupyter"])
def test_every_mode_has_them(start, mode):
    worker = start(env={"OPENAI4S_KERNEL_MODE": mode})
    guards = worker.execute("import os\nos.environ['NEW'] = '1'")["guards"]
    assert guards["isolation"]["environ"]["added_or_changed"] == {"NEW": "1"}


def test_a_large_value_is_cut_and_many_are_left_out(worker):
    environ = worker.execute("import os\nos.environ['LARGE'] = 'x' * 3_000_000")["guards"]["isolation"]["environ"]
    assert environ["added_or_changed"] == {"LARGE": "x" * 999 + "…"}
    result = worker.execute("for i in range(1000): os.environ[f'V{i}'] = 'x' * 900")
    assert 20 < len(result["guards"]["isolation"]["environ"]["added_or_changed"]) < 50


@pytest.mark.parametrize("code", ["os.environ = {}", "del os.environ", "warnings.filters = None", "os.environ._data = 5"])
def test_what_a_cell_spoils_fails_neither_it_nor_the_next(start, code):
    worker = start()
    assert worker.execute("import os, warnings\n" + code)["error"] is None
    assert worker.execute("print(1)")["stdout"] == "1\n"


def test_guards_can_be_turned_off(start):
    worker = start(env={"OPENAI4S_GUARDS_OFF": "1"})
    assert worker.execute("import os\nos.environ['NEW'] = '1'")["guards"] == {}
    worker.execute("del os.environ['OPENAI4S_GUARDS_OFF']")
    assert "isolation" in worker.execute("os.environ['NEW'] = '2'")["guards"]


FAKE_PYPLOT = (
    "import sys, types\n"
    "helpers = sys.modules['matplotlib._pylab_helpers'] = types.ModuleType('helpers')\n"
    "class Gcf: figs = {}\n"
    "helpers.Gcf = Gcf\n"
)


def test_figures_that_open_and_close_are_told(start):
    worker = start()
    assert worker.execute(FAKE_PYPLOT + "Gcf.figs.update({2: 0, 1: 0})")["guards"] == {
        "matplotlib": {"leaked": [1, 2], "closed": []}
    }
    assert worker.execute("pass")["guards"] == {}
    closed = worker.execute("del Gcf.figs[1]; Gcf.figs[7] = 0")
    assert closed["guards"] == {"matplotlib": {"leaked": [7], "closed": [1]}}


@pytest.mark.parametrize("mode", ["repl", "python", "jupyter"])
@pytest.mark.parametrize("off", [{}, {"OPENAI4S_GUARDS_OFF": "1"}, {"OPENAI4S_PROVENANCE_OFF": "1"}])
def test_a_cell_that_does_not_plot_loads_no_matplotlib(start, mode, off):
    worker = start(env={"OPENAI4S_KERNEL_MODE": mode, **off}, arguments=["--python", PLOT])
    worker.execute("x = 1")
    probe = worker.execute("import sys\nprint([name for name in sys.modules if name.startswith('matplotlib')])")
    assert probe["stdout"] == "[]\n"
    there = worker.execute("import importlib.util\nprint(importlib.util.find_spec('matplotlib') is not None)")
    assert there["stdout"] == "True\n", "or the test shows nothing"


# ---- dlopen ------------------------------------------------------------------------------------

LIBRARY = next(  # any small one that loads
    path
    for directory in (sysconfig.get_config_var("DESTSHARED"), "/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu")
    for name in ("libdl.so.2", "libutil.so.1", "_json.so")
    if os.path.exists(path := os.path.join(directory, name))
)
LOAD = "import ctypes\ntry: ctypes.CDLL({path!r})\nexcept PermissionError as e: print(e)\nelse: print('loaded')"


def refused(path):
    return (
        f"Refusing to dlopen shared library from a writable path: {path}. Load native libraries from "
        "the conda environment / site-packages, not the workspace.\n"
    )


@pytest.fixture
def library(tmp_path):
    """A library in a workspace that the rule knows by its name only."""
    path = tmp_path / "libevil.so"
    shutil.copy(LIBRARY, path)
    os.symlink(path, tmp_path / "link.so")
    os.symlink(LIBRARY, tmp_path / "system.so")
    return path


def test_a_library_of_the_workspace_is_refused(start, library):
    worker = start(cwd=library.parent)
    for path in (str(library), "./libevil.so", "libevil.so", str(library.parent / "link.so")):
        literal = path if path.startswith("/") else str(library)
        assert worker.execute(LOAD.format(path=path))["stdout"] == refused(literal)
    # a path of bytes: ctypes itself takes none from 3.13 on
    code = LOAD.replace("import ctypes", "import _ctypes").replace("ctypes.CDLL({path!r})", "_ctypes.dlopen({path!r}, 2)")
    assert worker.execute(code.format(path=str(library).encode()))["stdout"] == refused(library)


def test_a_link_into_the_workspace_and_one_out_of_it_are_both_seen(start, library, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    os.symlink(library, elsewhere / "innocent.so")
    worker = start(env={"OPENAI4S_DLOPEN_BLOCK_ROOTS": str(library.parent)})
    assert worker.execute(LOAD.format(path=str(elsewhere / "innocent.so")))["stdout"] == refused(library)
    link = library.parent / "system.so"
    assert worker.execute(LOAD.format(path=str(link)))["stdout"] == refused(link)


@pytest.fixture
def elsewhere():
    """A directory of which the rule knows nothing by itself: not below /tmp."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as path:
        yield Path(path).resolve()


ROOTS = [("OPENAI4S_WORKSPACE", ""), ("OPENAI4S_DATA_DIR", "artifacts"), ("TMPDIR", ""), ("HOME", ".openai4s/artifacts")]


@pytest.mark.parametrize("variable, below", ROOTS)
def test_the_roots_come_from_the_environment(start, elsewhere, variable, below):
    path = elsewhere / "root" / below / "lib.so"
    path.parent.mkdir(parents=True)
    shutil.copy(LIBRARY, path)
    shutil.copy(LIBRARY, elsewhere / "lib.so")
    worker = start(env={variable: str(elsewhere / "root")}, cwd="/usr")
    assert worker.execute(LOAD.format(path=str(path)))["stdout"] == refused(path)
    assert worker.execute(LOAD.format(path=str(elsewhere / "lib.so")))["stdout"] == "loaded\n"


def test_the_directory_of_the_start_and_that_of_temporary_files_are_roots(start, elsewhere):
    shutil.copy(LIBRARY, elsewhere / "lib.so")
    worker = start(cwd=elsewhere)
    worker.execute("import os\nos.chdir('/')")
    assert worker.execute(LOAD.format(path=str(elsewhere / "lib.so")))["stdout"] == refused(elsewhere / "lib.so")
    with tempfile.TemporaryDirectory(dir="/tmp") as temporary:
        path = Path(temporary).resolve() / "lib.so"
        shutil.copy(LIBRARY, path)
        assert worker.execute(LOAD.format(path=str(path)))["stdout"] == refused(path)


def test_roots_that_are_named_stand_instead_of_the_others(start, library, elsewhere):
    shutil.copy(LIBRARY, elsewhere / "lib.so")
    roots = f"/no/such/directory:{elsewhere}"
    worker = start(env={"OPENAI4S_DLOPEN_BLOCK_ROOTS": roots}, cwd=library.parent)
    assert worker.execute(LOAD.format(path="./libevil.so"))["stdout"] == "loaded\n"
    assert worker.execute(LOAD.format(path=str(elsewhere / "lib.so")))["stdout"] == refused(elsewhere / "lib.so")


def test_libraries_of_the_system_and_of_packages_load(start, library):
    prefix = library.parent / "conda"
    prefix.mkdir()
    shutil.copy(LIBRARY, prefix / "lib.so")
    worker = start(cwd=library.parent, env={"CONDA_PREFIX": str(prefix)})
    for path in ("libc.so.6", LIBRARY, str(prefix / "lib.so"), None):
        assert worker.execute(LOAD.format(path=path))["stdout"] == "loaded\n"
    assert worker.execute("import sqlite3, _ctypes")["error"] is None


@pytest.mark.parametrize("off", ["0", "FALSE", " no ", "Off"])
def test_the_rule_can_be_turned_off(start, library, off):
    worker = start(cwd=library.parent, env={"OPENAI4S_SAFETY_AUDIT_HOOK": off})
    assert worker.execute(LOAD.format(path="./libevil.so"))["stdout"] == "loaded\n"


def test_a_cell_that_replaces_the_functions_of_os_changes_nothing(start, library):
    worker = start(cwd=library.parent)
    worker.execute(
        "import os, posixpath\n"
        "os.path.realpath = os.path.normpath = lambda path: '/usr/lib/x.so'\n"
        "os.getcwd = lambda: '/usr/lib'\nos.readlink = os.lstat = None\nos.environ['OPENAI4S_SAFETY_AUDIT_HOOK'] = '0'"
    )
    assert worker.execute(LOAD.format(path="./libevil.so"))["stdout"] == refused(library)
