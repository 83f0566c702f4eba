"""
Completion, inspection and completeness are ipykernel's where IPython is: the same questions are put
to both kernels, whose sessions have run the same cells.
"""

import re
import time

import pytest
from differential import REPLACED, normal

SETUP = """
import collections, os, math, pathlib, re
import numpy as np
import pandas as pd
class Box:
    'A box.'
    size: int = 3
    def open(self, how, *more, gently=False) -> str:
        'Open it.'
        return how
    @property
    def lid(self):
        print('looked at')
        return 'lid'
    def __dir__(self):
        return ['open', 'lid', 'size', 'made up']
    def _ipython_key_completions_(self):
        return ['key one', 'key two']
    def __getitem__(self, key): return key
class Loud:
    def __getattr__(self, name):
        raise RuntimeError(name)
box, loud = Box(), Loud()
ünïcode = 'ß' * 3
words = {'alpha': 1, 'beta': {'gamma': [1, 2]}, 7: 'seven', b'raw': 0}
frame = pd.DataFrame({'first': [1], 'second column': [2]})
def greet(name, /, greeting='hello', *, loudly: bool = False):
    '''Greet somebody.

    At length.'''
    return greeting + name
with open('{here}/some file.txt', 'w') as f: pass
os.chdir('{here}')
"""

COMPLETE = [
    "", "b", "box.", "box.o", "box.open(", "box.open('x', ge", "box['", "box[\"key", "words['",
    "words['al", "words['beta']['", "words[", "frame['", "frame.", "frame.first.", "np.lin", "math.s",
    "os.path.jo", "import col", "import os.pa", "from os import getl", "from collections.ab", "%ti",
    "%%ti", "%load_ext ", "%matplotlib in", "!ec", "greet(lo", "greet(", "loud.", "ünï", "ünïcode.up",
    "'😀'; ünïcode.s", "x = [n.bit for n in", "pathlib.Path('/').exi", "open('some", "'some f",
    "\\alp", "\\greek small letter alph", "re.comp", "for i in ran", "pri", "print(box.s", "nothing.",
    "def f(a):\n    retu", "class A(Bo", "# box.", "'box.", "1.", "(1).", "lambda: box.li", "await bo",
    "get_ipython().run_", "_", "box.open('x').upp", "{}.", "[].app", "f'{box.si", "cd so", "%cd so",
    "%cat nothing", "import ", "from . import ",
]

INSPECT = [
    "box.open", "box.open(1, 2", "box.lid", "box.size", "greet", "greet(", "greet('x', lo",
    "len", "len(", "print", "np.linspace", "np.linspace(0, 1", "math", "os.path.join(", "words", "frame",
    "frame.first", "pd.DataFrame", "ünïcode", "'😀'; greet(", "%time", "%%time", "time", "nothing",
    "nothing.at.all", "", "  ", "1", "loud.x", "Box().open", "x = greet(box.open(", "re.compile('a').match",
    "get_ipython", "int", "collections.OrderedDict", "def", "words['alpha']", "greet\n", "a = 1\ngreet(",
]

IS_COMPLETE = [
    "", "a = 1", "for i in x:", "for i in x:\n    pass", "for i in x:\n    pass\n", "(1,", "'''", "a = (",
    "if True:\n    if True:\n        x", "%%time", "%%time\nx", "%%time\nx\n\n", "%time x", "!ls", "x?",
    "def f():\n    return 1", "a b", "x = 'a", "\\", "a = 1 \\", "class A:", "@property", "try:\n    1",
    "async def f():\n    await x\n", "await x", "\n\n", "if 1: pass",
]


TYPES = "_jupyter_types_experimental"
UNKNOWN = "<unknown>"  # jedi had no more time to find out


@pytest.fixture(scope="module")
def both(pair):
    pair.both("get_ipython()")
    pair.same(SETUP)
    return pair


def answer(one, method, *args, **options):
    request = getattr(one.client, method)(*args, **options)
    end = time.monotonic() + 30
    while True:
        reply = one.client.get_shell_msg(timeout=end - time.monotonic())
        if reply["parent_header"].get("msg_id") == request:
            return normal(reply["content"], (
                (re.escape(one.directory), "/here"), (r"/tmp/ipykernel_\d+/\d+\.py", "/tmp/CELL"),
                *REPLACED))


# __main__ is that of an interpreter, and the module that the worker is built of a built-in one.
OURS = {"__annotations__", "__loader__", "_einkorn"}


def same(both, method, *args, **options):
    """What both answer; it must be the same. Theirs has no time limit: it fills jedi's cache."""
    theirs, ours = (answer(one, method, *args, **options) for one in (both.theirs, both.ours))
    if method == "complete":
        for reply in (ours, theirs):
            reply["matches"] = [text for text in reply["matches"] if text not in OURS]
            reply["metadata"][TYPES] = [t for t in reply["metadata"][TYPES] if t["text"] not in OURS]
        for one, other in zip(ours["metadata"][TYPES], theirs["metadata"][TYPES]):
            if UNKNOWN in (one["type"], other["type"]):
                one.update(type=UNKNOWN, signature="")
                other.update(type=UNKNOWN, signature="")
            assert one == other
    assert ours == theirs
    return ours


@pytest.mark.parametrize("code", COMPLETE)
def test_completion(both, code):
    """Matches, where they go, and the experimental types with signatures."""
    reply = same(both, "complete", code)
    types = reply["metadata"][TYPES]
    assert [item["text"] for item in types] == reply["matches"]


@pytest.mark.parametrize("code, cursor", [
    ("box.o + box.s", 5), ("ünïcode.up + x", 10), ("'😀😀'; box.o)", 11), ("box.open", 3), ("box", 0),
    ("np.\nbox.s", 3), ("words['al'] + 1", 9), ("x\n\nbox.", 7),
])
def test_completion_in_the_middle(both, code, cursor):
    """Cursors count code points, not UTF-16 units or bytes."""
    same(both, "complete", code, cursor)


def test_there_is_something_to_compare(both):
    for code, match in [("box.o", "open"), ("words['al", "alpha"), ("np.lin", "linspace"), ("%ti", "%time")]:
        assert match in answer(both.ours, "complete", code)["matches"]


@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize("code", INSPECT)
def test_inspection(both, code, level):
    reply = same(both, "inspect", code, detail_level=level)
    assert "text/html" not in reply["data"]


@pytest.mark.parametrize("code", ["box", "Box"])
def test_inspection_of_a_cells_class(both, code):
    """ipykernel cannot find the cell of a class (before Python 3.13): we tell more."""
    ours, theirs = (answer(one, "inspect", code)["data"]["text/plain"]
                    for one in (both.ours, both.theirs))
    lines = [line for line in ours.splitlines(True) if "File:" not in line]
    assert "".join(lines) == theirs and "File:" in ours
    source = answer(both.ours, "inspect", code, detail_level=1)["data"]["text/plain"]
    assert "class Box:" in source and "key two" in source


def test_inspection_of_what_a_plain_cell_defined(start):
    """It has its source, and a name that is no path."""
    kernel = start(args=["--shell=auto"])
    kernel.run("def f():\n    return 'the source'\nclass A:\n    def g(self): pass")
    for code in "f", "A", "A.g":
        content = {"code": code, "cursor_pos": len(code), "detail_level": 1}
        data = kernel.ask("shell", "inspect_request", content).content["data"]["text/plain"]
        assert "<cell 1>" in data and "/<cell 1>" not in data
        assert "Source" in data


def test_inspection_with_html(both):
    """Where the pager is said to show HTML the bundle has it."""
    both.same("get_ipython().enable_html_pager = True")
    try:
        assert "text/html" in same(both, "inspect", "greet")["data"]
    finally:
        both.same("get_ipython().enable_html_pager = False")


@pytest.mark.parametrize("code, cursor", [("greet(box.open", 2), ("box.open + greet", 16), ("ünïcode", 3)])
def test_inspection_in_the_middle(both, code, cursor):
    same(both, "inspect", code, cursor)


@pytest.mark.parametrize("code", IS_COMPLETE)
def test_completeness(both, code):
    same(both, "is_complete", code)


def test_asking_loads_ipython(start):
    """Completion and inspection do; completeness does not."""
    for ask, loads in [("complete", True), ("inspect", True), ("is_complete", False)]:
        kernel = start(args=["--shell=auto"])
        content = {"code": "%%time", "cursor_pos": 6}
        reply = kernel.ask("shell", f"{ask}_request", content)
        assert reply.content["status"] in ("ok", "incomplete")
        assert kernel.run("import sys; print('IPython.core' in sys.modules)") == [
            ("stdout", f"{loads}\n")]


def test_without_ipython_the_plain_session_answers(start):
    """--shell=plain: nothing is loaded, and there are no magics among the matches."""
    kernel = start(args=["--shell=plain"])
    reply = kernel.ask("shell", "complete_request", {"code": "%ti", "cursor_pos": 3})
    assert reply.content["matches"] == []
    reply = kernel.ask("shell", "inspect_request", {"code": "len", "cursor_pos": 3, "detail_level": 0})
    assert reply.content["found"]
    assert kernel.run("import sys; print('IPython' in sys.modules)") == [("stdout", "False\n")]


def test_from_a_thread_while_a_cell_runs(kernel):
    """As VS Code asks; the kernel's own answers go on being right beside it."""
    shown = kernel.run("""
import threading
answers, words = [], {'alpha': 1}
kernel = get_ipython().kernel
def ask(n):
    for _ in range(20):
        if n % 2:
            answers.append(kernel.do_complete("words['al", 9)['matches'])
        else:
            answers.append(kernel.do_complete('threadi', 7)['matches'])
threads = [threading.Thread(target=ask, args=(n,)) for n in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(sorted({str(answer) for answer in answers}), len(answers))""")
    assert shown == [("stdout", "[\"['alpha']\", \"['threading']\"] 80\n")], shown


SLOW = """
import time
class Slow:
    def __dir__(self):
        print('asked')
        time.sleep(600)
slow = Slow()
"""


def test_a_slow_object_has_its_time(start):
    """The completer is ended after five seconds, answers, and goes on to work."""
    kernel = start(args=["--shell=ipython"])
    kernel.run(SLOW)
    begin = time.monotonic()
    msg_id = kernel.send("shell", "complete_request", {"code": "slow.", "cursor_pos": 5})
    reply = kernel.reply("shell", msg_id)
    kernel.iopub(msg_id)
    assert 4 < time.monotonic() - begin < 20
    assert reply.content["status"] in ("ok", "error") and reply.content["matches"] == []
    reply = kernel.ask("shell", "complete_request", {"code": "SLO", "cursor_pos": 3})
    assert reply.content["status"] == "ok"
    assert kernel.run("1 + 1") == [("result", {"text/plain": "2"})]


@pytest.mark.parametrize("hangs", ["Interpreter.complete", "api.classes.BaseName.type"])
def test_a_slow_jedi_costs_no_name_of_the_session(start, hangs):
    """The completer is interrupted; the names that it has from jedi come all the same."""
    kernel = start(args=["--shell=ipython"])
    kernel.run("import jedi, time\nalpha = albert = 5\n"
               f"jedi.{hangs} = property(lambda *args: time.sleep(600))")
    reply = kernel.ask("shell", "complete_request", {"code": "x = al", "cursor_pos": 6})
    assert {"alpha", "albert", "all"} <= set(reply.content["matches"])
    assert (reply.content["cursor_start"], reply.content["cursor_end"]) == (4, 6)
    assert kernel.run("1 + 1") == [("result", {"text/plain": "2"})]


def test_an_inspection_that_hangs_is_interrupted(start):
    kernel = start(args=["--shell=ipython"])
    kernel.run("import time\nclass A:\n    @property\n    def p(self): time.sleep(600)\na = A()")
    msg_id = kernel.send("shell", "inspect_request",
                         {"code": "a.p", "cursor_pos": 3, "detail_level": 0})
    reply = kernel.reply("shell", msg_id)
    kernel.iopub(msg_id)
    assert reply.content["status"] in ("ok", "error")
    assert kernel.run("1 + 1") == [("result", {"text/plain": "2"})]
