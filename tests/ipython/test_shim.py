"""
Issue 6, "ipykernel's name": the in-memory package, its modules, and the modules of the real one
behind it; what looks at the stand-ins without loading anything.
"""

import json

import pytest

from environment import has

LOADED = "__import__('sys').modules.get('IPython.core') is not None"


def shown(kernel, expression):
    """The value of an expression that is one of literals."""
    (kind, data), = kernel.run(f"print(repr({expression}))")
    assert kind == "stdout"
    return data.rstrip("\n")


# --- the surface --------------------------------------------------------------------------

SURFACE = [
    ("ipykernel", "ipykernel.__version__", "'7.4.0'"),
    ("ipykernel", "ipykernel.version_info >= (6, 18)", "True"),
    ("ipykernel", "ipykernel.kernel_protocol_version", "'5.3'"),
    ("ipykernel._version", "ipykernel._version.version_info", "(7, 4, 0)"),
    ("ipykernel.zmqshell", "ipykernel.zmqshell.ZMQInteractiveShell is type(get_ipython())", "True"),
    ("ipykernel.zmqshell", "ipykernel.zmqshell.ZMQDisplayPublisher"
     " is type(get_ipython().display_pub)", "True"),
    ("ipykernel.displayhook", "ipykernel.displayhook.ZMQShellDisplayHook"
     " is type(get_ipython().displayhook)", "True"),
    ("ipykernel.kernelbase", "ipykernel.kernelbase.Kernel._instance is get_ipython().kernel",
     "True"),
    ("ipykernel.kernelbase", "ipykernel.kernelbase.Kernel.initialized()", "True"),
    ("ipykernel.kernelbase", "ipykernel.kernelbase.Kernel.instance() is get_ipython().kernel",
     "True"),
    ("ipykernel.ipkernel", "isinstance(get_ipython().kernel, ipykernel.ipkernel.IPythonKernel)",
     "True"),
    ("ipykernel.kernelapp", "ipykernel.kernelapp.IPKernelApp.initialized()", "True"),
    ("ipykernel.kernelapp, pickle", "pickle.loads(pickle.dumps(type(get_ipython().parent.parent)))"
     " is ipykernel.kernelapp.IPKernelApp", "True"),
    ("pickle", "pickle.loads(pickle.dumps([type(o) for o in (get_ipython(), get_ipython().kernel,"
     " get_ipython().displayhook)])) == [type(o) for o in (get_ipython(), get_ipython().kernel,"
     " get_ipython().displayhook)]", "True"),
    ("ipykernel.kernelapp", "ipykernel.kernelapp.IPKernelApp.instance().kernel"
     " is get_ipython().kernel", "True"),
    ("ipykernel.kernelapp", "ipykernel.kernelapp.IPKernelApp.instance().shell is get_ipython()",
     "True"),
    ("ipykernel.kernelapp", "'IPKernelApp' in ipykernel.kernelapp.IPKernelApp.instance().config",
     "True"),
    ("ipykernel.comm", "isinstance(ipykernel.comm.CommManager(kernel=None), "
     "ipykernel.comm.CommManager)", "True"),
    ("ipykernel.comm", "isinstance(get_ipython().kernel.comm_manager, ipykernel.comm.CommManager)",
     "True"),
    ("ipykernel.comm.comm", "ipykernel.comm.comm.BaseComm is ipykernel.comm.Comm", "True"),
    ("ipykernel.comm.manager", "ipykernel.comm.manager.CommManager is ipykernel.comm.CommManager",
     "True"),
    ("ipykernel.iostream, sys", "[isinstance(s, ipykernel.iostream.OutStream)"
     " for s in (sys.stdout, sys.stderr)]", "[True, True]"),
    ("ipykernel.jsonutil", "ipykernel.jsonutil.json_clean({'a': (1, None, b'x'), 'b': 'ä'})",
     "{'a': [1, None, 'eA=='], 'b': 'ä'}"),
    ("ipykernel.jsonutil", "ipykernel.jsonutil.encode_images({'image/png': b'x'})",
     "{'image/png': b'x'}"),
    ("ipykernel.compiler, os", "ipykernel.compiler.get_file_name('1+1')"
     ".startswith(ipykernel.compiler.get_tmp_directory() + os.sep)", "True"),
    ("ipykernel.compiler", "hex(ipykernel.compiler.get_tmp_hash_seed())", "'0xc70f6907'"),
    ("ipykernel.eventloops", "callable(ipykernel.eventloops.enable_gui)", "True"),
    ("ipykernel.kernelspec", "ipykernel.kernelspec.KERNEL_NAME", "'python3'"),
    ("ipykernel.kernelspec", "ipykernel.kernelspec.get_kernel_dict()['argv'][1:4]",
     "['kernel', '-f', '{connection_file}']"),
    ("ipykernel.kernelspec, os", "'logo-64x64.png' in os.listdir(ipykernel.kernelspec.RESOURCES)",
     "True"),
    ("ipykernel", "ipykernel.iostream.__name__", "'ipykernel.iostream'"),  # as a member
]


@pytest.mark.parametrize("modules, expression, expected", SURFACE, ids=[row[1] for row in SURFACE])
def test_the_surface(kernel, modules, expression, expected):
    """Clients.md 5.3 and 8.B.40."""
    kernel.run(f"import {modules}")
    assert shown(kernel, expression) == expected


def test_the_connection_is_that_of_the_kernel(kernel):
    """ipykernel.get_connection_file(), connect, IPKernelApp, config: the file as it was given."""
    result = kernel.execute(
        "import ipykernel, json\nfrom ipykernel import connect, kernelapp\n"
        "app = kernelapp.IPKernelApp.instance()\n"
        "print(json.dumps([ipykernel.get_connection_file(), connect.get_connection_file(app),"
        " app.connection_file, app.abs_connection_file,"
        " get_ipython().config['IPKernelApp']['connection_file'],"
        " ipykernel.get_connection_info()]))\n"
        "print(ipykernel.get_connection_info(unpack=True)['key'])")
    first, key = result.stdout.splitlines()
    *names, text = json.loads(first)
    assert names == [str(kernel.file)] * 5
    assert text == kernel.file.read_text()
    assert key == repr(kernel.connection["key"].encode())


@pytest.mark.parametrize("start", [
    "import ipykernel.embed; ipykernel.embed.embed_kernel()",
    "from ipykernel import kernelapp; kernelapp.launch_new_instance()",
    "from ipykernel.kernelapp import IPKernelApp; IPKernelApp.instance().initialize([])"])
def test_a_second_kernel_in_the_process_is_refused(kernel, start):
    ename, evalue = kernel.fail(start).error
    assert ename == "RuntimeError" and "a kernel runs in this process already" in evalue


def test_what_there_is_not_says_why(kernel):
    ename, evalue = kernel.fail("import ipykernel.no_such_module").error
    assert ename == "ModuleNotFoundError"
    assert evalue.startswith("No module named 'ipykernel.no_such_module': Einkorn ")
    ename, evalue = kernel.fail("import ipykernel; ipykernel.no_such_thing").error
    assert (ename, evalue) == ("AttributeError",
                               "module 'ipykernel' has no attribute 'no_such_thing'")


def test_the_source_of_the_shell_is_found(kernel):
    assert "class ZMQInteractiveShell" in kernel.run(
        "import inspect; print(inspect.getsource(type(get_ipython())))")[0][1]


# --- what is loaded when ----------------------------------------------------------------

LOOKS = {
    "inspect": "import inspect\n"
               "[inspect.getmodule(o) for o in (inspect.getmodule, inspect.currentframe())]\n"
               "[inspect.isclass(m) or inspect.unwrap(m) or inspect.ismodule(m) for m in M]",
    "getsource": "import inspect\ndef f(): pass\ninspect.getsource(f); inspect.getsourcefile(f)",
    "doctest": "import doctest\ndoctest.testmod()\ndoctest.DocTestFinder().find(M[0], 'IPython')",
    "unittest": "import unittest\n"
                "class T(unittest.TestCase):\n"
                "    def test(self):\n"
                "        import warnings\n"
                "        with self.assertWarns(UserWarning): warnings.warn('x')\n"
                "import io\nunittest.main(argv=['x'], exit=False,\n"
                "    testRunner=unittest.TextTestRunner(io.StringIO()))",
    "mock": "from unittest import mock\nwith mock.patch.dict('sys.modules'): pass",
    "pickle": "import pickle\ndef f(): pass\nf.__module__ = None\n"
              "pickle.dumps(f), pickle.whichmodule(f, 'f'), pickle._dumps(f)",
    "copy": "import copy, pickle\n"
            "for m in M:\n"
            "    for act in (copy.copy, copy.deepcopy, pickle.dumps):\n"
            "        try: act(m)\n"
            "        except TypeError: pass",
    "pkgutil": "import pkgutil, importlib.util\n"
               "[pkgutil.resolve_name(n) for n in ('IPython', 'ipykernel')]\n"
               "[importlib.util.find_spec(n) for n in ('IPython', 'ipykernel', "
               "'ipykernel.zmqshell', 'ipykernel.connect')]\n"
               "list(pkgutil.iter_modules(M[1].__path__))",
    "metadata": "import importlib.metadata as d\nd.version('ipython'); d.packages_distributions()\n"
                "M[0].__version__; M[0].version_info; M[1].__version__",
    "resources": "import importlib.resources as r\nlist(r.files('IPython').iterdir())",
    "repr": "[(repr(m), dir(m), hasattr(m, '__wrapped__'), m.__name__, m.__spec__) for m in M]",
    "linecache": "import linecache\nlinecache.checkcache(); linecache.getline(M[0].__file__, 1)",
    "annotations": "import typing\ndef f(a: int): pass\ntyping.get_type_hints(f)",
    "attribute": "hasattr(M[0], 'add'), hasattr(M[0], 'shape'), hasattr(M[2], 'Nothing')",
}
LIBRARIES = {
    "pytest": "import os; os.environ['PYTEST_DISABLE_PLUGIN_AUTOLOAD'] = '1'  # they are heavy\n"
              "import pytest, tempfile, pathlib\n"
              "with tempfile.TemporaryDirectory() as d:\n"
              "    file = pathlib.Path(d, 'test_x.py'); file.write_text('def test_x(): pass')\n"
              "    assert pytest.main(['-q', '-p', 'no:cacheprovider', str(file)]) == 0",
    "cloudpickle": "import cloudpickle\ncloudpickle.dumps(lambda: 1)",
    "numpy": "import numpy, pickle\npickle.dumps(numpy.add)",
}


@pytest.mark.parametrize("who", [*LOOKS, *filter(has, LIBRARIES)])
def test_looking_loads_nothing(start, who):
    """The stand-ins bear the looks that many modules get; no library has IPython loaded by it."""
    kernel = start()
    code = {**LOOKS, **LIBRARIES}[who]
    names = "'IPython', 'ipykernel', 'ipykernel.zmqshell'"
    kernel.run(f"import sys\nM = [sys.modules[n] for n in ({names})]")
    kernel.run(code + "\nNone")
    assert kernel.run(f"print({LOADED})") == [("stdout", "False\n")]


@pytest.mark.parametrize("use", [
    "sys.modules['IPython'].get_ipython", "sys.modules['IPython'].core",
    "sys.modules['IPython'].display", "sys.modules['ipykernel.zmqshell'].ZMQInteractiveShell",
    "sys.modules['ipykernel'].kernelbase", "get_ipython()"])
def test_any_use_loads_the_real_thing(start, use):
    kernel = start()
    assert kernel.run(f"import sys; used = {use}; print({LOADED})") == [("stdout", "True\n")]


def test_the_modules_that_need_no_shell_load_none(start):
    kernel = start()
    kernel.run("import ipykernel.connect, ipykernel.iostream, ipykernel.jsonutil, "
               "ipykernel.kernelspec, ipykernel.embed, ipykernel._version\n"
               "from ipykernel import comm, get_connection_file, get_connection_info")
    assert kernel.run(f"print({LOADED})") == [("stdout", "False\n")]


def test_nothing_of_it_is_made_at_the_start(start):
    """Two light modules, and nothing of the directory behind them."""
    kernel = start()
    assert kernel.run(
        "import sys\nprint([n for n in sys.modules if n.split('.')[0] == 'ipykernel'],\n"
        "      'importlib.metadata' in sys.modules, 'traitlets' in sys.modules)") == [
            ("stdout", "['ipykernel', 'ipykernel.zmqshell'] False False\n")]


if has("comm"):

    def test_a_comm_is_one_of_the_package_comm(start):
        """Also where that package is imported later."""
        assert start().run(
            "import ipykernel.comm\nc = ipykernel.comm.Comm(target_name='t', primary=False)\n"
            "from comm.base_comm import BaseComm\nimport comm\n"
            "d = comm.create_comm(primary=False)\n"
            "print(isinstance(c, BaseComm), ipykernel.comm.Comm is type(d))") == [
                ("stdout", "True True\n")]


# --- the real ipykernel -------------------------------------------------------------------

BOTH = ("import comm, ipykernel\nours = comm.create_comm, comm.get_comm_manager\n"
        "{}\nprint(ours == (comm.create_comm, comm.get_comm_manager))")

if has("ipykernel"):

    def test_what_we_have_not_comes_from_the_real_one(kernel):
        """And finds our modules where it imports others."""
        assert kernel.run(
            "import ipykernel.trio_runner, ipykernel.subshell_manager, ipykernel.iostream\n"
            "print('site-packages' in ipykernel.trio_runner.__file__,\n"
            "      'site-packages' in ipykernel.iostream.__file__)") == [
                ("stdout", "True False\n")]
    @pytest.mark.parametrize("modules", [
        "ipykernel.ipkernel", "ipykernel.comm", "ipykernel.kernelapp", "ipykernel.subshell"])
    def test_nothing_of_it_takes_the_comms_over(kernel, modules):
        assert kernel.run(BOTH.format(f"import {modules}")) == [("stdout", "True\n")]

    def test_without_the_shim_the_real_one_is_imported(start):
        """--no-ipykernel-shim."""
        kernel = start(args=["--no-ipykernel-shim"])
        assert kernel.run("import sys; print('ipykernel' in sys.modules)") == [("stdout", "False\n")]
        assert kernel.run(
            "import ipykernel\nprint('site-packages' in ipykernel.__file__, type(get_ipython()))"
        ) == [("stdout", "True <class 'ipykernel.zmqshell.ZMQInteractiveShell'>\n")]

    def test_also_then_the_comms_stay_ours(start):
        """Importing its ipykernel.ipkernel puts ipykernel's own comms in place of any others."""
        kernel = start(args=["--no-ipykernel-shim"])
        assert kernel.run(BOTH.format("import ipykernel.ipkernel")) == [("stdout", "True\n")]

else:

    def test_without_the_shim_there_is_none(start):
        """--no-ipykernel-shim where ipykernel is not installed."""
        kernel = start(args=["--no-ipykernel-shim"])
        assert kernel.fail("import ipykernel").error == (
            "ModuleNotFoundError", "No module named 'ipykernel'")
        assert kernel.run("print(type(get_ipython()).__name__)") == [
            ("stdout", "ZMQInteractiveShell\n")]


def test_a_child_process_does_not_see_the_shim(kernel):
    """Wrapper kernels are children, and subclass the real one."""
    assert kernel.run(
        "import subprocess, sys\n"
        "code = 'import importlib.util as u; s = u.find_spec(\"ipykernel\"); print(s and s.origin)'\n"
        "out = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True).stdout\n"
        "print('einkorn' in out.replace(sys.prefix, ''))") == [("stdout", "False\n")]
