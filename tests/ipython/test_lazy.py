"""
What IPython imports at its start and hardly anybody uses (python/einkorn/ipython/lazy.py) is not there after
the first magic, and is the real thing wherever it is used.
"""

import ipython8
import pytest

LATE = {
    "IPython.core.application", "IPython.core.completer", "IPython.core.completerlib",
    "IPython.core.crashhandler", "IPython.terminal.embed", "difflib", "einkorn.ipython.inspecting",
    "einkorn.ipython.system", "importlib.abc", "importlib.resources", "jedi", "logging.config",
    "logging.handlers", "pickle", "queue", "random", "socket", "socketserver", "sqlite3",
    "subprocess", "tempfile", "termios",
}  # fmt: skip
IN_IPYTHON_8 = {
    "IPython.core.completer", "IPython.core.completerlib", "IPython.terminal.embed", "IPython.terminal.ipapp",
    "difflib", "importlib.abc", "jedi", "logging.config", "logging.handlers", "prompt_toolkit",
}  # fmt: skip


def there(kernel, names):
    return kernel.execute(f"import sys\nprint(*sorted({names!r} & set(sys.modules)))").stdout.split()


@pytest.mark.parametrize("code", ["%time 1", "%lsmagic", "get_ipython()", "%alias_magic t time"])
def test_the_first_magic_imports_nothing_that_only_others_need(fresh, code):
    """The oldest IPython imports some of it by itself."""
    fresh.run(code)
    assert there(fresh, IN_IPYTHON_8 if ipython8.is_it() else LATE) == []


NAMES = ("importlib.abc", "logging.config", "tempfile")


@pytest.mark.parametrize("name", NAMES)
def test_an_import_afterwards_is_the_real_module(fresh, name):
    parent, _, child = name.rpartition(".")
    fresh.run("%time 1")
    fresh.run(f"import {name}, importlib, sys, types\nmodule = sys.modules['{name}']")
    assert fresh.execute(
        f"print(type(module) is types.ModuleType, module is {name}, module.__spec__.name,\n"
        f"      '__file__' in vars(module), importlib.import_module('{name}') is module,\n"
        f"      importlib.reload(module) is module)"
    ).stdout == f"True True {name} True True True\n"
    if parent:
        assert fresh.execute(f"import {parent} as parent\nprint(parent.{child} is module)").stdout == "True\n"


@pytest.mark.parametrize("name", NAMES)
def test_the_stand_in_is_as_good_as_the_module(fresh, name):
    """Who has one sees in it what is in the module, and changes that."""
    fresh.run(f"%time 1\nimport sys\nfrom einkorn.ipython import lazy\nsys.modules.pop('{name}', None)")
    fresh.run(f"with lazy.put_off():\n    import {name}\n    held = sys.modules['{name}']")
    fresh.run(f"assert '{name}' not in sys.modules\nassert type(held) is not type(sys)\nlisted = dir(held)")
    fresh.run(f"import {name}\nreal = sys.modules['{name}']\nassert real is not held and dir(real) == listed")
    fresh.run("assert all(getattr(held, n) is getattr(real, n) for n in listed if n[0] != '_')")
    fresh.run("held.new = 1; assert real.new == 1; del held.new; assert not hasattr(real, 'new')")
    assert fresh.fail("held.no_such_name").error == (
        "AttributeError", f"module '{name}' has no attribute 'no_such_name'")


def test_a_use_while_ipython_is_loaded_is_of_the_real_module(start):
    """By another thread, say: what it imports there works, and nothing of it is loaded twice."""
    kernel = start(args=["--shell=auto"])
    kernel.run("import IPython\nfrom einkorn.ipython import lazy\n"
               "with lazy.put_off():\n"
               "    import logging.config, tempfile as held\n"
               "    from logging.config import dictConfig, fileConfig\n"
               "    text = held.gettempdir()\n"
               "import sys, tempfile, logging.config\n"
               "assert tempfile is sys.modules['tempfile'] and held.mkdtemp is tempfile.mkdtemp\n"
               "assert text == tempfile.gettempdir()\n"
               "assert fileConfig is logging.config.fileConfig and dictConfig is not logging.config.dictConfig")


APPLICATION = """
import logging, sys, threading
from traitlets.config import Application
class Some(Application):
    name = 'some'
    def start(self):
        self.log.warning('told')
def work():
    Some(log_format='<%(message)s>').start()
"""


@pytest.mark.parametrize("how", ["work()", "thread = threading.Thread(target=work); thread.start(); thread.join()"])
def test_an_application_of_traitlets_configures_its_log(fresh, how):
    fresh.run("%time 1")
    fresh.run(APPLICATION)
    assert fresh.execute(how).stderr == "<told>\n"
    assert fresh.execute(how).stderr == "<told>\n"


def test_logging_config_can_be_used_without_an_import_of_ones_own(fresh):
    """As with ipykernel, where something has imported it."""
    fresh.run("%time 1\nimport logging")
    fresh.run("logging.config.dictConfig({'version': 1, 'root': {'handlers': ['h'], 'level': 'INFO'},\n"
              "    'handlers': {'h': {'class': 'logging.StreamHandler', 'stream': 'ext://sys.stdout'}}})")
    assert fresh.execute("logging.info('said')").stdout == "said\n"
    assert fresh.execute("print(type(logging.config).__name__)").stdout == "module\n"


def test_an_interrupt_of_its_first_use_leaves_it_to_the_next(fresh):
    fresh.run("%time 1")
    fresh.run(APPLICATION)
    fresh.run("""
import time
class Slow:
    asked = 0
    def find_spec(self, name, path=None, target=None):
        if name == 'logging.handlers':
            self.asked += 1
            if self.asked == 1:
                print('go')
                time.sleep(60)
sys.meta_path.insert(0, Slow())""")
    cell = fresh.started("work()")
    fresh.interrupt()
    assert fresh.finished(cell).error[0] == "KeyboardInterrupt"
    assert fresh.execute("work()").stderr == "<told>\n"


def test_an_ipython_directory_that_cannot_be_written(start):
    kernel = start(env={"IPYTHONDIR": "/dev/null/ipython"})
    kernel.expect_log("einkorn: history: .*")
    shown = kernel.execute("%time 1")
    assert "is not a writable location" in shown.stderr and "Wall time" in shown.stdout
    assert kernel.execute("import os, tempfile\nplace = get_ipython().ipython_dir\n"
                          "print(os.path.isdir(place), os.path.dirname(place) == tempfile.gettempdir())"
                          ).stdout == "True True\n"


PLACES = {
    "none": {"TMPDIR": "", "TEMP": "", "TMP": ""},
    "one": {"TMPDIR": "{here}/a"},
    "another name for it": {"TMPDIR": "{here}//a/../a/"},
    "the last": {"TMPDIR": "", "TEMP": "", "TMP": "{here}/a"},
    "not there": {"TMPDIR": "{here}/nothing", "TEMP": "{here}/a"},
    "a file": {"TMPDIR": "{here}/file", "TMP": "{here}/a"},
    "relative": {"TMPDIR": "a", "TEMP": "{here}"},
    "none that can be written": {"TMPDIR": "/proc/self", "TEMP": "/proc"},
}


@pytest.mark.parametrize("name", PLACES)
def test_cells_lie_where_tempfile_puts_files(start, tmp_path, name):
    (tmp_path / "a").mkdir()
    (tmp_path / "file").write_text("")
    (tmp_path / "file").chmod(0o777)
    env = {key: value.format(here=tmp_path) for key, value in PLACES[name].items()}
    kernel = start(env=env, cwd=tmp_path)
    kernel.run("%time 1")
    before = kernel.execute("print(get_ipython().compile.get_code_name('x', 'x', 1))").stdout
    kernel.run("import os, tempfile\nos.chdir('/')")
    assert kernel.execute("print(get_ipython().compile.get_code_name('x', 'x', 1))").stdout == before
    assert kernel.execute("print(tempfile.gettempdir())").stdout[:-1] == before.partition("/ipykernel_")[0]
    kernel.run("tempfile.tempdir = '/elsewhere'")
    assert kernel.execute("print(get_ipython().compile.get_code_name('x', 'x', 1))").stdout.startswith("/elsewhere/")


def test_the_history_is_on(fresh):
    assert fresh.execute("print(get_ipython().history_manager.enabled)").stdout == "True\n"


def test_the_history_is_off_without_an_sqlite(start):
    kernel = start(args=["--shell=auto"])
    kernel.run("import sys; sys.modules['_sqlite3'] = None")
    assert kernel.execute("print(get_ipython().history_manager.enabled)").stdout == "False\n"


TERMINAL = [
    "from IPython import embed; import sys; print(embed is sys.modules['IPython.terminal.embed'].embed)",
    "import IPython; print(IPython.embed.__module__, IPython.terminal.embed.embed is IPython.embed)",
    "import IPython; from IPython.terminal.embed import embed; print(IPython.embed is embed)",
    "import IPython.terminal.interactiveshell as t; print(t.TerminalInteractiveShell.__name__)",
    "import IPython.terminal as t; from IPython.terminal.ipapp import TerminalIPythonApp as A; print(t.__name__, A)",
    "from IPython.terminal.debugger import TerminalPdb; import IPython; print(IPython.embed.__name__)",
    "import IPython; IPython.no_such_name",
    "from IPython import no_such_name",
    "import IPython; print(hasattr(IPython, '__path__'), hasattr(IPython, '__wrapped__'))",
]


@pytest.mark.parametrize("before", ["", "%time 1"])
@pytest.mark.parametrize("code", TERMINAL)
def test_the_shell_for_terminals_is_there_for_who_asks(start, pair, before, code):
    """IPython 8 cannot import what belongs to it in every order."""
    kernel = start(args=["--shell=auto"])
    kernel.run(before)
    ours, theirs = kernel.execute(code), pair.theirs.run(code)
    assert ours.stdout == theirs.text()
    assert [ours.reply.content[name] for name in ("ename", "evalue") if theirs.error] == theirs.error


def test_all_names_of_ipython_can_be_imported(fresh):
    fresh.run("%time 1\nfrom IPython import *")
    assert fresh.execute("print(embed.__name__, start_ipython.__name__)").stdout == "embed start_ipython\n"


def test_what_belongs_to_that_shell_is_there_as_it_was(fresh):
    """IPython 8 has it all as soon as it is imported."""
    code = "import IPython; it = getattr(IPython, 'terminal', None); print(it and it.interactiveshell.__name__)"
    expected = "IPython.terminal.interactiveshell" if ipython8.is_it() else "None"
    assert fresh.execute(code).stdout == f"{expected}\n"


def test_embed_looks_at_its_callers_frame(fresh):
    """It is not a function of ours that calls it."""
    fresh.run("import IPython, sys\nfrom IPython.terminal import embed\n"
              "class Shell:\n"
              "    seen = []\n"
              "    _instance = None\n"
              "    def instance(_init_location_id, **_): Shell.seen.append(_init_location_id); raise OSError\n"
              "embed.InteractiveShellEmbed = Shell\n"
              "def work():\n"
              "    try: IPython.embed()\n"
              "    except OSError: return sys._getframe().f_code.co_filename\n"
              "name = work()")
    assert fresh.execute("print(Shell.seen == [f'{name}:9'])").stdout == "True\n"
