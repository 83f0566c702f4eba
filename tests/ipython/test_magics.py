"""The magics of a kernel, beside the real ipykernel's."""

import json
import re

import pytest

NAMES = """
m = get_ipython().magics_manager.magics
print(sorted(m["line"]), sorted(m["cell"]))
"""


def test_every_magic_of_ipykernel_exists(pair):
    seen = pair.same(NAMES)
    for name in ("clear", "connect_info", "edit", "less", "man", "more", "store", "subshell"):
        assert f"'{name}'" in seen.text()


@pytest.fixture(scope="module")
def script(pair):
    pair.write("hello.py", "a = 1\nprint('from a file', __name__)\n")


@pytest.mark.parametrize("code", [
    "%lsmagic",
    "%clear",
    "%less {here}/hello.py",
    "%more {here}/hello.py",
    "%less",
    "%less /nowhere",
    "%man true",
    "%ed {here}/hello.py",
    "%edit {here}/hello.py",
    "%ed -n 2 {here}/hello.py",
    "%ed 1-2",
    "x = 'a = 1'\n%ed x",
    "def f(): pass",
    "%ed f",
    "%macro m 1",
    "%ed m",
    "%autosave 5",
    "%autosave 0",
    "%autosave x",
    "%load {here}/hello.py",
    "%pycat {here}/hello.py",
    "%run {here}/hello.py",
    "a",
    "%run -i {here}/hello.py",
    "%save -f {here}/hello.py.saved 1",
    "%notebook {here}/hello.py.ipynb",
    "%run {here}/hello.py.ipynb",
    "%%writefile {here}/hello.py.written\nx",
    "%%writefile -a {here}/hello.py.written\nx",
    "%cd -q /tmp",
    "%cd /tmp",
    "_dh[-1]",
    "%cd -",
    "%bookmark here",
    "%bookmark -l",
    "%env EK=1",
    "%env EK",
    "%set_env EK=2",
    "import os; os.environ['EK']",
    "%alias say echo %s said",
    "%say it",
    "say it",
    "%unalias say",
    "%store",
    "%store a",
    "del a\n%store -r a\na",
    "%who_ls",
    "%who",
    "%whos",
    "%history -n 1-3",
    "%recall 1",
    "%rerun 1",
    "%precision 3",
    "3.14159",
    "%precision",
    "%pprint",
    "%pprint",
    "%colors",
    "%config InteractiveShell",
    "%config Completer.use_jedi = False",
    "%config Completer.use_jedi",
    "?print",
    "print?",
    "f??",
    "%pinfo len",
    "%pdef f",
    "%pdoc f",
    "%psource f",
    "str.is*?",
    "nowhere?",
    "%time 1 + 1",
    "%%time\n1 + 1",
    "%timeit -n1 -r1 1",
    "%%timeit -n1 -r1\n1",
    "%prun -q -r 1 + 1;",
    "%%capture c\nprint(1)\ndisplay(2)\n3",
    "c.stdout, c.stderr, [o.data for o in c.outputs]",
    "c.show()",
    "%%capture --no-stdout d\nprint(1); display(2)",
    "%%html\n<b>x</b>",
    "%%svg\n<svg/>",
    "%%latex\n$x$",
    "%%markdown\n*x*",
    "%%javascript\nalert(1)",
    "%xmode",
    "%xmode Plain",
    "1/0",
    "%xmode Verbose",
    "def g(a): return 1 / a\ng(0)",
    "%xmode Minimal",
    "1/0",
    "%xmode Context",
    "%tb",
    "%autoawait",
    "%autoawait trio",
    "import trio\nawait trio.sleep(0, )\n7",
    "%autoawait off",
    "await trio.sleep(0)",
    "async def h(): return 8\n%autoawait asyncio",
    "await h()",
    "%autoawait sync",
    "await h()",
    "%autoawait True",
    "await h()",
    "%load_ext autoreload",
    "%autoreload 2",
    "%reload_ext autoreload",
    "%nowhere",
    "%%nowhere\nx",
    "%conda list",
    "%reset_selective -f ^a$$",
    "%reset -f",
    "%who_ls",
])
def test_a_magic_does_what_it_does_under_ipykernel(pair, script, code):
    pair.same(code)


def test_autoreload_reloads(pair, tmp_path):
    module = tmp_path / "ek_reloaded.py"
    module.write_text("def f(): return 1\n")
    pair.same(f"%load_ext autoreload\n%autoreload 2\nimport sys; sys.path.insert(0, {str(tmp_path)!r})")
    assert pair.same("import ek_reloaded; ek_reloaded.f()").data() == ["1"]
    module.write_text("def f(): return 'another'\n")
    assert pair.same("ek_reloaded.f()").data() == ["'another'"]
    pair.same("%autoreload 0")


def test_connect_info_shows_the_connection_file(pair):
    ours, theirs = pair.both("%connect_info")
    shown, rest = ours.text().split("\n\n", 1)
    assert json.loads(shown) == json.loads(open(pair.ours.manager.connection_file).read())
    assert rest == theirs.text().split("\n\n", 1)[1]
    assert "kernel.json" in rest and "/kernel.json" not in rest  # it lies where Jupyter looks


def test_connect_info_without_a_connection_file_says_so(pair):
    cell = ("from einkorn import settings\nsettings.CONNECTION_FILE = ''\n%connect_info")
    assert "without a connection file" in pair.ours.run(cell).text("stderr")


def test_qtconsole_says_why_it_does_not_start(pair):
    """ipykernel starts it in vain, and says nothing."""
    assert re.search("Could not start qtconsole: .*qtconsole", pair.ours.run("%qtconsole").text("stderr"))


def test_subshells_are_not_supported(pair):
    assert pair.ours.run("%subshell").text() == "Kernel does not support subshells\n"


@pytest.mark.parametrize("code", ["%quickref", "%magic"])
def test_the_help_names_the_magics_of_a_kernel(pair, code):
    """The same pages as ipykernel's; what they quote of our docstrings is in our words."""
    ours, theirs = (seen.payload[0]["data"]["text/plain"] for seen in pair.both(code))
    names = re.compile(r"%%?\w+")
    assert names.findall(ours) and set(names.findall(theirs)) <= set(names.findall(ours))


def test_edit_of_nothing_says_what_it_looked_for(pair):
    """ipykernel fails with a TypeError after the warning."""
    seen = pair.ours.run("%ed nowhere_to_be_found")
    assert seen.status == "ok" and seen.payload == []
    assert "nowhere_to_be_found" in seen.text("stderr")
