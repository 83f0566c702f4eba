"""files_read: which files of its start directory a cell has read."""

import os

import pytest


@pytest.fixture
def space(tmp_path, start):
    """A worker that began in a directory with some files."""
    (tmp_path / "nested").mkdir()
    for name in ("a.txt", "b.txt", "executed.txt", "dead.txt", "nested/input.bin", "ä ö.txt"):
        (tmp_path / name).write_text("observed")
    (tmp_path / "module_here.py").write_text("import os\nREAD = open('b.txt').read()\n")
    os.symlink("a.txt", tmp_path / "link.txt")
    return start(cwd=tmp_path)


@pytest.mark.parametrize(
    "code, files",
    [
        ("open('a.txt').read()", ["a.txt"]),
        ("open('a.txt', 'rb').close()", ["a.txt"]),
        ("open(b'a.txt').read()", ["a.txt"]),
        ("import io\nio.FileIO('a.txt')", ["a.txt"]),
        ("open('b.txt'); open('a.txt'); open('b.txt')", ["b.txt", "a.txt"]),
        ("open('ä ö.txt').read()", ["ä ö.txt"]),
        ("open('a.txt', 'r+').close()", ["a.txt"]),
        ("open('new1', 'w+').close()", ["new1"]),
        ("open('new2', 'w').close()", []),
        ("open('new2', 'a').close()", []),
        ("open('new3', 'xb').close()", []),
        ("import os\nos.close(os.open('a.txt', os.O_RDONLY))", ["a.txt"]),
        ("import os\nos.close(os.open('a.txt', os.O_RDWR))", ["a.txt"]),
        ("import os\nos.close(os.open('created', os.O_CREAT | os.O_WRONLY, 0o600))", []),
        ("import os\nopen(os.path.join('nested', '..', 'nested', 'input.bin'), 'rb').read()", ["nested/input.bin"]),
        ("import os\nopen(os.path.abspath('a.txt')).read()", ["a.txt"]),
        ("open('.//nested/./input.bin').read()", ["nested/input.bin"]),
        ("open('link.txt').read()", ["link.txt"]),
        ("open('/dev/null', 'rb').read()", []),
        ("import os\nos.close(os.open('.', os.O_RDONLY))", []),
        ("import os\nos.chdir('nested')\nopen('input.bin')\nopen('../a.txt')\nos.chdir('..')", ["nested/input.bin", "a.txt"]),
        ("open('missing.txt')", ["missing.txt"]),
        ("open('a.txt').read()\n1 / 0", ["a.txt"]),
        ("open('a\\0b')", []),
        ("open(1000)", []),
        ("class P:\n    def __fspath__(self): return 'a.txt'\nopen(P())", ["a.txt"]),
        ("class T(str): pass\nopen(T('a.txt'))", []),
        ("def f(n): return open('a.txt') if n == 0 else f(n - 1)\nf(120)", ["a.txt"]),
        ("exec(compile('open(\"a.txt\")', 'other', 'exec'))", ["a.txt"]),
        ("import subprocess\nsubprocess.run(['cat', 'a.txt'], stdout=subprocess.DEVNULL)", []),
        ("import threading\nt = threading.Thread(target=lambda: open('a.txt'))\nt.start(); t.join()", ["a.txt"]),
        ("import threading\nt = threading.Thread(target=open, args=('a.txt',))\nt.start(); t.join()", []),
        ("if False:\n    open('dead.txt')", []),
        ("x = 'open(\"a.txt\")'", []),
        ("def later(): return open('a.txt')", []),
    ],
)  # fmt: skip
def test_what_a_cell_opens_to_read_is_told(space, code, files):
    assert space.execute(code)["files_read"] == files


def test_no_source_is_guessed_at(space):
    result = space.execute(
        "from pathlib import Path\n"
        "if False:\n"
        "    Path('dead.txt').read_text()\n"
        "print(Path('executed.txt').read_text())\n"
        "Path('write-only.txt').write_text('output')"
    )
    assert result["error"] is None and result["stdout"] == "observed\n"
    assert result["files_read"] == ["executed.txt"]


def test_a_module_of_the_directory_is_read_and_what_it_reads(space):
    result = space.execute("import sys\nsys.path.insert(0, '.')\nsys.dont_write_bytecode = True\nimport module_here")
    assert result["error"] is None
    assert result["files_read"][-2:] == ["module_here.py", "b.txt"]


def test_each_cell_has_its_own(space):
    space.execute("def later(): return open('a.txt')\nopen('b.txt')")
    assert space.execute("x = 1")["files_read"] == []
    assert space.execute("later()")["files_read"] == ["a.txt"]


def test_an_older_thread_does_not_add_to_the_next_cell(space):
    space.execute(
        "import threading\n"
        "go, done = threading.Event(), threading.Event()\n"
        "def read(): go.wait(); open('a.txt'); done.set()\n"
        "threading.Thread(target=read, daemon=True).start()"
    )
    assert space.execute("go.set()\nassert done.wait(30)")["files_read"] == []


def test_there_are_bounds(space):
    many = space.execute("for i in range(300):\n    try: open(f'f{i}')\n    except OSError: pass")
    assert many["files_read"] == [f"f{i}" for i in range(256)]
    name = "'/'.join(['x' * 100] * 10 + ['y' * {n}])"
    long = space.execute(
        f"for name in ({name.format(n=14)}, {name.format(n=15)}, 'a.txt'):\n"
        "    try: open(name)\n"
        "    except OSError: pass"
    )
    assert [len(file) for file in long["files_read"]] == [1024, 5]


def test_frames_are_looked_at_up_to_a_bound(space):
    code = "import sys\nsys.setrecursionlimit(5000)\nexec(compile('def f(n): return open(\"a.txt\") if n == 0 else f(n - 1)', 'o', 'exec'))\nf({})"
    assert space.execute(code.format(100))["files_read"] == ["a.txt"]
    assert space.execute(code.format(200))["files_read"] == []


@pytest.mark.parametrize("where", ["gone", "new"])
def test_a_current_directory_that_is_gone_fails_no_cell(space, where):
    result = space.execute(
        "import os\nstart = os.getcwd()\nos.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')\n"
        "try: open('x')\nexcept OSError: pass\n"
        "try: open(start + '/a.txt')\nfinally: os.chdir(start)"
    )
    assert (result["error"], result["files_read"]) == (None, ["a.txt"])


def test_our_own_modules_are_not_the_cells(start):
    worker = start(cwd="/")
    worker.execute("1")
    files = worker.execute("import linecache, json\nhost._call('ping', [])\ntry: 1 / 0\nexcept ZeroDivisionError: pass")
    assert not [file for file in files["files_read"] if "/einkorn/" in file]


def test_opening_with_a_stubborn_audit_hook_of_the_users_own_goes_on(space):
    space.execute("import sys\nsys.addaudithook(lambda event, args: None)")
    assert space.execute("open('a.txt')")["files_read"] == ["a.txt"]
