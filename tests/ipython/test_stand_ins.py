"""
The stand-ins for IPython and ipykernel: looking at them loads nothing, using them loads IPython,
once, and the session goes on.
"""

import pytest

LOADED = "'IPython.core.interactiveshell' in sys.modules"

LOOKING = {
    "dunders": """
for name in 'IPython', 'ipykernel', 'ipykernel.zmqshell':
    module = sys.modules[name]
    assert module.__name__ == name and module.__spec__.name == name
    for dunder in ('__wrapped__', '__path__x__', '__test__', '__all__', '__bases__', '__len__',
                   '__iter__', '__call__', '__mro_entries__', '__class_getitem__', '__warningregistry__'):
        assert not hasattr(module, dunder), dunder""",
    "versions": """
import re
assert re.match(r'\\d+\\.\\d+', sys.modules['IPython'].__version__)
assert sys.modules['IPython'].version_info[0] >= 8
assert sys.modules['ipykernel'].version_info >= (6, 18)""",
    "as libraries look": """
assert 'IPython' in sys.modules and 'ipykernel' in sys.modules
assert 'ipykernel.zmqshell' in sys.modules
assert __IPYTHON__""",
    "import": "import IPython, ipykernel, ipykernel.zmqshell",
    "file and path": """
import os
import IPython
assert os.path.isfile(IPython.__file__) and os.path.isdir(IPython.__path__[0])
assert IPython.__package__ == 'IPython' and IPython.__loader__ is IPython.__spec__.loader""",
    "dir and repr": "import IPython\nassert '__spec__' in dir(IPython)\nrepr(IPython)\nstr(IPython)",
    "inspect": """
import inspect, IPython
inspect.getmodule(IPython), inspect.getfile(IPython), inspect.getdoc(IPython)
inspect.ismodule(IPython), inspect.isclass(IPython), inspect.unwrap(IPython)
def f(): pass
inspect.getmodule(f), inspect.getsourcefile(inspect), inspect.stack()
inspect.getsource(inspect.getmodule)""",
    "doctest": """
import doctest
class A:
    '''
    >>> 1 + 1
    2
    '''
assert doctest.testmod(sys.modules['__main__']).attempted == 1""",
    "unittest": """
import unittest, io
class T(unittest.TestCase):
    def test(self): self.assertWarns(DeprecationWarning, __import__('warnings').warn, 'x', DeprecationWarning)
assert unittest.main(argv=['x', 'T'], exit=False, testRunner=unittest.TextTestRunner(io.StringIO())).result.wasSuccessful()""",
    "mock": """
import unittest.mock
with unittest.mock.patch.dict(sys.modules, {'x': None}): pass
with unittest.mock.patch('os.getcwd', return_value='/'): pass""",
    "pickle": """
import pickle
class A: pass
def some_function(): pass
pickle.dumps((A, A(), some_function, len)); some_function.__module__ = None
try: pickle.dumps(some_function)
except pickle.PicklingError: pass""",
    "pkgutil": "import pkgutil\nlist(pkgutil.iter_modules()), pkgutil.find_loader('IPython')",
    "metadata": """
import importlib.metadata
importlib.metadata.version('IPython'), importlib.metadata.distribution('ipython').files""",
    "find_spec": """
import importlib.util
assert importlib.util.find_spec('IPython').origin.endswith('IPython/__init__.py')
assert importlib.util.find_spec('ipykernel') is not None""",
    "warnings": "import warnings\nwith warnings.catch_warnings():\n    warnings.simplefilter('error')",
    "type hints": """
import typing, dataclasses
@dataclasses.dataclass
class A:
    a: 'int' = 1
typing.get_type_hints(A)""",
    "a copy of sys.modules": """
import copy
copied = dict(sys.modules); sorted(sys.modules)
for module in list(sys.modules.values()):
    getattr(module, '__file__', None), getattr(module, '__dict__', None)""",
    "help": "import pydoc, contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()): help(len)",
    "a name that is not there": "import IPython\ntry: IPython.no_such_name\nexcept AttributeError: pass",
    "truth and hashes": "import IPython\nassert IPython and {IPython: 1} and IPython == IPython",
    "logging and traceback": """
import traceback, linecache, logging
try: 1 / 0
except ZeroDivisionError: traceback.format_exc()
linecache.checkcache()""",
    "ordinary cells": """
import json, re, os, threading, subprocess
def f(x): return x * 2
print(f(2)); display(3); display({'a': 1}); input
for i in range(3): pass
try: {}['a']
except KeyError as e: str(e)
threading.Thread(target=f, args=(1,)).start()""",
    "numpy": "import numpy\nnumpy.arange(3)",
}

USING = {
    "attribute": "import IPython\nIPython.get_ipython",
    "hasattr": "import IPython\nhasattr(IPython, 'get_ipython')",
    "from": "from IPython import get_ipython",
    "from a submodule": "from IPython.display import HTML",
    "submodule": "import IPython.core.magic",
    "submodule by importlib": "import importlib\nimportlib.import_module('IPython.utils.text')",
    "reload": "import importlib, IPython\nimportlib.reload(IPython)",
    "get_ipython": "get_ipython()",
    "shell class": "from ipykernel.zmqshell import ZMQInteractiveShell",
    "shell class by the stand-in": "sys.modules['ipykernel.zmqshell'].ZMQInteractiveShell",
    "tqdm": "import tqdm.auto",
}


@pytest.mark.parametrize("name", LOOKING)
def test_looking_loads_nothing(start, name):
    kernel = start(args=["--shell=auto"])
    kernel.run(f"import sys\n{LOOKING[name]}\nNone")
    assert kernel.run(f"print({LOADED})") == [("stdout", "False\n")]


@pytest.mark.parametrize("name", USING)
def test_using_loads_it_once_and_the_session_goes_on(start, name):
    kernel = start(args=["--shell=auto"])
    kernel.run("x = 41\nimport sys, IPython as before")
    kernel.run(f"{USING[name]}\nNone")
    assert kernel.run(f"print({LOADED}, x, In[1][:6], sys.modules['IPython'] is before)") == [
        ("stdout", "True 41 x = 41 True\n")]
    assert kernel.run(
        "import ipykernel.zmqshell, IPython\n"
        "print(get_ipython() is IPython.get_ipython(), IPython.get_ipython() is get_ipython(),\n"
        "      type(get_ipython()).__name__, type(get_ipython()).__module__,\n"
        "      isinstance(get_ipython(), ipykernel.zmqshell.ZMQInteractiveShell),\n"
        "      type(get_ipython()).instance() is get_ipython())") == [
        ("stdout", "True True ZMQInteractiveShell ipykernel.zmqshell True True\n")]
    assert kernel.run("%time x + 1")[-1] == ("result", {"text/plain": "42"})


def test_two_threads_at_once_load_it_once(start):
    kernel = start(args=["--shell=auto"])
    shown = kernel.run("""
import threading, IPython
start, got = threading.Barrier(4), []
def work():
    start.wait()
    got.append(id(IPython.get_ipython()))
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(got), len(set(got)), got[0] == id(get_ipython()))""")
    assert shown == [("stdout", "4 1 True\n")]


def test_an_interrupt_during_the_load_is_held_back(start):
    """The load ends, the cell is interrupted then, and IPython is whole."""
    kernel = start(args=["--shell=auto"])
    for _ in range(3):
        cell = kernel.started("import sys, time\nprint('go')\nimport IPython\nIPython.get_ipython()\n"
                              "time.sleep(60)")
        kernel.interrupt()
        result = kernel.finished(cell)
        assert result.error[0] == "KeyboardInterrupt"
    assert kernel.run(f"import sys; print({LOADED})") == [("stdout", "True\n")]
    assert kernel.run("%time 1 + 1")[-1] == ("result", {"text/plain": "2"})


@pytest.fixture
def broken(tmp_path):
    """A directory with an IPython that raises when it is imported, as an installed package."""
    package = tmp_path / "IPython"
    (package / "core").mkdir(parents=True)
    (package / "__init__.py").write_text(
        "raise RuntimeError('broken for the test')  # get_ipython, display\n")
    (package / "core" / "release.py").write_text("version = '9.0'\nversion_info = (9, 0, 0)\n")
    return tmp_path


@pytest.mark.parametrize("code", ["get_ipython()", "import IPython\nIPython.display", "%time 1",
                                  "from IPython.display import HTML", "!ls"])
def test_an_ipython_that_is_broken(start, broken, code):
    """An error where it is asked for; the plain session goes on, and so does all it can do."""
    kernel = start(args=["--shell=auto"], env={"PYTHONPATH": str(broken)})
    kernel.run("x = 41")
    failed = kernel.fail(code)
    assert "broken for the test" in failed.traceback
    assert kernel.run("x + 1") == [("result", {"text/plain": "42"})]
    assert kernel.run("{1, 2}") == [("result", {"text/plain": "{1, 2}"})]
    again = kernel.fail(code)
    assert again.error[0] in ("ImportError", "ModuleNotFoundError", "RuntimeError", "SyntaxError")
    reply = kernel.ask("shell", "complete_request", {"code": "x.bit_l", "cursor_pos": 7})
    assert reply.content["matches"] == ["bit_length"]


def test_a_broken_ipython_where_it_is_forced(start, broken):
    """No cell runs otherwise than it was asked for: each says what is wrong."""
    kernel = start(args=["--shell=ipython"], env={"PYTHONPATH": str(broken)})
    for _ in range(2):
        failed = kernel.fail("x = 41")
        assert failed.error[0] == "ImportError" and "--shell=ipython" in failed.error[1]
        assert "broken for the test" in failed.traceback


def test_an_ipython_of_the_users_own_wins(start, tmp_path):
    """A module of that name in his directory is what he gets."""
    (tmp_path / "IPython.py").write_text("mine = 42\n")
    kernel = start(args=["--shell=auto"], cwd=tmp_path)
    assert kernel.run("import IPython\nIPython.mine") == [("result", {"text/plain": "42"})]


def test_the_plain_shell_has_nothing_of_it(start):
    """And IPython can be imported there as in any Python."""
    kernel = start(args=["--shell=plain"])
    assert kernel.run("import sys\nprint([n for n in sys.modules if n.split('.')[0] in\n"
                      "       ('IPython', 'ipykernel', 'traitlets')])") == [("stdout", "[]\n")]
    assert kernel.fail("get_ipython").error[0] == "NameError"
    assert kernel.run("import IPython\nprint(IPython.get_ipython(), IPython.version_info[0] >= 8)") == [
        ("stdout", "None True\n")]
    assert kernel.run("from IPython.lib.pretty import pretty\nprint(pretty({2, 1}))") == [
        ("stdout", "{1, 2}\n")]
    assert kernel.fail("%time 1").error[0] == "SyntaxError"
    assert kernel.run("{2, 1}") == [("result", {"text/plain": "{1, 2}"})]


def test_pytest_in_a_cell_loads_nothing(start, tmp_path):
    (tmp_path / "test_it.py").write_text("def test_it(): assert 1 + 1 == 2\n")
    kernel = start(args=["--shell=auto"], cwd=tmp_path)
    shown = kernel.run("import pytest, sys\nprint(int(pytest.main(['-q', '-p', 'no:cacheprovider', "
                       "'-p', 'no:anyio', 'test_it.py'])))")
    assert "1 passed" in str(shown) and str(shown).rstrip("')]\\n").endswith("0")
    assert kernel.run(f"print({LOADED})") == [("stdout", "False\n")]


@pytest.mark.parametrize("switch", ["enable", "disable"])
def test_loading_leaves_the_collector_as_it_is(fresh, switch):
    """It is off while IPython is imported, of which nothing is garbage."""
    fresh.run(f"import gc\ngc.{switch}()\nget_ipython()")
    assert fresh.execute("print(gc.isenabled())").stdout == f"{switch == 'enable'}\n"


def test_loading_leaves_nothing_new_to_the_collector(fresh):
    """It would look through all of it as soon as it is on again."""
    fresh.run("import gc\ngc.collect()\nbefore = len(gc.get_objects())\nget_ipython()\n"
              "young = len(gc.get_objects(0)) + len(gc.get_objects(1))\nmade = len(gc.get_objects()) - before")
    assert fresh.execute("print(made > 10_000, young < 2_000)").stdout == "True True\n"


def test_loading_leaves_frozen_what_the_user_froze(fresh):
    fresh.run("import gc\nclass A: pass\na = A()\ngc.freeze()\nbefore = gc.get_freeze_count()\nget_ipython()")
    assert fresh.execute("print(before > 1000, gc.get_freeze_count() > before / 2,\n"
                         "      not any(each is a for each in gc.get_objects()))").stdout == "True True True\n"
