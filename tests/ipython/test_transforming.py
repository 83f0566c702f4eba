"""
What becomes of a cell before it is compiled (python/einkorn/ipython/transforming.py): what IPython's
own TransformerManager makes of it, also where it is left alone without being tokenized.
"""

import json

import pytest

# By what they have: something to transform, or what only looks like it.
SPECIAL = [
    "if 1:\n    %time 1\n    x = 2", "if 1:\n    !ls", "x = !ls", "x =!ls", "%time 1\nx = !ls", "!ls\\\n!ls",
    "!ls ?.py", "x = \\\n !ls", "x = %time 1", "x =\\\n    %time 1", "a = b = !ls", "x?", "x ? ", "?x", "x.y??",
    "f(\n1)?", "%time?", ",f a b", ";f a b", "/f a b", "\\\n%time 1", "for i in x:\n    i?\n", "%time f(\n1)?",
    "x = '''\n?\n'''; y?", "'''a\n%time 1\n'''\n%time 2", "(a\n%b)\n%time 1", "x\\\n?", "x =\xa0!ls",
    "a\u2028%time 1", "%time 1\u2028", "x = 1\r\n%time 1\r\n", "%time 1\r\n", "%a\n!b\nx?\ny = !z",
    "%time f(\n%time 1\nx = %time 2", "%time 1 \\\n  2", "'\n%time 1", "f(\n%time 1", "if 1:\n        x\n    y",
    "if (1 and\n    2):\n        x\n   y", "%a\n    if 1:\n  x", "%a\nx = ''' \n!b\n'''\n!c",
    "%time '''\nx = %time 1\n'''", "!= 2", "% time 1", "%-x", "!{x}", "!/bin/ls", "! ls",
]
COMMANDS = [  # in lines that nothing before them can take in
    "%time 1", "  %time 1", "!ls", "\n\n%time 1", "\t%time 1", "\x0c%time 1", ">>> %time 1", "In [1]: !ls",
    "%_x", "%a\n!b\n%c", "%matplotlib inline\nimport numpy as np\nif 1:\n    x = 'a'", "%time it's\ny = 1",
    '!echo "a\n%b', "%time f(\n1)", "!pip install a==1 'b>=2'  # c", "%time x = %timeit 1", "!x = !y\nz",
    "%time 1\n\n\nx\n", "%a 'é' \\n \\ \n%b", "%time '''\nx", "%time 1\n    x = 1\n    y",
    "%time {1: '%d' % 2}[1]\nx = a % b",
]
LEFT_ALONE = [
    "pass", "x = 1\ny = x\n", "a % b", "a != b", "'%d' % 3", "f'{x!r} {y:%Y}'", "'what?' in x", "x?'", "%%time\n1",
    "if a:\n    b\nelif c:\n        d\nelse:\n    e", "f(a,\n  b,\n  c)\nd", "x = [\n    1,\n    2,\n]\n",
    "def f(a, /, b): return a / b\n", "a; b;", "# 100%\nx", "class A:\n\n    def f(self):\n        pass\n\n    b = 1",
]
TOKENIZED = ["x = '''\n%time\n'''", "(a\n% b)", "# what?\nx", "x = 'a=%b'", "x = (1,\n     2\n   , 3)", "if 1:\n\tx"]

COMPARE = """\
import json
from IPython.core import inputtransformer2
mine, stock = get_ipython().input_transformer_manager, inputtransformer2.TransformerManager()
def made(manager, cell):
    tokenized.clear()
    try:
        return manager.transform_cell(cell), bool(tokenized)
    except Exception as error:
        return repr(error), bool(tokenized)
tokenized, make = [], inputtransformer2.make_tokens_by_line
def counting(lines):
    tokenized.append(lines)
    return make(lines)
"""


def both(kernel, cell):
    """What ours and IPython's make of a cell, and whether ours had to tokenize it."""
    kernel.run(COMPARE + "inputtransformer2.make_tokens_by_line = counting")
    try:
        text = kernel.execute(f"print(json.dumps([made(mine, {cell!r}), made(stock, {cell!r})]))").stdout
    finally:
        kernel.run("inputtransformer2.make_tokens_by_line = make")
    (ours, did), (theirs, _) = json.loads(text)
    return ours, theirs, did


@pytest.mark.parametrize("cell", SPECIAL + TOKENIZED)
def test_becomes_what_ipython_makes_of_it(kernel, cell):
    ours, theirs, tokenized = both(kernel, cell)
    assert ours == theirs
    assert tokenized


@pytest.mark.parametrize("cell", COMMANDS)
def test_commands_at_the_start_are_found_without_tokenizing(kernel, cell):
    ours, theirs, tokenized = both(kernel, cell)
    assert ours == theirs
    assert "get_ipython()" in ours and not tokenized


@pytest.mark.parametrize("cell", LEFT_ALONE)
def test_is_left_alone_without_being_tokenized(kernel, cell):
    ours, theirs, tokenized = both(kernel, cell)
    assert ours == theirs
    assert not tokenized


def test_a_transformer_of_the_users_sees_every_cell(kernel):
    kernel.run("from IPython.core.inputtransformer2 import TokenTransformBase\n"
               "class Answer(TokenTransformBase):\n"
               "    @classmethod\n"
               "    def find(cls, lines):\n"
               "        found = [t for line in lines for t in line if t.string == 'QUESTION']\n"
               "        return cls(found[0].start) if found else None\n"
               "    def transform(self, lines):\n"
               "        return [line.replace('QUESTION', '42') for line in lines]\n"
               "get_ipython().input_transformer_manager.token_transformers.append(Answer)")
    try:
        assert kernel.execute("print(QUESTION)").stdout == "42\n"
    finally:
        kernel.run("get_ipython().input_transformer_manager.token_transformers.pop();")


def test_is_ipythons_in_name(kernel):
    code = "print(type(get_ipython().input_transformer_manager))"
    assert kernel.execute(code).stdout == "<class 'IPython.core.inputtransformer2.TransformerManager'>\n"
