"""
The values that must look the same under IPython and before it is loaded.

A cell each; its last line is the expression that is shown. The first table is that of the values
which must not load IPython for that, the second one that of those which may, because the plain
shell does not know how IPython shows them.
"""

LIGHT = {
    "none": "None",
    "true": "True",
    "int": "-42",
    "long int": "7 ** 500",
    "float": "0.1 + 0.2",
    "huge float": "1e300",
    "nan": "float('nan')",
    "infinity": "-float('inf')",
    "minus zero": "-0.0",
    "complex": "complex(-0.0, float('nan'))",
    "empty str": "''",
    "str of both quotes": "'it\\'s \"so\"'",
    "str of odd characters": "'\\x00\\x1b[31m\\x85\\u2028\\udc80\\u200b\\U0001f600 \\xad'",
    "str of lines": "'a\\nb\\r\\nc\\n'",
    "long str": "'word ' * 100",
    "bytes": "bytes(range(256))",
    "empty list": "[]",
    "list": "[1, 2.5, 'three', None, b'4', 5j, True]",
    "empty tuple": "()",
    "tuple of one": "(1,)",
    "empty dict": "{}",
    "dict": "{'a': 1, 2: 'b', None: [1, (2, {})], (1, 2): 3.0}",
    "79 wide": "['x' * 75]",
    "same list twice": "a = [1]\n[a, a]",
    "one-line repr": "class A:\n    def __repr__(self): return '<one line>'\nA()",
    "inherited repr": """
class A:
    def __repr__(self): return f'<a {type(self).__name__}>'
class B(A): pass
B()""",
    "wide repr": "class A:\n    def __repr__(self): return 'x ' * 100\nA()",
    "repr with tabs": "class A:\n    def __repr__(self): return '\\tx\\x1b[1m'\nA()",
    "int with a repr": "class A(int):\n    def __repr__(self): return f'A({int(self)})'\nA(3)",
    "list with a repr": "class A(list):\n    def __repr__(self): return 'mine'\nA([1])",
    "dict with a repr": "class A(dict):\n    def __repr__(self): return 'mine'\nA(a=1)",
    "exception with a repr": "class A(Exception):\n    def __repr__(self): return 'oops'\nA(1)",
    "class of a metaclass with a repr": """
class M(type):
    def __repr__(cls): return f'<the class {cls.__name__}>'
class A(metaclass=M): pass
A""",
    "slots": "class A:\n    __slots__ = ('a',)\n    def __repr__(self): return 'slots'\nA()",
    "dataclass": "import dataclasses\n@dataclasses.dataclass\nclass A:\n    a: int = 1\n"
                 "    b: str = 'x'\nA()",
    "wide dataclass": "import dataclasses\n@dataclasses.dataclass\nclass A:\n    a: list\n"
                      "A(list(range(60)))",
    "namedtuple": "import collections\ncollections.namedtuple('P', 'x y')(1, [2])",
    "enum": "import enum\nclass E(enum.Enum):\n    A = 1\nE.A",
    "enum class": "import enum\nclass E(enum.Enum):\n    A = 1\nE",
    "flag": "import enum\nclass E(enum.Flag):\n    A = 1\n    B = 2\nE.A | E.B",
    "decimal": "import decimal\ndecimal.Decimal('1.10')",
    "fraction": "import fractions\nfractions.Fraction(6, 4)",
    "path": "import pathlib\npathlib.Path('/tmp') / 'a b'",
    "uuid": "import uuid\nuuid.UUID(int=7)",
    "user dict": "import collections\nclass D(collections.UserDict):\n"
                 "    def __repr__(self): return 'user dict'\nD(a=1)",
    "mock": "import unittest.mock\nunittest.mock.Mock(name='m')",
    "magic mock": "import unittest.mock\nunittest.mock.MagicMock()",
    "array": "import array\narray.array('d', [1, 2])",
    "partial": "import functools\nfunctools.partial(int, base=2)",
    "thread": "import threading\nthreading.main_thread()",
    "html": """
class A:
    def _repr_html_(self): return '<b>a</b>'
    def __repr__(self): return 'A()'
A()""",
    "many representations": """
class A:
    def _repr_html_(self): return '<b>a</b>', {'isolated': True}
    def _repr_latex_(self): return '$a$'
    def _repr_markdown_(self): return '*a*'
    def _repr_svg_(self): return '<svg/>'
    def _repr_png_(self): return b'\\x89PNG', {'width': 3}
    def _repr_jpeg_(self): return b'jpeg'
    def _repr_pdf_(self): return b'pdf'
    def _repr_javascript_(self): return 'alert(1)'
    def _repr_json_(self): return {'a': [1]}
    def __repr__(self): return 'A()'
A()""",
    "json with metadata": """
class A:
    def _repr_json_(self): return {'a': 1}, {'expanded': True}
    def __repr__(self): return 'A()'
A()""",
    "mime bundle": """
class A:
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {'text/html': '<i>', 'x/y': {'a': 1}}, {'text/html': {'m': 1}}
    def _repr_html_(self): return 'not this'
    def __repr__(self): return 'A()'
A()""",
    "mime bundle with text": """
class A:
    def _repr_mimebundle_(self, **kwargs): return {'text/plain': 'from the bundle'}
    def __repr__(self): return 'A()'
A()""",
    "shows itself": """
class A:
    def _ipython_display_(self): print('shown')
    def __repr__(self): return 'A()'
A()""",
    "nothing to show as html": """
class A:
    def _repr_html_(self): return None
    def _repr_latex_(self): raise NotImplementedError
    def __repr__(self): return 'A()'
A()""",
    "every attribute": """
class A:
    def __getattr__(self, name): return lambda *a, **k: name
    def __repr__(self): return 'A()'
A()""",
    "html of the instance": """
class A:
    def __repr__(self): return 'A()'
a = A()
a._repr_html_ = lambda: '<b>'
a""",
    "numpy scalar": "import numpy\nnumpy.float32(0.1)",
    "numpy array": "import numpy\nnumpy.arange(6).reshape(2, 3)",
    "long numpy array": "import numpy\nnumpy.arange(100)",
    "big numpy array": "import numpy\nnumpy.zeros((2000, 2000))",
    "sympy": "import sympy\nsympy.Symbol('x') ** 2",
    "instance": "class A: pass\nA()",
    "nested class": "class A:\n    class B: pass\nA.B()",
    "object": "object()",
    "abstract instance": "import collections.abc\nclass A(collections.abc.Sized):\n"
                         "    def __len__(self): return 0\nA()",
    "instance of two classes": "class A: pass\nclass B(A): __slots__ = ('a',)\nB()",
    "instance of a class in a function": "def f():\n    class A: pass\n    return A()\nf()",
    "instance with an odd name": "type('a\\n b', (), {})()",
    "instance of a module that is not named": "class A: __module__ = 'exceptions'\nA()",
    "instance of a library's class": "import string\nstring.Formatter()",
    "instance with html": "class A:\n    def _repr_html_(self): return '<b>x</b>'\nA()",
    "instance with every representation but a text": """
class A:
    def _repr_mimebundle_(self, include=None, exclude=None): return {'a/b': 1}, {'a/b': {'m': 2}}
    def _repr_png_(self): return b'png', {'width': 1}
    def _repr_latex_(self): return '$x$'
A()""",
    "repr that is object's": "class A:\n    __repr__ = object.__repr__\nA()",
}

HEAVY = {
    "wide list": "list(range(60))",
    "80 wide": "['x' * 76]",
    "wide nested": "[list(range(30)), {'a': list(range(30)), 'b': ('x' * 30, 'y' * 50)}, (1,)]",
    "very long list": "list(range(1500))",
    "1000 items": "[0] * 1000",
    "1001 items": "[0] * 1001",
    "wide tuple": "tuple('word' * 3 for _ in range(12))",
    "wide tuple of one": "('x' * 90,)",
    "wide dict": "{f'key {n}': 'value ' * n for n in range(8)}",
    "very long dict": "dict.fromkeys(range(1500))",
    "dict of wide keys": "{('x' * 50, 'y' * 50): ('a' * 50, 'b' * 50)}",
    "recursive list": "a = [1]\na.append(a)\na",
    "recursive dict": "a = {}\na['a'] = a\na",
    "recursive tuple": "a = []\nb = (a, 1)\na.append(b)\nb",
    "list of others": "[range(3), int, len, {3, 1, 2}, ...]",
    "list of lines": "class A:\n    def __repr__(self): return 'a\\nb'\n[A(), A()]",
    "dict of lines": "class A:\n    def __repr__(self): return 'a\\nb'\n{'x': A()}",
    "set": "{3, 1, 2}",
    "empty set": "set()",
    "set of strings": "{'b', 'a', 'c'}",
    "set of anything": "{1, 'a', None}",
    "wide set": "set(range(100))",
    "frozenset": "frozenset({2, 1})",
    "empty frozenset": "frozenset()",
    "range": "range(1, 10, 2)",
    "slice": "slice(1, None, 2)",
    "ellipsis": "...",
    "not implemented": "NotImplemented",
    "class": "class A: pass\nA",
    "class of no module": "class A: __module__ = None\nA",
    "builtin class": "int",
    "class of a library": "import decimal\ndecimal.Decimal",
    "abstract class": "import abc\nclass A(abc.ABC): pass\nA",
    "function": "def f(a, *b, c: int = 3, **d) -> str: pass\nf",
    "lambda": "lambda x, y=[]: x",
    "local function": "def f():\n    def g(): pass\n    return g\nf()",
    "builtin": "len",
    "builtin without a signature": "print",
    "type's method": "str.join",
    "bound builtin": "[].append",
    "method": "class A:\n    def f(self): pass\nA().f",
    "class method": "class A:\n    @classmethod\n    def f(cls): pass\nA.f",
    "static method": "class A:\n    @staticmethod\n    def f(a): pass\nA.__dict__['f']",
    "property": "property()",
    "slot wrapper": "int.__add__",
    "generator": "(n for n in [])",
    "iterator": "iter([1])",
    "zip": "zip([1])",
    "coroutine": "async def f(): pass\nc = f()\nc.close()\nc",
    "async generator": "async def f(): yield\nf()",
    "code": "compile('1', 'x', 'eval')",
    "frame object": "import sys\nsys._getframe().f_back.__class__",
    "module": "import math\nmath",
    "type": "type",
    "super": "class A:\n    def f(self): return super()\nA().f()",
    "memoryview": "memoryview(b'abc')",
    "bytearray": "bytearray(b'a\\x00')",
    "pattern": "import re\nre.compile(r'a\\d\"', re.I | re.M)",
    "pattern of bytes": "import re\nre.compile(b'\\\\w+')",
    "match": "import re\nre.match('a+', 'aaab')",
    "date": "import datetime\ndatetime.date(2020, 1, 2)",
    "time": "import datetime\ndatetime.time(1, 2)",
    "datetime": "import datetime\ndatetime.datetime(2020, 1, 2, tzinfo=datetime.timezone.utc)",
    "timedelta": "import datetime\ndatetime.timedelta(days=-1, seconds=5)",
    "int enum": "import enum\nclass E(enum.IntEnum):\n    A = 1\nE.A",
    "str enum": "import enum\nclass E(str, enum.Enum):\n    A = 'a'\nE.A",
    "int flag": "import enum\nclass E(enum.IntFlag):\n    A = 1\n    B = 2\nE.A | E.B",
    "simple namespace": "import types\ntypes.SimpleNamespace(a=1, b='x' * 80)",
    "recursive namespace": "import types\na = types.SimpleNamespace()\na.a = a\na",
    "exception": "ValueError('no', 3)",
    "exception without arguments": "KeyError()",
    "user exception": "class E(Exception): pass\nE('no')",
    "wide exception": "ValueError('x' * 50, 'y' * 50)",
    "exception group": "ExceptionGroup('both', [ValueError(1), KeyError('k')])",
    "os error": "OSError(2, 'no', 'file')",
    "unicode error": "UnicodeDecodeError('utf-8', b'\\xff', 0, 1, 'bad')",
    "default dict": "import collections\ncollections.defaultdict(list, a=[1])",
    "ordered dict": "import collections\ncollections.OrderedDict(a=1, b=2)",
    "deque": "import collections\ncollections.deque([1, 2], maxlen=3)",
    "counter": "import collections\ncollections.Counter('abca')",
    "chain map": "import collections\ncollections.ChainMap({'a': 1}, {})",
    "user list": "import collections\ncollections.UserList([1])",
    "recursive default dict": "import collections\na = collections.defaultdict(int)\na[1] = a\na",
    "mapping proxy": "import types\ntypes.MappingProxyType({'a': 1})",
    "environ": "import os\ne = os.environ\n"
               "type(e)({b'A': b'b'}, e.encodekey, e.decodekey, e.encodevalue, e.decodevalue)",
    "type alias": "list[int]",
    "typing alias": "import typing\ntyping.Dict[str, typing.Optional[int]]",
    "union": "int | None",
    "type variable": "import typing\ntyping.TypeVar('T')",
    "dict keys": "{'a': 1}.keys()",
    "dict items": "{'a': 1}.items()",
    "weak reference": "import weakref\nclass A: pass\na = A()\nweakref.ref(a)",
    "lying class": """
class A:
    @property
    def __class__(self): return list
    def __iter__(self): return iter([1, 2])
    def __len__(self): return 2
    def __repr__(self): return 'the truth'
A()""",
    "pretty": """
class A:
    def _repr_pretty_(self, p, cycle):
        with p.group(2, 'A(', ')'):
            p.pretty(list(range(40)))
A()""",
    "pretty that is nothing": "class A:\n    _repr_pretty_ = None\n"
                              "    def __repr__(self): return 'A()'\nA()",
    "pretty below a repr": """
class A:
    def __repr__(self): return 'A()'
class B(A):
    def _repr_pretty_(self, p, cycle): p.text('pretty')
B()""",
    "subclass of int": "class A(int): pass\nA(3)",
    "subclass of str": "class A(str): pass\nA('a')",
    "subclass of list": "class A(list): pass\nA([1, 2])",
    "subclass of tuple": "class A(tuple): pass\nA((1,))",
    "subclass of dict": "class A(dict): pass\nA(a=1)",
    "subclass of set": "class A(set): pass\nA()",
    "subclass of float": "class A(float): pass\nA(1.5)",
    "subclass of a collection": "import collections\nclass A(collections.Counter): pass\nA('aab')",
    "repr that is none": "class A:\n    __repr__ = None\nA",
    "repr of a partial method": """
import functools
class A(list):
    def text(self, text): return text
    __repr__ = functools.partialmethod(text, 'partial')
A([1])""",
    "pretty of the instance": """
class A:
    def __repr__(self): return 'A()'
a = A()
a._repr_pretty_ = lambda p, cycle: p.text('of the instance')
a""",
    "html and every attribute": """
class A:
    def __getattr__(self, name): return lambda *a, **k: name
    def _repr_html_(self): return '<b>'
    def __repr__(self): return 'A()'
A()""",
    "html and some attributes": """
class A:
    def __getattr__(self, name): raise AttributeError
    def _repr_html_(self): return '<b>'
    def __repr__(self): return 'A()'
A()""",
    "numpy float": "import numpy\nnumpy.float64(0.1)",
    "numpy bool": "import numpy\nnumpy.bool_(True)",
    "numpy type": "import numpy\nnumpy.int8",
    "numpy function": "import numpy\nnumpy.mean",
    "ufunc": "import numpy\nnumpy.add",
    "list of arrays": "import numpy\n[numpy.zeros((2, 2)), numpy.ones(3)]",
    "dict of frames": "import pandas\n{'a': pandas.DataFrame({'a': [1]})}",
    "frame": "import pandas\npandas.DataFrame({'a': [1, 2], 'b': ['x', None]})",
    "series": "import pandas\npandas.Series([1.5, 2], name='s')",
    "empty frame": "import pandas\npandas.DataFrame()",
    "timestamp": "import pandas\npandas.Timestamp('2020-01-02')",
    "group by": "import pandas\npandas.DataFrame({'a': [1]}).groupby('a')",
    "struct time": "import time\ntime.gmtime(0)",
    "stat result": "import os\nos.stat_result(range(10))",
    "logger": "import logging\nlogging.Logger('x')",
    "lock": "import _thread\n_thread.allocate_lock()",
    "instance of no module": "class A: __module__ = None\nA()",
    "instance of a class with a repr": """
class M(type):
    def __repr__(self): return 'M'
class A(metaclass=M): pass
A()""",
    "instance of a pretty class": """
class M(type):
    def _repr_pretty_(self, p, cycle): p.text('M')
class A(metaclass=M): pass
A()""",
    "instance that passes for another": """
class A:
    @property
    def __class__(self): return int
A()""",
    "instance that is a proxy": """
class A:
    def __getattr__(self, name): return lambda *a, **k: name
    def _repr_html_(self): return '<b>'
A()""",
}

# Values whose text has lines: IPython may be loaded for them or not.
LINES = {
    "multi-line repr": "class A:\n    def __repr__(self): return 'a\\nbb\\n  c'\nA()",
    "trailing newlines": "class A:\n    def __repr__(self): return 'a\\n\\n'\nA()",
    "leading newline": "class A:\n    def __repr__(self): return '\\na'\nA()",
    "odd line ends": "class A:\n    def __repr__(self): return 'a\\r\\nb\\x0cc\\u2028d\\x85e'\nA()",
    "empty repr": "class A:\n    def __repr__(self): return ''\nA()",
    "newline only": "class A:\n    def __repr__(self): return '\\n'\nA()",
    "printing repr": "class A:\n    def __repr__(self): print('printed'); return 'A()'\nA()",
    "printing pretty": """
class A:
    def _repr_pretty_(self, p, cycle): print('printed'); p.text('A()')
A()""",
    "repr of a str subclass": """
class S(str):
    def splitlines(self): return ['lies']
    def isprintable(self): return True
class A:
    def __repr__(self): return S('a\\nb')
A()""",
}

# IPython cannot make a text of these: an error is published, and nothing or the rest is shown.
FAILING = {
    "mock with a spec": "import unittest.mock\nunittest.mock.Mock(spec=dict)",
    "failing class": """
class A:
    @property
    def __class__(self): raise ValueError
    def __repr__(self): return 'the truth'
A()""",
    "too long int": "10 ** 5000",
    "raising repr": "class A:\n    def __repr__(self): 1 / 0\nA()",
    "repr that is no text": "class A:\n    def __repr__(self): return 3\nA()",
    "raising html": "class A:\n    def _repr_html_(self): 1 / 0\n"
                    "    def __repr__(self): return 'A()'\nA()",
    "raising pretty": "class A:\n    def _repr_pretty_(self, p, cycle): 1 / 0\nA()",
    "html with a raising repr": "class A:\n    def _repr_html_(self): return '<b>'\n"
                                "    def __repr__(self): 1 / 0\nA()",
    "raising bundle": "class A:\n    def _repr_mimebundle_(self, **k): 1 / 0\n"
                      "    def __repr__(self): return 'A()'\nA()",
    "raising display": "class A:\n    def _ipython_display_(self): 1 / 0\n"
                       "    def __repr__(self): return 'A()'\nA()",
    "unimplemented repr": "class A:\n    def __repr__(self): raise NotImplementedError\nA()",
    "nested raising repr": "class A:\n    def __repr__(self): 1 / 0\n[1, A()]",
}
