"""
What user code finds around it, and every Python and place that Einkorn can be used with.

Which Pythons: $EINKORN_TEST_PYTHONS (paths, separated by colons), otherwise the one of
the other tests and every CPython from 3.11 on in /usr/bin, /usr/local/bin and ~/.pyenv.
"""

import json
import os
import pathlib
import re
import shutil
import stat
import subprocess

import pytest

import client
from client import EINKORN, PYTHON, SANITIZED, text, wait_for_file, wait_gone
from ways_in import library_beside, preload

ABOUT = """
import sys, sysconfig
print(sys.implementation.name, sys.version_info[:2] >= (3, 11),
      not sysconfig.get_config_var("Py_GIL_DISABLED"))
print("%d.%d.%d" % sys.version_info[:3])
print("/libpython3." in open("/proc/self/maps").read())
"""


def about(python):
    """(version, whether it runs by a shared library), or None if it is none of ours."""
    try:
        done = subprocess.run([python, "-I", "-c", ABOUT], capture_output=True, text=True,
                              timeout=60)
    except OSError:
        return None
    lines = done.stdout.splitlines()
    if done.returncode != 0 or lines[0] != "cpython True True":
        return None
    return lines[1], lines[2] == "True"


def candidates():
    given = os.environ.get("EINKORN_TEST_PYTHONS")
    if given:
        return given.split(":")
    found = [PYTHON]
    for place, pattern in [("/usr/bin", "python3*"), ("/usr/local/bin", "python3*"),
                           (pathlib.Path.home() / ".pyenv/versions", "*/bin/python3")]:
        found += sorted(str(path) for path in pathlib.Path(place).glob(pattern)
                        if re.fullmatch(r"python3(\.\d+)?", path.name))
    return found


def discover():
    pythons = {}
    for path in candidates():
        if os.path.realpath(path) not in pythons:
            facts = about(path)
            if facts:
                pythons[os.path.realpath(path)] = (path, *facts)
    return list(pythons.values())


PYTHONS = discover()
each_python = pytest.mark.parametrize("python, version, by_library", PYTHONS,
                                      ids=[f"{p[1]}-{i}" for i, p in enumerate(PYTHONS)])


LIBRARY, STOCK = ["--libpython", library_beside(PYTHON)], ["--libpython", ""]


def make_venv(path, python=PYTHON):
    subprocess.run([python, "-m", "venv", "--without-pip", path], check=True, timeout=60)
    return str(path / "bin" / "python")


def value(kernel, expression):
    """The value of an expression in the session."""
    shown = kernel.run(expression)
    assert len(shown) == 1 and shown[0][0] == "result", shown
    return eval(shown[0][1]["text/plain"])


# --- what user code finds -----------------------------------------------------


@pytest.fixture(params=["library", "stock"])
def either(request, start):
    """A kernel by each of the two ways in, in a directory of its own."""

    def start_kernel(env=None, **options):
        return start(args=STOCK if request.param == "stock" else LIBRARY, env=env, **options)

    return start_kernel


def test_sys_is_that_of_an_interactive_python(either, tmp_path):
    """B.44, peers 7.3: sys.executable is an interpreter, sys.argv as in a REPL, modules from the cwd."""
    (tmp_path / "beside.py").write_text("where = __file__\n")
    kernel = either(cwd=tmp_path)
    kernel.run("import sys")
    assert value(kernel, "sys.executable") == PYTHON
    assert value(kernel, "sys.argv") == [""]
    assert value(kernel, "sys.path[0]") == ""
    assert value(kernel, "sum(p == '' for p in sys.path)") == 1
    assert value(kernel, "__import__('beside').where") == str(tmp_path / "beside.py")
    assert value(kernel, "__import__('subprocess').run([sys.executable, '-c',"
                         " 'print(6 * 7)'], capture_output=True).stdout") == b"42\n"
    assert value(kernel, "[sys.flags.interactive, sys.flags.isolated, sys.flags.no_site]") == [
        0, 0, 0]


def test_main_is_the_session_and_has_no_file(either):
    kernel = either()
    kernel.run("import sys, __main__")
    assert value(kernel, "__name__") == "__main__"
    assert value(kernel, "sys.modules['__main__'] is __main__") is True
    assert value(kernel, "__main__.__dict__ is globals()") is True
    assert value(kernel, "hasattr(__main__, '__file__')") is False
    assert value(kernel, "__spec__ is None") is True
    own = value(kernel, "[n for n in globals() if not n.startswith('_')]")
    assert set(own) - {"In", "Out", "exit", "quit"} == {"sys"}, own


def test_terminal_colours_and_pager_are_those_of_a_notebook(either):
    """B.46. What was inherited describes a terminal that no output goes to."""
    kernel = either(env={"TERM": "dumb", "PAGER": "less", "NO_COLOR": ""})
    assert kernel.run("import os\nfor name in 'TERM', 'CLICOLOR', 'FORCE_COLOR', 'CLICOLOR_FORCE',"
                      " 'PAGER', 'GIT_PAGER': print(name, os.environ[name])") == [
        ("stdout", "TERM xterm-color\nCLICOLOR 1\nFORCE_COLOR 1\nCLICOLOR_FORCE 1\nPAGER cat\n"
                   "GIT_PAGER cat\n")]
    assert kernel.run("import os\nstatus = os.system('echo $TERM $PAGER')") == [
        ("stdout", "xterm-color cat\n")]


def test_colours_are_the_users_to_switch_off(start):
    kernel = start(env={"NO_COLOR": "1", "FORCE_COLOR": "0"})
    assert kernel.run("import os\n[os.environ.get(n) for n in"
                      " ('NO_COLOR', 'FORCE_COLOR', 'CLICOLOR', 'CLICOLOR_FORCE')]") == [
        ("result", text("['1', '0', None, None]"))]


def test_variables_given_to_the_kernel_reach_the_cells(start):
    kernel = start(env={"ANY_THING": "ü = 1", "EMPTY": ""})
    assert kernel.run("import os\nos.environ['ANY_THING'], os.environ['EMPTY']") == [
        ("result", text("('ü = 1', '')"))]


def test_the_logging_tree_is_untouched(either):
    kernel = either()
    assert value(kernel, "'logging' in __import__('sys').modules") is False
    kernel.run("import logging")
    assert value(kernel, "logging.getLogger().handlers") == []
    assert value(kernel, "logging.getLogger().level == logging.WARNING") is True
    assert value(kernel, "[n for n in logging.root.manager.loggerDict if 'einkorn' in n]") == []
    assert kernel.run("logging.warning('seen')") == [("stderr", "WARNING:root:seen\n")]


def test_no_warning_is_ours_even_where_warnings_are_errors(either):
    """Results, displays, errors, input to the event loop: nothing warns."""
    kernel = either(env={"PYTHONWARNINGS": "error"})
    assert kernel.run("import warnings\nwarnings.filters[0][0]") == [("result", text("'error'"))]
    assert kernel.run("{'a': [1]}") == [("result", text("{'a': [1]}"))]
    assert kernel.run("import asyncio\nawait asyncio.sleep(0)\n1") == [("result", text("1"))]
    assert kernel.run("display(1)") == [("display", text("1"))]
    assert kernel.fail("1/0").error == ("ZeroDivisionError", "division by zero")
    assert kernel.fail("import warnings\nwarnings.warn('mine')").error == ("UserWarning", "mine")


def test_the_development_mode_says_nothing_about_us(start):
    """-X dev: unclosed files, debug hooks of the allocator, faulthandler, asyncio's debug mode."""
    kernel = start(env={"PYTHONDEVMODE": "1"})
    assert kernel.run("import asyncio\nawait asyncio.sleep(0)\nprint('x')\n1") == [
        ("stdout", "x\n"), ("result", text("1"))]


# --- processes and pickles -------------------------------------------------------

TASKS = """
import os, sys

def double(x):
    return 2 * x

def whereabouts(_):
    main = sys.modules["__main__"]
    return os.getpid(), sys.executable, hasattr(main, "__file__")

def say(what):
    print("child says", what, flush=True)

class Point:
    def __init__(self, x):
        self.x = x

    def __eq__(self, other):
        return type(other) is Point and other.x == self.x

def moved(point):
    return Point(point.x + 1)
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing_with_functions_of_a_module(either, tmp_path, method):
    """B.44, peers 7.3. What children print belongs to the cell; the pool's end leaves no process."""
    (tmp_path / "tasks.py").write_text(TASKS)
    kernel = either(cwd=tmp_path)
    kernel.run(f"import multiprocessing, tasks\nmp = multiprocessing.get_context('{method}')")
    assert value(kernel, "with mp.Pool(2) as pool: doubled = pool.map(tasks.double, range(5))\n"
                         "doubled") == [0, 2, 4, 6, 8]
    assert kernel.run("p = mp.Process(target=tasks.say, args=('hello',))\np.start()\np.join()\n"
                      "p.exitcode") == [("stdout", "child says hello\n"), ("result", text("0"))]
    assert kernel.run("with mp.Pool(1) as pool: pid, exe, file = pool.map("
                      "tasks.whereabouts, [0])[0]\nexe, file") == [
        ("result", text(f"({PYTHON!r}, False)"))]
    assert value(kernel, "with mp.Pool(1) as pool: back = pool.map(tasks.moved, [tasks.Point(1)])\n"
                         "back == [tasks.Point(2)]") is True
    assert kernel.run("q = mp.Queue()\np = mp.Process(target=q.put, args=([1, 'ü'],))\np.start()\n"
                      "got = q.get(timeout=20)\np.join()\nq.close()\ngot") == [
        ("result", text("[1, 'ü']"))]
    failing = kernel.fail("with mp.Pool(1) as pool: pool.map(tasks.double, [None])")
    assert failing.error[0] == "TypeError"
    pid = value(kernel, "pid")
    assert wait_gone(pid, 5) or not os.path.exists(f"/proc/{pid}")


def test_process_pools_of_concurrent_futures(either, tmp_path):
    (tmp_path / "tasks.py").write_text(TASKS)
    kernel = either(cwd=tmp_path)
    for method in "fork", "spawn":
        assert value(kernel, "import multiprocessing, tasks\n"
                             "from concurrent.futures import ProcessPoolExecutor\n"
                             "with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("
                             f"'{method}')) as pool:\n"
                             "    done = list(pool.map(tasks.double, range(4)))\n"
                             "done") == [0, 2, 4, 6]


def test_forks_know_the_functions_of_the_session(either):
    kernel = either()
    assert value(kernel, "import multiprocessing\ndef triple(x):\n    return 3 * x\n"
                         "with multiprocessing.get_context('fork').Pool(2) as pool:\n"
                         "    tripled = pool.map(triple, range(4))\n"
                         "tripled") == [0, 3, 6, 9]


def test_a_spawned_child_is_not_told_to_run_the_session(either):
    """Its __main__ is its own: a function of the session is not found there, and that is said."""
    kernel = either()
    kernel.run("import multiprocessing\ndef mine(): pass\n"
               "p = multiprocessing.get_context('spawn').Process(target=mine)\np.start()\n"
               "p.join(20)")
    assert value(kernel, "p.exitcode") == 1


def test_classes_of_the_session_are_pickled_by_reference(either):
    kernel = either()
    kernel.run("import copy, pickle\nclass Point:\n    class Inner: pass\n"
               "    def __init__(self, x): self.x = x\ndef f(): return 1")
    assert value(kernel, "pickle.loads(pickle.dumps(Point)) is Point") is True
    assert value(kernel, "pickle.loads(pickle.dumps(Point.Inner)) is Point.Inner") is True
    assert value(kernel, "pickle.loads(pickle.dumps(f)) is f") is True
    for protocol in range(6):
        assert value(kernel, f"pickle.loads(pickle.dumps(Point(7), {protocol})).x") == 7
    assert value(kernel, "copy.deepcopy(Point([1])).x") == [1]
    assert value(kernel, "Point.__module__, f.__module__") == ("__main__", "__main__")


# --- every Python of the machine ----------------------------------------------------


def everyday(kernel, version):
    """What must work in any of them."""
    assert value(kernel, "__import__('sys').version.split()[0]").startswith(version)
    assert kernel.run("import sys\nprint('out')\nprint('err', file=sys.stderr)\n[1, 'ü']") == [
        ("stdout", "out\n"), ("stderr", "err\n"), ("result", text("[1, 'ü']"))]
    assert kernel.run("import os\nstatus = os.system('echo child')") == [("stdout", "child\n")]
    failed = kernel.fail("def f():\n    1/0\nf()")
    assert failed.error == ("ZeroDivisionError", "division by zero")
    assert "1/0" in failed.traceback and "_einkorn" not in failed.traceback
    assert kernel.fail("for").error[0] == "SyntaxError"
    assert kernel.run("import asyncio\nawait asyncio.sleep(0, 'awaited')") == [
        ("result", text("'awaited'"))]
    assert kernel.run("import threading\nt = threading.Thread(target=print, args=('thread',))\n"
                      "t.start()\nt.join()") == [("stdout", "thread\n")]
    assert kernel.run("import decimal\nstr(decimal.Decimal(1) / 3)[:6]") == [
        ("result", text("'0.3333'"))]
    cell = kernel.started("print('go')\nwhile True: pass")
    kernel.interrupt()
    assert kernel.finished(cell, timeout=5).error == ("KeyboardInterrupt", "")
    info = kernel.kernel_info().content["language_info"]
    assert info["version"] == version


def program_of(pid):
    return os.path.basename(os.readlink(f"/proc/{pid}/exe"))


@each_python
def test_one_build_serves_every_python(start, python, version, by_library):
    """In the way it runs itself: by a shared library, then the worker is einkorn-python, or not."""
    kernel = start(python=python)
    everyday(kernel, version)
    assert SANITIZED or (program_of(kernel.worker) == "einkorn-python") == by_library


@each_python
def test_one_build_serves_every_python_the_stock_way(start, python, version, by_library):
    kernel = start(python=python, args=STOCK)
    everyday(kernel, version)
    assert program_of(kernel.worker).startswith("python")


@pytest.mark.parametrize("python, version, by_library",
                         [known for known in PYTHONS if library_beside(known[0])])
def test_one_build_serves_every_python_by_its_library(start, python, version, by_library):
    kernel = start(python=python, args=["--libpython", library_beside(python)])
    everyday(kernel, version)
    assert program_of(kernel.worker) == "einkorn-python"


@each_python
def test_virtual_environments_of_every_python(start, tmp_path, python, version, by_library):
    inside = make_venv(tmp_path / "venv", python)
    site = tmp_path / f"venv/lib/python{version.rpartition('.')[0]}/site-packages"
    (site / "only_here.py").write_text("x = 1\n")
    for way in [], STOCK:
        kernel = start(python=inside, args=way)
        assert value(kernel, "__import__('only_here').x") == 1
        assert value(kernel, "__import__('sys').prefix") == str(tmp_path / "venv")
        assert value(kernel, "__import__('sys').executable") == inside
        everyday(kernel, version)


def test_kernels_of_several_pythons_run_beside_each_other(start):
    kernels = [start(python=python) for python, *_ in PYTHONS]
    sent = [kernel.send_execute("import sys\nprint('%d.%d.%d' % sys.version_info[:3])")
            for kernel in kernels]
    for kernel, msg_id, (_, version, _) in zip(kernels, sent, PYTHONS):
        assert kernel.finish(msg_id).stdout == f"{version}\n"


def test_what_install_pins_is_what_a_start_needs(start, tmp_path):
    """Its argv, as it stands in kernel.json, for every Python: --libpython and all."""
    for number, (python, version, by_library) in enumerate(PYTHONS):
        inside = make_venv(tmp_path / f"venv{number}", python)
        done = subprocess.run([EINKORN, "install", "--sys-prefix", "--python", inside],
                              capture_output=True, text=True, timeout=100,
                              env={**os.environ, **preload()})
        assert done.returncode == 0, done.stderr
        spec = (tmp_path / f"venv{number}/share/jupyter/kernels/einkorn/kernel.json").read_text()
        argv = json.loads(spec)["argv"]
        at = argv.index("--python")
        assert (argv[at + 3] != "") == by_library
        kernel = start(python=None, args=argv[at:at + 6])
        assert value(kernel, "__import__('sys').prefix") == str(tmp_path / f"venv{number}")
        assert kernel.info.content["language_info"]["version"] == version


# --- places --------------------------------------------------------------------------


def test_an_environment_that_was_moved_is_used_at_its_new_place(start, tmp_path):
    make_venv(tmp_path / "old")
    (tmp_path / "old").rename(tmp_path / "new")
    kernel = start(python=str(tmp_path / "new/bin/python"))
    assert value(kernel, "__import__('sys').prefix") == str(tmp_path / "new")
    broken = start(python=str(tmp_path / "old/bin/python"))
    broken.expect_log(r"(?s).*")
    failed = broken.fail("1")
    assert failed.error[0] == "KernelStartError"
    assert str(tmp_path / "old/bin/python") in failed.error[1]
    assert "einkorn install" in failed.error[1]


def test_an_environment_that_is_deleted_meanwhile_does_not_end_the_kernel(start, tmp_path):
    python = make_venv(tmp_path / "venv")
    kernel = start(python=python)
    kernel.run("import sys")
    shutil.rmtree(tmp_path / "venv")
    assert kernel.run("import colorsys, sys\nsys.prefix") == [
        ("result", text(repr(str(tmp_path / "venv"))))]
    assert kernel.fail("1/0").error == ("ZeroDivisionError", "division by zero")
    assert kernel.fail("import subprocess\nsubprocess.run([sys.executable])").error[0] == (
        "FileNotFoundError")


ODD = "with spaces, ünï ☃ and 'quotes\""


def copy_tree(target):
    tree = pathlib.Path(EINKORN).resolve().parents[1]
    for part in "bin", "lib":
        shutil.copytree(tree / part, target / part, symlinks=True,
                        ignore=shutil.ignore_patterns("__pycache__"))
    return target


@pytest.mark.parametrize("locale", [{}, {"LC_ALL": "C"}, {"LC_ALL": "POSIX", "PYTHONUTF8": "0"}],
                         ids=["as it is", "C", "POSIX"])
def test_every_path_may_have_spaces_and_any_letters(start, tmp_path, monkeypatch, locale):
    """peers 7.3: Einkorn, the environment, the working directory; by both ways in."""
    place = tmp_path / ODD
    place.mkdir()
    monkeypatch.setattr(client, "EINKORN", str(copy_tree(place / "our tree") / "bin/einkorn"))
    python = make_venv(place / "the venv")
    (place / "beside.py").write_text("def f():\n    1/0\n")
    for way in LIBRARY, STOCK:
        kernel = start(python=python, cwd=place, args=way, env=locale)
        assert kernel.run("import sys, os\nprint(ascii(sys.prefix) == ascii("
                          f"os.fsdecode({os.fsencode(place / 'the venv')!r})))") == [
            ("stdout", "True\n")]
        failed = kernel.fail("import beside\nbeside.f()")
        assert failed.error == ("ZeroDivisionError", "division by zero")
        assert "beside.py" in failed.traceback
        assert kernel.run("print(__import__('subprocess').run([sys.executable, '-c', 'print(1)'],"
                          " capture_output=True).stdout)") == [("stdout", "b'1\\n'\n")]


def test_install_into_a_place_with_any_letters(start, tmp_path):
    python = make_venv(tmp_path / ODD)
    done = subprocess.run([EINKORN, "install", "--sys-prefix", "--python", python], text=True,
                          capture_output=True, timeout=100, env={**os.environ, **preload()})
    assert done.returncode == 0, done.stderr
    spec = (tmp_path / ODD / "share/jupyter/kernels/einkorn/kernel.json").read_text()
    argv = json.loads(spec)["argv"]
    assert argv[argv.index("--python") + 1] == python
    kernel = start(python=None, args=argv[argv.index("--python"):argv.index("-f")])
    assert value(kernel, "__import__('sys').executable") == python


def snapshot(tree):
    return {str(path.relative_to(tree)): (path.lstat().st_mtime_ns, path.lstat().st_mode)
            for path in tree.rglob("*")}


@pytest.mark.parametrize("way", [LIBRARY, STOCK], ids=["library", "stock"])
def test_our_tree_may_be_read_only(start, tmp_path, monkeypatch, way):
    """
    Root may write everywhere, unless it is without that capability. No bytecode lies in the
    tree, so Python would write some if it could.
    """
    tree = copy_tree(tmp_path / "tree")
    for path in [tree, *tree.rglob("*")]:
        path.chmod(stat.S_IMODE(path.stat().st_mode) & ~0o222)
    powerless = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    launcher = powerless if os.geteuid() == 0 else []
    touch = subprocess.run([*launcher, "touch", tree / "lib/x"], capture_output=True, timeout=60)
    assert touch.returncode != 0
    before = snapshot(tree)
    monkeypatch.setattr(client, "EINKORN", str(tree / "bin/einkorn"))
    kernel = start(launcher=launcher, args=way)
    assert kernel.run("print(1)\n[2]") == [("stdout", "1\n"), ("result", text("[2]"))]
    assert kernel.fail("1/0").error == ("ZeroDivisionError", "division by zero")
    assert kernel.run("display(1)\nimport asyncio\nawait asyncio.sleep(0)") == [
        ("display", text("1"))]
    kernel.stop()
    doctor = subprocess.run([*launcher, tree / "bin/einkorn", "doctor", "--python", PYTHON],
                            capture_output=True, text=True, timeout=100,
                            env={**os.environ, **preload()})
    assert doctor.returncode == 0, doctor.stdout
    done = subprocess.run([*launcher, tree / "bin/einkorn", "install", "--prefix", tmp_path / "p",
                           "--python", PYTHON], capture_output=True, text=True, timeout=100,
                          env={**os.environ, **preload()})
    assert done.returncode == 0, done.stderr
    assert snapshot(tree) == before
    for path in [tree, *tree.rglob("*")]:  # so that it can be removed
        path.chmod(path.stat().st_mode | 0o200)


# --- the log -------------------------------------------------------------------------


def test_text_before_the_first_cell_goes_to_the_log(start, tmp_path):
    """There is no cell to show it in; no message has an empty parent (client.py looks at each)."""
    (tmp_path / "sitecustomize.py").write_text(
        "import threading, time\nseen = threading.Event()\ndef speak():\n"
        "    while not seen.wait(0.02): print('from a thread', flush=True)\n"
        "thread = threading.Thread(target=speak, daemon=True)\nthread.start()\n")
    kernel = start(env={"PYTHONPATH": str(tmp_path), "PYTHONVERBOSE": "1"})
    kernel.expect_log(r"einkorn: Python wrote (before the first cell|while it started): .*")
    line = "einkorn: Python wrote before the first cell: from a thread\n"
    wait_for_file(kernel.directory / "stderr", lambda log: line in log)
    result = kernel.execute("import sitecustomize\nsitecustomize.seen.set()\n"
                            "sitecustomize.thread.join()\nprint('here')")
    assert "here\n" in result.stdout


def test_the_log_goes_to_a_file_when_asked(start, tmp_path):
    """Appended, not readable for others, no word on stderr. One line for an unknown trait."""
    log = tmp_path / "a log"
    log.write_text("before\n")
    kernel = start(args=["--log", str(log), "--log-level=debug", "--Some.trait='x y'",
                         "--Other.trait=1"])
    kernel.run("secret = 'not in a log'")
    kernel.stop()
    assert kernel.stderr() == ""
    text = log.read_text()
    assert text.startswith("before\n")
    for option in "--Some.trait='x y'", "--Other.trait=1":
        assert [line for line in text.splitlines() if option in line] == [
            f"einkorn: option {option} is not Einkorn's: IPython gets it"]
    assert "secret" not in text and kernel.connection["key"] not in text
    fresh = tmp_path / "fresh"
    start(args=["--log", str(fresh)]).stop()
    assert stat.S_IMODE(fresh.stat().st_mode) == 0o600


@pytest.mark.parametrize("level, told", [("error", False), ("WARNING", True), ("info", True)])
def test_the_level_decides_what_is_logged(start, level, told):
    kernel = start(args=["--log-level", level, "--A.b=1"])
    line = "einkorn: option --A.b=1 is not Einkorn's: IPython gets it"
    kernel.expect_log(re.escape(line))
    kernel.stop()
    assert (line in kernel.stderr()) == told


def test_a_log_that_cannot_be_written_ends_the_start_with_one_line(tmp_path):
    done = client.run_kernel("kernel", "--log", tmp_path / "none/log", "-f", tmp_path / "c.json")
    assert done.returncode == 2
    assert done.stderr == f"einkorn: {tmp_path}/none/log: No such file or directory\n"
    assert not (tmp_path / "c.json").exists()


@pytest.mark.parametrize("name", ["c.json", "c d.json", "ü☃.json"])
@pytest.mark.parametrize("spelling", [
    ["-f", "{}"], ["-f={}"], ["--f={}"], ["--f", "{}"], ["--connection-file", "{}"],
    ["--connection-file={}"], ["--IPKernelApp.connection_file={}"], ['--f="{}"'], ["-f='{}'"],
    ['--connection-file="{}"'], ["--IPKernelApp.connection_file='{}'"], ['-f', '"{}"'],
], ids=" ".join)
def test_every_spelling_starts_a_kernel_on_that_file(start, tmp_path, spelling, name):
    """
    A.24: the connection file gets that name, its option that spelling, and the kernel answers
    where the file says.
    """
    kernel = start(transport="ipc", ready=False, launcher=[
        "sh", "-c", 'einkorn=$1; mv "$4" "$0"; shift 4; exec "$einkorn" kernel "$@"',
        str(tmp_path / name)], args=["--debug", "--A.b=1",
                                     *(s.format(tmp_path / name) for s in spelling)])
    kernel.expect_log(r"einkorn: .*")
    kernel.welcome()
    assert kernel.kernel_info().content["status"] == "ok"
    kernel.stop()
