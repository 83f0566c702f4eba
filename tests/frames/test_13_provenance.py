"""Provenance: what a cell reads has its file's version, and what it writes from that is told."""

import os
import sys
from pathlib import Path

import pytest

import half

PLOT = str(Path(__file__).parents[2] / "build" / "plot-venv" / "bin" / "python")


class Host:
    """Knows the versions of files by name; keeps what it is told."""

    def __init__(self, versions=None):
        self.versions = versions or {}
        self.asked, self.told = [], []

    def __call__(self, method, args):
        if method == "prov_resolve_path":
            self.asked += args
            return self.versions.get(os.path.basename(args[0]))
        if method == "prov_record":
            self.told += args
            return {"ok": True}
        raise ValueError(f"unknown method {method}")


@pytest.fixture
def space(tmp_path, start):
    (tmp_path / "known.txt").write_text("first line\nsecond\n")
    (tmp_path / "known.json").write_text('{"a": ["x", 1], "b": null}')
    (tmp_path / "known.csv").write_text("n,m\n1,2\n3,4\n")
    (tmp_path / "unknown.txt").write_text("anything")
    worker = start(cwd=tmp_path, arguments=["--python", sys.executable])
    worker.host = Host({"known.txt": "v-1", "known.json": "v-2", "known.csv": "v-3"})
    worker.run = lambda code, **keys: worker.execute(IMPORT + code, host=worker.host, **keys)
    return worker


IMPORT = "from openai4s.kernel import provenance\nfrom openai4s.kernel.provenance import get_tags, set_tags\n"


def tags_of(space, code, value="x"):
    result = space.run(f"{code}\nprint(sorted(get_tags({value})))")
    assert result["error"] is None, result["error"]
    return eval(result["stdout"].splitlines()[-1])


def test_the_module_can_be_imported(space):
    result = space.run("print(provenance.PROVENANCE_VERSION, provenance.__name__, sorted(provenance.__all__))")
    assert result["stdout"] == "1 openai4s.kernel.provenance ['PROVENANCE_VERSION', 'get_tags', 'set_tags']\n"
    assert space.run("import openai4s\nprint(openai4s.__name__)")["stdout"] == "openai4s\n"


def test_a_real_package_stays_and_the_module_is_ours_in_it(start, tmp_path):
    (tmp_path / "openai4s" / "kernel").mkdir(parents=True)
    (tmp_path / "openai4s" / "__init__.py").write_text("REAL = 1")
    (tmp_path / "openai4s" / "kernel" / "__init__.py").write_text("REAL = 2")
    (tmp_path / "openai4s" / "kernel" / "provenance.py").write_text("REAL = 3")
    (tmp_path / "openai4s" / "kernel" / "other.py").write_text("REAL = 4")
    worker = start(env={"PYTHONPATH": str(tmp_path)})
    code = "import openai4s.kernel.other\nfrom openai4s.kernel import provenance\n"
    result = worker.execute(code + "print(openai4s.REAL, openai4s.kernel.other.REAL, provenance.PROVENANCE_VERSION)")
    assert result["stdout"] == "1 4 1\n"


def test_reading_asks_for_the_real_path(space, tmp_path):
    os.symlink("known.txt", tmp_path / "link")
    space.run("open('link').read()\nopen('unknown.txt', 'rb').read()")
    assert space.host.asked == [str(tmp_path / "known.txt"), str(tmp_path / "unknown.txt")]


@pytest.mark.parametrize(
    "code",
    [
        "x = open('known.txt').read()",
        "x = open('known.txt', 'rb').read()",
        "x = open(file='known.txt', mode='r', newline='').read(3)",
        "import pathlib\nx = open(pathlib.Path('known.txt')).readline()",
        "x = open('known.txt').readlines()[1]",
        "x = list(open('known.txt'))[0]",
        "x = next(iter(open('known.txt', 'rb')))",
        "x = open('known.txt', 'r+').read()",
        "x = open('known.txt')",
        *(
            f"x = open('known.txt').read(){method}"
            for method in (
                ".upper()", ".strip()", ".split()[0]", ".splitlines()[1]", "[1:3]", "[0]", " + 'b'", " * 2", ".encode()",
                ".encode().decode()", ".replace('first', 'last')", ".partition(' ')[2]", ".title()", ".zfill(99)",
                ".join(['a', 'b'])", ".format()", ".casefold()", ".translate({97: 98})", ".removeprefix('f')",
            )
        ),
        "x = 'b' + open('known.txt').read()",
        "x = b'b' + open('known.txt', 'rb').read()",
        "x = '-'.upper().join(['a']) + open('known.txt').read()",
        "x = str(open('known.txt').read())",
    ],
)  # fmt: skip
def test_what_is_read_and_made_of_it_is_tagged(space, code):
    assert tags_of(space, code) == ["v-1"]


def test_json_keeps_the_tags(space):
    code = "import json\nx = json.loads(open('known.json').read())\ny = json.load(open('known.json'))"
    assert tags_of(space, code) == ["v-2"]
    for value in ("x['a']", "x['a'][0]", "y", "y['a'][0]"):
        assert tags_of(space, "", value) == ["v-2"]
    assert tags_of(space, "", "x['a'][1]") == []
    assert space.run("print(x, json.dumps(x))")["stdout"] == "{'a': ['x', 1], 'b': None} {\"a\": [\"x\", 1], \"b\": null}\n"


@pytest.mark.parametrize(
    "code",
    ["x = open('unknown.txt').read()", "x = 'text'", "x = open('unknown.txt').read() + 'b'", "x = 5", "x = None", "x = [1]"],
)
def test_other_values_have_no_tags(space, code):
    assert tags_of(space, code) == []


def test_a_tagged_value_is_what_it_stands_for(space):
    result = space.run(
        "import pickle, copy, json\n"
        "for x, y in ((open('known.txt').read(), 'first line\\nsecond\\n'), (open('known.txt', 'rb').read(), b'first line\\nsecond\\n'),\n"
        "             (json.load(open('known.json')), {'a': ['x', 1], 'b': None})):\n"
        "    assert x == y and repr(x) == repr(y) and isinstance(x, type(y)) and len(x) == len(y)\n"
        "    assert type(pickle.loads(pickle.dumps(x))) is type(y) and pickle.loads(pickle.dumps(x)) == y\n"
        "    assert copy.copy(x) == y\n"
        "    if type(y) is not dict: assert hash(x) == hash(y) and {y: 1}[x] == 1\n"
    )
    assert result["error"] is None, result["error"]


def test_set_tags_marks_objects_and_copies_what_has_no_room(space):
    result = space.run(
        "class Thing: __hash__ = None\n"
        "thing = Thing()\n"
        "assert set_tags(thing, frozenset({'b', 'a'})) is thing and get_tags(thing) == {'a', 'b'}\n"
        "text = set_tags('text', ['c'])\n"
        "assert text == 'text' and get_tags(text) == frozenset({'c'}) and get_tags('text') == frozenset()\n"
        "assert set_tags(5, {'c'}) == 5 and get_tags(5) == frozenset()\n"
        "set_tags(thing, ()); assert get_tags(thing) == frozenset()\n"
        "import gc\n"
        "for i in range(1000):\n"
        "    thing = Thing(); assert not get_tags(thing), i\n"
        "    set_tags(thing, {'x'}); del thing"
    )
    assert result["error"] is None, result["error"]


@pytest.mark.parametrize(
    "write",
    [
        "with open('out', 'w') as f: f.write(x)",
        "with open('out', 'a') as f: f.writelines(['a', x])",
        "with open('out', 'xb') as f: f.write(x.encode())",
        "f = open('out', 'w+'); f.write(x); f.close(); f.close()",
        "open('out', 'w').write(x)",
        "print(x, file=open('out', 'w'))",
        "f = open('out', 'w'); [f, f.write(x)].append(f); del f",
    ],
)
def test_what_is_written_from_it_is_told(space, tmp_path, write):
    result = space.run(f"x = open('known.txt').read()\n{write}", id="the-cell")
    assert result["error"] is None, result["error"]
    assert "first line" in (tmp_path / "out").read_text()
    assert space.host.told == [
        {"path": str(tmp_path / "out"), "filename": "out", "input_version_ids": ["v-1"], "producing_cell_id": "the-cell"}
    ]


def test_a_file_that_the_collector_closes_is_told_when_the_cell_ends(space):
    """A finalizer runs anywhere, also in the middle of a host call."""
    result = space.run("x = open('known.txt').read()\nopen('out', 'w').write(x)\nprint('after')")
    assert [frame["type"] for frame in result.frames][-2:] == ["stdout_chunk", "host_call"]
    assert space.host.told[0]["filename"] == "out"


def test_all_versions_are_told_and_names_from_the_start_directory(space, tmp_path, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "out"
    space.run(
        "import os\nos.mkdir('sub')\nos.chdir('sub')\n"
        "x = open('../known.txt').read() + open('../known.json').read()\n"
        f"for name in ('out', {str(outside)!r}):\n"
        "    with open(name, 'w') as f: f.write(x)"
    )
    assert [told["filename"] for told in space.host.told] == ["sub/out", "out"]
    assert [told["path"] for told in space.host.told] == [str(tmp_path / "sub" / "out"), str(outside)]
    assert {tuple(told["input_version_ids"]) for told in space.host.told} == {("v-1", "v-2")}


@pytest.mark.parametrize(
    "code",
    [
        "with open('out', 'w') as f: f.write('plain')",
        "x = open('unknown.txt').read()\nwith open('out', 'w') as f: f.write(x)",
        "x = open('known.txt').read()\nwith open('out', 'w') as f: f.write('plain')",
        "x = open('known.txt', 'r+')\nx.write('plain'); x.close()",
    ],
)
def test_nothing_else_is_told(space, code):
    assert space.run(code)["error"] is None
    assert space.host.told == []


def test_files_are_still_what_open_returns(space):
    result = space.run(
        "import io\n"
        "for mode, kind in (('r', io.TextIOWrapper), ('w', io.TextIOWrapper), ('rb', io.BufferedReader), ('wb', io.BufferedWriter), ('r+b', io.BufferedRandom)):\n"
        "    name = 'known.txt' if 'r' in mode else 'out'\n"
        "    with open(name, mode) as ours, io.open(name, mode) as theirs:\n"
        "        assert isinstance(ours, kind), ours\n"
        "        assert ours.name == theirs.name and ours.mode == theirs.mode, (ours, theirs)\n"
        "        assert type(ours).__name__ == kind.__name__ and repr(ours) == repr(theirs), (ours, theirs)\n"
        "        assert ours.readable() == theirs.readable() and ours.writable() == theirs.writable()\n"
        "        if kind is io.TextIOWrapper: assert (ours.encoding, ours.errors, ours.line_buffering) == (theirs.encoding, theirs.errors, theirs.line_buffering)\n"
        "with open('known.txt', encoding='utf-16', errors='replace', newline='\\r\\n') as f: assert (f.encoding, f.errors) == ('utf-16', 'replace')\n"
        "with open('out', 'w', newline='\\r\\n') as f: f.write('a\\n')\n"
        "assert io.open('out', 'rb').read() == b'a\\r\\n'\n"
        "with open('known.txt', 'rb', 0) as f: assert isinstance(f, io.FileIO)\n"
        "with open('known.txt') as f: f.seek(6); assert f.tell() == 6 and f.read(4) == 'line'\n"
        "with open('known.txt') as f: fd = f.fileno(); assert open(fd, closefd=False).read() == 'first line\\nsecond\\n'\n"
    )
    assert result["error"] is None, result["error"]


def test_open_itself_looks_as_it_did(space):
    result = space.run(
        "import inspect, io, pickle\n"
        "assert [p for p in inspect.signature(open).parameters] == [p for p in inspect.signature(io.open).parameters]\n"
        "assert pickle.loads(pickle.dumps(open)) is open and open.__name__ == 'open'\n"
    )
    assert result["error"] is None, result["error"]
    error = space.run("open('missing.txt')")["error"]
    assert "einkorn" not in error and error.endswith("No such file or directory: 'missing.txt'\n")
    assert "TypeError" in space.run("open()")["error"]


@pytest.mark.parametrize("answer", [None, 5, ["v"], {"error": "denied"}, {}])
def test_what_is_no_version_is_none_and_errors_are_no_cells(space, answer):
    space.host = lambda method, args: answer
    assert tags_of(space, "x = open('known.txt').read()") == []


def test_our_own_reads_ask_nothing(space):
    for code in ("x = 1", "print(1)", "def f(): 1 / 0", "import linecache, json, traceback", "1 / 0", "f()", "json.loads('{')"):
        result = space.execute(code, host=space.host)
        assert result.calls == [], code
    assert space.execute("import module_that_is_not_there", host=space.host).calls == []


def test_lineage_can_be_turned_off(start, tmp_path):
    (tmp_path / "known.txt").write_text("text")
    host = Host({"known.txt": "v-1"})
    worker = start(cwd=tmp_path, env={"OPENAI4S_PROVENANCE_OFF": "1"})
    assert worker.execute("open('known.txt').read()", host=host).calls == []
    worker.execute("import os\nos.environ['OPENAI4S_PROVENANCE_OFF'] = '0'", host=host)
    assert len(worker.execute("open('known.txt').read()", host=host).calls) == 1


def test_a_jupyter_mode_has_none(start, tmp_path):
    worker = start(cwd=tmp_path, env={"OPENAI4S_KERNEL_MODE": "jupyter"})
    result = worker.execute("import io, sys\nprint(open is io.open, 'openai4s' in sys.modules)\nopen('/dev/null')")
    assert (result["stdout"], result.calls) == ("True False\n", [])
    assert "ModuleNotFoundError" in worker.execute("import openai4s.kernel.provenance")["error"]


def test_threads_of_the_cell_ask_too(space):
    code = "import threading\nfound = []\ndef read(): found.append(open('known.txt').read())\nt = [threading.Thread(target=read) for _ in range(8)]\n"
    assert tags_of(space, code + "[x.start() for x in t]; [x.join() for x in t]", "found[7]") == ["v-1"]


def test_pandas_reads_and_writes(space, tmp_path):
    assert tags_of(space, "import pandas\nx = pandas.read_csv('known.csv')") == ["v-3"]
    assert tags_of(space, "y = x['n']; z = x[x['n'] > 1]; w = z['m']", "y") == ["v-3"]
    assert tags_of(space, "", "z") == tags_of(space, "", "w") == ["v-3"]
    assert tags_of(space, "x.plain = 1", "pandas.DataFrame({'a': [1]})") == []
    asked = space.host.asked.count(str(tmp_path / "known.csv"))
    assert asked == 1, "once, though pandas opens it by open()"
    for code in (
        "x.to_csv('o.csv')", "y.to_csv(path_or_buf='o.csv')", "x.to_json('o.json')", "z.to_pickle('o.pickle')",
        "with open('o.csv', 'w') as f: x.to_csv(f)", "x.to_csv(index=False)",
        "pandas.DataFrame({'a': [1]}).to_csv('o.csv')",
    ):  # fmt: skip
        assert space.run(code)["error"] is None
    assert [told["filename"] for told in space.host.told] == ["o.csv", "o.csv", "o.json", "o.pickle", "o.csv"]
    assert all(told["input_version_ids"] == ["v-3"] for told in space.host.told)
    assert tags_of(space, "with open('known.csv') as f: v = pandas.read_csv(f)", "v") == ["v-3"]


PANDAS = """
class Table:
    def __getitem__(self, key): return type(self)()
    def write(self, path_or_buf=None, **more):
        if path_or_buf: open(path_or_buf, "w").close()
    to_csv = to_json = write
    def to_parquet(self, path=None): self.write(path)
    def to_pickle(self, path): self.write(path)
class DataFrame(Table): pass
class Series(Table): pass
def read_csv(filepath_or_buffer): return DataFrame()
def read_pickle(filepath_or_buffer): return DataFrame()
def read_parquet(path): return DataFrame()
def read_json(path_or_buf): return Series()
def read_excel(io): return DataFrame()
"""
READERS = {"csv": "filepath_or_buffer", "pickle": "filepath_or_buffer", "parquet": "path", "json": "path_or_buf", "excel": "io"}
WRITERS = {"csv": "path_or_buf", "json": "path_or_buf", "parquet": "path", "pickle": "path"}


def test_every_reader_and_writer_of_pandas(start, tmp_path):
    """A double with the names of theirs: some of the real ones need packages more."""
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "pandas.py").write_text(PANDAS)
    (tmp_path / "known").write_text("")
    host = Host({"known": "v-1"})
    worker = start(cwd=tmp_path, env={"PYTHONPATH": str(tmp_path / "library")})
    worker.execute(IMPORT + "import pandas", host=host)
    for kind, name in READERS.items():
        for argument in ("'known'", f"{name}='known'"):
            result = worker.execute(f"x = pandas.read_{kind}({argument})\nprint(*get_tags(x), *get_tags(x[0]))", host=host)
            assert (result["stdout"], result["error"]) == ("v-1 v-1\n", None), kind
    for kind, name in WRITERS.items():
        for argument in ("'out'", f"{name}='out'"):
            for value in ("x", "set_tags(pandas.Series(), {'v-1'})"):
                host.told.clear()
                assert worker.execute(f"{value}.to_{kind}({argument})", host=host)["error"] is None
                assert [(told["filename"], told["input_version_ids"]) for told in host.told] == [("out", ["v-1"])], kind


def test_a_lineage_that_cannot_be_had_is_told_and_the_rest_goes_on(monkeypatch):
    hooks = half.use("hooks")
    monkeypatch.setattr("sys.excepthook", None)
    monkeypatch.setattr(hooks.lineage, "install", lambda: 1 / 0)
    hooks.start({}, "repl")
    assert half.runner.frames == [{"type": "log", "msg": "provenance unavailable: division by zero"}]


def test_numpy_reads_and_writes(space):
    space.host.versions["a.npy"] = "v-9"
    assert tags_of(space, "import numpy\nnumpy.save('a', numpy.arange(3))\nx = numpy.load('a.npy')") == ["v-9"]
    assert space.run("numpy.save('b', x)\nnumpy.save('c.npy', arr=numpy.arange(2))")["error"] is None
    assert [told["filename"] for told in space.host.told] == ["b.npy"]


SAVE = (
    "figure = plt.figure()\n"
    "provenance.set_tags(figure, frozenset({'input-version'}))\n"
    "figure.savefig('figure.png')\n"
    "figure.savefig('other')\n"
    "plt.figure().savefig('untagged.png')\n"
    "plt.close('all')\n"
)
PYPLOT = "import matplotlib\nmatplotlib.use('Agg')\nimport matplotlib.pyplot as plt\n"


@pytest.mark.parametrize("same_cell", [True, False], ids=["same cell", "later cell"])
def test_a_saved_figure_is_told_in_the_cell_that_imports_matplotlib_and_later(start, tmp_path, same_cell):
    host = Host()
    worker = start(cwd=tmp_path, arguments=["--python", PLOT])
    worker.execute("x = 1", host=host)
    if not same_cell:
        assert worker.execute(PYPLOT, host=host)["error"] is None
    result = worker.execute((PYPLOT if same_cell else "") + IMPORT + SAVE, host=host)
    assert result["error"] is None, result["error"]
    assert [told["filename"] for told in host.told] == ["figure.png", "other.png"]
    assert all(os.path.isfile(told["path"]) for told in host.told)
    assert host.told[0]["input_version_ids"] == ["input-version"]


def test_a_real_figure_that_leaks_is_told(start, tmp_path):
    worker = start(cwd=tmp_path, arguments=["--python", PLOT])
    result = worker.execute(PYPLOT + "plt.figure(3)", host=Host())
    assert result["guards"]["matplotlib"] == {"leaked": [3], "closed": []}
