"""The text of cells, for those who look for it."""

import pytest

DEFINE = '''import inspect
def area(r):
    """doc"""
    return 3 * r
class Box:
    side = 2
    def vol(self):
        return self.side ** 3
class Empty:
    tag = "x"'''


def test_inspect_finds_functions_methods_and_classes(shell):
    """C030."""
    results = shell(
        DEFINE, "print(inspect.getsource(area))", "print(inspect.getsource(Box.vol))",
        "print(inspect.getsource(Box))", "print(inspect.getsource(Empty))",
        "old = area\ndef area(r):\n    return 4 * r",
        "print(inspect.getsource(old))\nprint(inspect.getsource(area))\n"
        "print(old.__code__.co_filename != area.__code__.co_filename)",
        "print(inspect.getsourcelines(area)[1], area.__module__, Box.__module__)",
    )  # fmt: skip
    assert results[1].stdout == 'def area(r):\n    """doc"""\n    return 3 * r\n\n'
    assert results[2].stdout == "    def vol(self):\n        return self.side ** 3\n\n"
    assert results[3].stdout == (
        "class Box:\n    side = 2\n    def vol(self):\n        return self.side ** 3\n\n"
    )
    assert results[4].stdout == 'class Empty:\n    tag = "x"\n\n'
    assert results[6].stdout == (
        'def area(r):\n    """doc"""\n    return 3 * r\n\ndef area(r):\n    return 4 * r\n\nTrue\n'
    )
    assert results[7].stdout == "2 __main__ __main__\n"


CLASSES = [
    # cells, expression that is a class, its text (None: OSError)
    (["class A:\n    x = 1", "old = A", "class A:\n    x = 2"], "old", None),
    (["class A:\n    x = 1", "old = A", "class A:\n    x = 2"], "A", None),
    (["class A:\n    def f(self): 1", "old = A\nclass A:\n    def f(self): 2"], "old",
     "class A:\n    def f(self): 1\n"),
    (["class A:\n    def f(self): 1\nold = A\nclass A:\n    def f(self): 2"], "old",
     "class A:\n    def f(self): 1\n"),
    (["class A:\n    def f(self): 1\nold = A\nclass A:\n    def f(self): 2"], "A",
     "class A:\n    def f(self): 2\n"),
    (["def deco(c): return c\n@deco\nclass A:\n    class B:\n        y = 1"], "A",
     "@deco\nclass A:\n    class B:\n        y = 1\n"),
    (["class A:\n    class B:\n        y = 1\nclass B: pass"], "A.B", "    class B:\n        y = 1\n"),
    (["def f():\n    class L: z = 1\n    return L\nl = f()"], "l", "    class L: z = 1\n"),
    (["class A:\n    @property\n    def p(self): 1"], "A", "class A:\n    @property\n    def p(self): 1\n"),
    (["import dataclasses\n@dataclasses.dataclass\nclass D:\n    a: int = 0"], "D",
     "@dataclasses.dataclass\nclass D:\n    a: int = 0\n"),
    (["T = type('T', (), {})"], "T", None),
    (["import collections\nN = collections.namedtuple('N', 'a')"], "N", None),
]  # fmt: skip


@pytest.mark.parametrize("cells, name, text", CLASSES)
def test_the_text_of_a_class_is_never_another_ones(shell, cells, name, text):
    result = shell(*cells, f"import inspect\ntry:\n    print(inspect.getsource({name}), end='')\n"
                   "except OSError as e:\n    print('OSError', e)")[-1]  # fmt: skip
    assert result.stdout == ("OSError source code not available\n" if text is None else text)


def test_every_execution_has_a_file_name_of_its_own(shell):
    results = shell("1", {"code": "2", "store": False}, {"code": "3", "store": False}, "4",
                    {"code": "def f(): 1/0", "store": False}, "f()")  # fmt: skip
    assert [item["file"] for item in results[:5]] == [
        "<cell 1>", "<cell 1 run 2>", "<cell 1 run 3>", "<cell 2>", "<cell 2 run 2>",
    ]  # fmt: skip
    assert "Cell In[2], line 1, in f()\n----> 1 def f(): 1/0" in results[5].plain


def test_linecache_keeps_the_cells(shell):
    results = shell(
        "def f():\n    return 1\r\n# end", "import linecache\nlinecache.checkcache()\n"
        "linecache.getlines('<cell 1>'), linecache.getline('<cell 2>', 1)",
        "linecache.clearcache()", "linecache.getline('<cell 1>', 2)",
    )  # fmt: skip
    assert results[1].text == (
        "(['def f():\\n', '    return 1\\n', '# end\\n'], 'import linecache\\n')"
    )
    assert results[3].text == "'    return 1\\n'"


def test_warnings_show_the_line_of_the_cell(shell):
    result = shell("import warnings\nwarnings.warn('look')  # here")[0]
    assert result.stderr == (
        "<cell 1>:2: UserWarning: look\n  warnings.warn('look')  # here\n"
    )


def test_the_oldest_texts_are_dropped(shell):
    results = shell(
        "import inspect, sys\ndef f(): pass\nclass A:\n    x = 1", *["pass"] * 1000,
        "try:\n    inspect.getsource(f)\nexcept OSError: print('gone')\n"
        "try:\n    inspect.getsource(A)\nexcept OSError: print('gone')",
        "s = '''" + "x" * 10_000_001 + "'''", "len(sys.modules['einkorn.sources'].names())",
        "def f(): 1/0", "f()",
    )  # fmt: skip
    assert results[1001].stdout == "gone\ngone\n"
    assert results[1003].text == "1"
    assert "----> 1 def f(): 1/0" in results[-1].plain


def test_pdb_stops_in_the_cell_and_shows_it_on_top(shell):
    """C023."""
    code = "def g(a):\n    b = a + 1\n    breakpoint()\n    return b\nprint(g(1))"
    results = shell(
        {"answers": ["p b", "w", "c"]}, code, {"answers": ["p b", "q"]}, code, 'print("fine")',
        {"answers": ["n"] * 9}, code, "print(1)\nprint(2)",
    )  # fmt: skip
    asked = results[1].of("input_request")
    assert [(item["prompt"], item["password"]) for item in asked] == [("(Pdb) ", False)] * 3
    lines = results[1].stdout.split("\n")
    assert "2" in lines and lines[-2:] == ["2", ""]
    stack = [line for line in lines if "<cell 1>(" in line]
    assert any(line == "  <cell 1>(5)<module>()" for line in stack)
    assert "fake_runner" not in results[1].stdout and "<string>" not in results[1].stdout
    assert "-> print(g(1))" in lines
    assert results[3]["ename"] == "BdbQuit" and results[4].stdout == "fine\n"
    assert results[7].stdout == "1\n2\n" and results[7].of("input_request") == []


def test_stepping_past_the_end_of_a_cell_ends_the_debugging(shell):
    results = shell(
        {"answers": []},
        "import pdb, sys\np = pdb.Pdb()\np.reset()\np.set_step()\nsys.settrace(p.trace_dispatch)",
        "def f(): return 1\nf()", "sys.gettrace()",
    )  # fmt: skip
    assert [item["status"] for item in results[1:]] == ["ok"] * 3
    assert results[2].text == "1" and results[2].of("input_request") == []
