"""What importing the Python half costs and leaves behind."""

import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))

START = """
import sys
sys.path.insert(0, {here!r})
class Fake(type(sys)):
    def __getattr__(self, name):
        return lambda *a: None
sys.modules['_einkorn'] = Fake('_einkorn')
sys.modules['_einkorn'].settings = ''
from _frozen_importlib_external import PathFinder
from _frozen_importlib import module_from_spec
spec = PathFinder.find_spec('einkorn', [{package!r}])
sys.modules['einkorn'] = module = module_from_spec(spec)
before = set(sys.modules)
spec.loader.exec_module(module)
import einkorn.hooks
einkorn.hooks.start({{}})
einkorn.hooks.begin(1, 'x = 1', True, False)
einkorn.hooks.echo(1, 1, True)
einkorn.hooks.end()
after = set(sys.modules) - before
print(sorted(name for name in after if not name.startswith('einkorn')))
"""


def test_nothing_is_imported_at_start_but_ours():
    package = os.path.realpath(os.path.join(HERE, "..", "..", "bridge", "python"))
    code = START.format(here=HERE, package=package)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "[]\n"


def test_import_hooks_leave_no_trace(shell):
    code = (
        "import {0}\n(type({0}.__loader__).__name__, type({0}.__spec__.loader).__name__, "
        "{0}.__spec__.loader is {0}.__loader__)"
    )
    names = ("asyncio", "getpass", "inspect", "linecache", "bdb")
    results = shell(*[code.format(name) for name in names], "import importlib.util\n"
                    "importlib.util.find_spec('asyncio').loader.get_filename('asyncio')[-11:]",
                    "import importlib\nimportlib.reload(asyncio)\nasyncio.run(asyncio.sleep(0, 4))")  # fmt: skip
    for result in results[:5]:
        assert json.dumps(result.text) and result.text == (
            "('SourceFileLoader', 'SourceFileLoader', True)"
        )
    assert results[5].text == "'__init__.py'"
    assert results[6].text == "4"


def test_replaced_streams_are_flushed_at_the_end_of_a_cell(shell, tmp_path):
    shell("import sys\nsys.stdout = open('out.txt', 'w')\nprint('kept')", "1")
    assert (tmp_path / "out.txt").read_text() == "kept\n"


def test_the_package_compiles(tmp_path):
    import py_compile

    package = os.path.join(HERE, "..", "..", "bridge", "python", "einkorn")
    names = [name for name in os.listdir(package) if name.endswith(".py")]
    assert len(names) > 10
    for name in names:
        py_compile.compile(os.path.join(package, name), str(tmp_path / f"{name}c"), doraise=True)
