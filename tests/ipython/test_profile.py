"""The user's IPython profile, read as ipykernel reads it, and the options that lead to it."""

import json
import os
import subprocess

import pytest

import client
import differential

LOADED = "import sys; 'IPython.core.interactiveshell' in sys.modules"


@pytest.fixture
def ipython(tmp_path):
    """A function that writes the files of an IPython directory. -> its path"""
    def write(files, directory=tmp_path / "ipython"):
        for name, text in files.items():
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        directory.mkdir(exist_ok=True)
        return directory

    return write


@pytest.fixture
def pair_of(ipython, request):
    """A function that starts both kernels with an IPython directory of these files each."""
    pairs = []

    def start(files=None, args=(), env=None, **options):
        env = {"IPYTHONDIR": str(ipython(files or {})), **(env or {})}
        pairs.append(differential.Pair(*args, env=env, **options))
        return pairs[-1]

    yield start
    for each in pairs:
        each.close()


STARTUP = {
    "profile_default/startup/10-python.py": "python = 1\nimport os as started_with",
    "profile_default/startup/20-magic.ipy": "magic = !echo hi",
    "profile_default/startup/README": "not Python at all",
}


def test_startup_files_run_before_the_first_cell(pair_of):
    pair = pair_of(STARTUP)
    assert pair.same("python, magic, started_with.__name__").data() == ["(1, ['hi'], 'os')"]
    assert pair.same("%who_ls").data() == ["[]"]  # they are none of the user's


def test_what_startup_files_print_and_their_errors_are_shown_in_the_first_cell(pair_of):
    pair = pair_of({"profile_default/startup/a.py": "print('hello'); before = 1\n1/0\nafter = 2"})
    ours, theirs = pair.both("before")
    assert ours.data() == theirs.data() == ["1"]
    assert ours.text() == "hello\n"  # ipykernel's is lost
    assert "ZeroDivisionError" in ours.text("stderr")
    assert ours.status == "ok" and ours.error == []
    assert pair.same("after").error[0] == "NameError"


CONFIGURATION = {
    "ipython_config.py": "c.InteractiveShell.ast_node_interactivity = 'all'",
    "ipython_config.json": json.dumps({"InteractiveShell": {"ast_node_interactivity": "all"}}),
    "ipython_kernel_config.py": "c.ZMQInteractiveShell.ast_node_interactivity = 'all'",
    "ipython_kernel_config.json": json.dumps({"IPKernelApp": {"exec_lines": ["made = 1"]}}),
}


COLLECTING = """
import logging, sys
sys.collected = []
logging.getLogger().addHandler(type('', (logging.Handler,), {'emit': lambda _, it: sys.collected.append(it.msg)})())
"""


@pytest.mark.parametrize("line", ["", "c.IPKernelApp.exec_lines = ['made = 1']"])
def test_no_warning_of_options_that_only_the_kernel_knows(pair_of, line):
    pair = pair_of({"profile_default/ipython_kernel_config.py": COLLECTING + line})
    pair.same("import sys; sys.collected")
    ours, _ = pair.both("sorted(get_ipython().config.IPKernelApp)")
    assert "connection_file" in ours.data()[0]


@pytest.mark.parametrize("name", CONFIGURATION)
def test_each_configuration_file_is_read(pair_of, name):
    pair = pair_of({f"profile_default/{name}": CONFIGURATION[name]})
    pair.same("1\n2")
    pair.same("made")


def test_the_kernels_configuration_goes_before_ipythons(pair_of):
    pair = pair_of({
        "profile_default/ipython_config.py":
            "c.InteractiveShellApp.exec_lines = ['a = 1']\nc.InteractiveShell.show_rewritten_input = False",
        "profile_default/ipython_kernel_config.py": "c.IPKernelApp.exec_lines = ['b = 2', '%precision 2']",
        "script.py": "c = 3",
    })
    for code in ("a", "b", "3.14159", "get_ipython().show_rewritten_input",
                 "get_ipython().config.IPKernelApp.exec_lines"):
        pair.same(code)


def test_extensions_files_lines_and_formatters(pair_of, tmp_path):
    (tmp_path / "ek_extension.py").write_text(
        "def load_ipython_extension(ip): ip.user_ns['extended'] = type(ip).__name__")
    (tmp_path / "ek_file.py").write_text("from_file = __file__")
    pair = pair_of({"profile_default/ipython_config.py": f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
c.InteractiveShellApp.extensions = ['ek_extension', 'nowhere_to_be_found']
c.InteractiveShellApp.exec_files = [{str(tmp_path / 'ek_file.py')!r}]
c.InteractiveShellApp.exec_lines = ['line = 1', 'nowhere_to_be_found', 'more = 2']
c.PlainTextFormatter.float_precision = '%.1f'
c.StoreMagics.autorestore = False
"""})
    ours, _ = pair.both("extended")
    assert ours.data() == ["'ZMQInteractiveShell'"]
    assert "nowhere_to_be_found" in ours.text("stderr") and "NameError" in ours.text("stderr")
    for code in ("line, more", "from_file", "3.14159", "%who_ls"):
        pair.same(code)


def test_a_configuration_file_with_an_error_is_told_of_and_does_no_harm(pair_of):
    pair = pair_of({"profile_default/ipython_config.py": "c.InteractiveShell.cache_size = 5\n1/0",
                    "profile_default/startup/a.py": "a = 1"})
    ours, _ = pair.both("a")
    assert ours.data() == ["1"] and "ZeroDivisionError" in ours.text("stderr")


def test_the_environment_has_a_configuration_of_its_own(start, tmp_path):
    """<sys.prefix>/etc/ipython: in a virtual environment that sees the packages of this one."""
    place = tmp_path / "venv"
    subprocess.run([client.PYTHON, "-m", "venv", "--without-pip", place], check=True, timeout=60,
                   stdin=subprocess.DEVNULL)
    packages = subprocess.run([client.PYTHON, "-c", "import site; print(site.getsitepackages()[0])"],
                              check=True, capture_output=True, text=True, timeout=60).stdout
    there = next((place / "lib").glob("python*")) / "site-packages" / "others.pth"
    there.write_text(packages)
    etc = place / "etc" / "ipython"
    (etc / "startup").mkdir(parents=True)
    (etc / "ipython_config.py").write_text("c.InteractiveShellApp.exec_lines = ['configured = 1']")
    (etc / "startup" / "a.py").write_text("started = 2")
    kernel = start(python=str(place / "bin" / "python"))
    assert kernel.run("configured, started")[0][1] == {"text/plain": "(1, 2)"}


@pytest.fixture(params=["/etc/ipython", "/usr/local/etc/ipython"])
def system(request, tmp_path):
    """
    A function that gives the machine's configuration files. -> a launcher for what shall see
    them: in a mount namespace of its own the directory around them is a copy with them in it.
    """
    above = os.path.dirname(request.param)

    def write(files):
        copy = tmp_path / "copy"
        subprocess.run(["cp", "-a", above, copy], check=True, timeout=60, stdin=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL if os.geteuid() else None)
        for name, text in files.items():
            path = copy / "ipython" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        namespace = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-Urm"]
        return [*namespace, "sh", "-c", f'mount --bind {copy} {above} && exec "$@"', "sh"]

    return write


@pytest.mark.parametrize("name", CONFIGURATION)
def test_the_machine_has_a_configuration_of_its_own(pair_of, system, name):
    pair = pair_of(launcher=system({name: CONFIGURATION[name], "startup/a.py": "started = 2"}))
    assert pair.same(LOADED).data()[-1] == "True"
    assert pair.same("started").data() == ["2"]
    pair.same("1\n2")
    pair.same("made")


def test_pythonstartup_is_run(pair_of, tmp_path):
    (tmp_path / "startup.py").write_text("startup = 1")
    pair = pair_of(env={"PYTHONSTARTUP": str(tmp_path / "startup.py")})
    assert pair.same("startup").data() == ["1"]


@pytest.mark.parametrize("args", [
    ("--profile=other",),
    ("--profile-dir={here}/profile_other",),
    ("--IPKernelApp.exec_lines=['there = 1']",),
    ("--InteractiveShellApp.exec_lines=there = 1",),
    ("--InteractiveShell.ast_node_interactivity=all", "--ext=autoreload"),
    ("--InteractiveShell.ast_node_interactivity", "all"),
    ("--PlainTextFormatter.float_precision=%.2f",),
    ("--ext=autoreload", "--ext=storemagic"),
    ("--InteractiveShellApp.extensions=autoreload",),
    ("--matplotlib=inline",),
    ("--cache-size=0",),
])
def test_options_mean_what_they_mean_to_ipykernel(pair_of, ipython, args):
    here = ipython({"profile_other/startup/a.py": "there = 'other'"})
    pair = pair_of(args=[each.format(here=here) for each in args])
    for code in ("3.14159\n2", "there", "sorted(get_ipython().extension_manager.loaded)",
                 "get_ipython().cache_size"):
        pair.same(code)


def test_ipython_dir_is_where_the_profile_is(start, ipython, tmp_path):
    ipython({"profile_default/startup/a.py": "there = 'elsewhere'"}, tmp_path / "elsewhere")
    kernel = start(args=[f"--ipython-dir={tmp_path / 'elsewhere'}"])
    assert kernel.run("there") == [("result", {"text/plain": "'elsewhere'"})]


@pytest.mark.parametrize("args", [(), ("--HistoryManager.hist_file=:memory:",),
                                  ("--Session.username=me",)])
def test_a_session_without_a_profile_loads_nothing(start, args):
    kernel = start(args=list(args), env={"HOME": "/nowhere"})
    kernel.expect_log(".*IPython gets it")
    assert kernel.run(LOADED)[0][1] == {"text/plain": "False"}


def test_a_profile_loads_ipython_before_the_first_cell(start, ipython):
    directory = ipython({"profile_default/startup/a.py": "pass"})
    kernel = start(env={"IPYTHONDIR": str(directory)})
    assert kernel.run(LOADED)[0][1] == {"text/plain": "True"}


def test_shell_ipython_loads_it_at_once(start):
    kernel = start(args=["--shell=ipython"])
    assert kernel.run(LOADED)[0][1] == {"text/plain": "True"}


def test_shell_plain_knows_no_profile(start, ipython):
    directory = ipython({"profile_default/startup/a.py": "there = 1"})
    kernel = start(args=["--shell=plain"], env={"IPYTHONDIR": str(directory)})
    assert kernel.fail("there").reply.content["ename"] == "NameError"
    assert kernel.run(LOADED)[0][1] == {"text/plain": "False"}
    assert "Magic commands" in kernel.fail("%time 1").traceback


def test_an_interrupt_ends_a_startup_file(start, ipython):
    """And the cell that it ran for; the next one runs."""
    directory = ipython({"profile_default/startup/a.py":
                         "print('go')\nimport time\ntime.sleep(600)"})
    kernel = start(env={"IPYTHONDIR": str(directory)})
    request = kernel.send_execute("1")
    kernel.take("iopub", lambda m: m.content.get("text") == "go\n")
    kernel.interrupt()
    assert kernel.reply("shell", request).content["ename"] == "KeyboardInterrupt"
    kernel.iopub(request)
    assert kernel.run("2")[0][1] == {"text/plain": "2"}


def test_a_profile_that_is_not_there_is_told_of(start):
    kernel = start(args=["--profile-dir=/nowhere/to/be/found", "--no-history"])
    result = kernel.execute("%time 1")
    assert "/nowhere/to/be/found" in dict(result.outputs[:1])["stderr"]
