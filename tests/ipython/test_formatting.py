"""
Which formatters say what (python/einkorn/ipython/formatting.py): the cells of each table, one after
another in Einkorn and in the real ipykernel, show the same. What is registered, enabled, replaced or
changed between two displays counts at once.
"""

import pytest

from differential import REPLACED

SETUP = """\
ip = get_ipython()
F = ip.display_formatter.formatters
class A:
    def _repr_html_(self): return '<b>a</b>'
class B(A): pass
class Plain: pass
class Meta(type):
    def _repr_html_(self): return 'of the metaclass'
class Metered(metaclass=Meta):
    def __repr__(self): return 'metered'
a, b, p = A(), B(), Plain()
def both(value): display(value); return value
"""
SAID = {
    "printers for types": (
        "F['text/html'].for_type(A, lambda v: 'by type')", "both(b)", "both(a)",
        "F['image/png'].for_type(Plain, lambda v: (b'png', {'width': 1}))", "both(p)", "display(1, p)",
        "F['text/latex'].for_type(int, lambda v: f'${v}$')", "7", "display(True)", "[7]", "7.5",
        "F['text/latex'].pop(int); F['image/png'].pop(Plain); F['text/html'].pop(A);", "7", "both(p)",
        "both(b)",
    ),
    "printers for names": (
        "F['text/html'].for_type_by_name('__main__', 'Plain', lambda v: 'by name')", "both(p)",
        "F['text/markdown'].for_type('__main__.A', lambda v: 'by one name')", "both(b)",
        "F['text/html'].for_type_by_name('datetime', 'date', lambda v: f'<i>{v}</i>')",
        "import datetime\ndatetime.date(2020, 1, 2)", "datetime.datetime(2020, 1, 2)",
        "F['text/html'].pop('__main__.Plain'); F['text/markdown'].pop(A);", "both(p)", "both(b)",
        "F['text/html'].type_printers[datetime.date](3)", "F['text/html'].deferred_printers",
    ),
    "printers for one object": (
        "F['text/html'].singleton_printers[id(None)] = lambda v: 'nothing'", "display(None)",
        "display(None, p)", "F['text/html'].singleton_printers.clear()", "display(None)",
        "F['text/html'].singleton_printers = {id(p): lambda v: 'this'}", "display(p, Plain())",
        "F['text/html'].singleton_printers = {}",
        "F['text/html'].type_printers = {Plain: lambda v: 'other table'}", "both(p)",
        "F['text/html'].type_printers = {}", "both(p)",
    ),
    "who shows itself": (
        "ip.display_formatter.ipython_display_formatter.for_type(Plain, lambda v: print('printed'))",
        "both(p)", "ip.display_formatter.ipython_display_formatter.enabled = False", "both(p)",
        "ip.display_formatter.ipython_display_formatter.enabled = True", "both(p)",
        "ip.display_formatter.ipython_display_formatter.pop(Plain);", "both(p)",
        "class Own:\n    def _ipython_display_(self): print('own')", "both(Own());",
        "class Own:\n    def _ipython_display_(self): raise NotImplementedError", "both(Own());",
    ),
    "bundles": (
        "ip.display_formatter.mimebundle_formatter.for_type(Plain, lambda v: {'a/b': 1, 'text/html': 'b'})",
        "both(p)", "F['text/html'].for_type(Plain, lambda v: 'before the bundle')", "both(p)",
        "display(p, include=['a/b'])", "display(p, exclude=['a/b', 'text/plain'])",
        "F['text/html'].pop(Plain); ip.display_formatter.mimebundle_formatter.enabled = False", "both(p)",
        "ip.display_formatter.mimebundle_formatter.enabled = True",
        "ip.display_formatter.mimebundle_formatter.pop(Plain);", "both(p)",
        "class Bundle:\n"
        "    def _repr_mimebundle_(self, include, exclude):\n"
        "        F['text/html'].for_type(Bundle, lambda v: 'registered meanwhile')\n"
        "        return {'text/html': 'bundle', 'c/d': str((include, exclude))}, {'c/d': {'m': 1}}",
        "display(Bundle(), include=['text/html', 'c/d'])", "F['text/html'].pop(Bundle);",
    ),
    "what is active": (
        "F['text/html'].enabled = False", "both(a)", "F['text/html'].enabled = True", "both(a)",
        "ip.display_formatter.active_types = ['text/plain', 'image/png']", "both(a)",
        "ip.display_formatter.active_types = ip.display_formatter.format_types", "both(a)",
        "F['text/html'].print_method = '_html'", "both(a)", "a._html = lambda: 'another name'; both(a)",
        "F['text/html'].print_method = '_repr_html_'; del a._html", "both(a)",
        "%config DisplayFormatter.active_types = ['text/plain']", "both(a)",
        "ip.display_formatter.active_types = ip.display_formatter.format_types",
        "%config DisplayFormatter.active_types",
    ),
    "formatters of others": (
        "from IPython.core.formatters import BaseFormatter, HTMLFormatter\n"
        "class Mine(BaseFormatter):\n"
        "    format_type = 'x/mine'\n    print_method = '_repr_mine_'\n    _return_type = (str, int)",
        "mine = Mine(parent=ip.display_formatter); F['x/mine'] = mine", "both(p)",
        "Plain._repr_mine_ = lambda self: 'mine'", "both(p)", "mine.for_type(int, lambda v: v + 1)",
        "both(3)", "del F['x/mine'], Plain._repr_mine_", "both(p)",
        "class Loud(HTMLFormatter):\n    def __call__(self, obj): return f'loud {type(obj).__name__}'",
        "F['text/html'] = Loud(parent=ip.display_formatter)", "both(p)", "both(3)",
        "class Looking(HTMLFormatter):\n"
        "    def lookup(self, obj): return lambda obj: 'looked up'",
        "F['text/html'] = Looking(parent=ip.display_formatter)", "both(p)",
        "F['text/html'] = HTMLFormatter(parent=ip.display_formatter)", "both(p)",
        "ip.display_formatter.formatters = {k: v for k, v in F.items() if k != 'text/html'}", "both(a)",
        "ip.display_formatter.formatters = F", "both(a)",
    ),
    "what is put in IPython's place": (
        "from IPython.core import formatters\nold = formatters.BaseFormatter.__call__\n"
        "formatters.BaseFormatter.__call__ = lambda self, obj: f'all of {self.format_type}'",
        "both(p)", "formatters.BaseFormatter.__call__ = old", "both(p)",
        "old = formatters.BaseFormatter.lookup\n"
        "formatters.BaseFormatter.lookup = lambda self, obj: lambda obj: None", "both(a)",
        "formatters.BaseFormatter.lookup = old", "both(a)",
        "old = formatters.DisplayFormatter.format\n"
        "formatters.DisplayFormatter.format = lambda self, obj, include=None, exclude=None: ({'x/y': 1}, {})",
        "both(a)", "formatters.DisplayFormatter.format = old", "both(a)",
        "ip.display_formatter.format = lambda obj, include=None, exclude=None: ({'z/z': 2}, {})", "both(a)",
        "del ip.display_formatter.format", "both(a)",
        "kept = ip.display_formatter; ip.display_formatter = formatters.DisplayFormatter(parent=ip)",
        "both(a)", "ip.display_formatter = kept", "type(kept)", "type(kept).__name__, kept",
        "published = []; publish = ip.display_pub.publish\n"
        "ip.display_pub.publish = lambda data, metadata=None, **k: published.append((data, metadata, k))",
        "display(a, metadata={'m': 1}, display_id='d')", "ip.display_pub.publish = publish\npublished",
        "import IPython.display as D\nold = D.display\nD.display = lambda *a, **k: print('not shown')",
        "D.display(a)", "D.display = old", "both(a)",
    ),
    "classes that change": (
        "Plain._repr_html_ = lambda self: 'given later'", "both(p)", "del Plain._repr_html_", "both(p)",
        "p._repr_latex_ = lambda: '$p$'", "both(p)", "del p._repr_latex_", "both(p)",
        "p._repr_html_ = None", "both(p)", "p._repr_html_ = 'no method'", "both(p)", "del p._repr_html_",
        "Plain.__getattr__ = lambda self, name: print(name)", "both(p)",
        "Plain.__getattr__ = lambda self, name: (lambda *a, **k: name)", "both(p)",
        "del Plain.__getattr__", "both(p)", "p.__class__ = A", "both(p)", "p.__class__ = Plain",
        "class Grows:\n"
        "    def _repr_html_(self): type(self)._repr_markdown_ = lambda self: 'grown'; return 'grows'",
        "both(Grows())", "class Empty:\n    __slots__ = ('_repr_html_',)\ne = Empty()", "both(e)",
        "e._repr_html_ = lambda: 'in a slot'", "both(e)",
    ),
    "values of all kinds": (
        "A", "Metered", "Metered()", "both(A.__dict__)", "import types\ntypes.SimpleNamespace(_repr_html_=lambda: 'x')",
        "class Asked:\n"
        "    @property\n    def _repr_html_(self): print('asked'); return lambda: 'property'\n"
        "    @property\n    def _repr_png_(self): raise ValueError('nobody sees this')", "both(Asked())",
        "class L(list):\n    def _repr_html_(self): return 'list'\n    def _repr_pretty_(self, p, cycle): p.text('L')",
        "both(L([1]))", "class I(int):\n    def _repr_latex_(self): return '$i$'", "both(I(3))",
        "class E(Exception):\n    def _repr_html_(self): return 'error'", "both(E('e'))",
        "import unittest.mock as m\nboth(m.Mock(name='m')).__class__", "import weakref\nweakref.proxy(a) and None",
        "display(weakref.proxy(a))", "import math\ndisplay(math, math.sin, ..., b'', {1, 2}, range(3))",
        "class S:\n    @staticmethod\n    def _repr_html_(): return 'static'\n"
        "    @classmethod\n    def _repr_markdown_(cls): return cls.__name__", "both(S())", "both(S)",
    ),
    "what fails": (
        "import warnings; warnings.simplefilter('always')",
        "class Broken:\n"
        "    def _repr_html_(self):\n        raise ValueError('html')\n"
        "    def _repr_png_(self):\n        raise NotImplementedError\n"
        "    def _repr_markdown_(self):\n        return 3\n"
        "    def _repr_latex_(self):\n        return 'latex'", "display(Broken())",
        "F['text/html'].for_type(Plain, lambda v: v.missing);", "display(p)",
        "F['text/html'].for_type(Plain, lambda v: 3);", "display(p)", "F['text/html'].pop(Plain);",
        "class Json:\n    def _repr_json_(self):\n        return 'text'", "display(Json())",
        "class Bad:\n    def _repr_mimebundle_(self, include=None, exclude=None):\n        return 3",
        "display(Bad())",
    ),
    "captured": (
        "%%capture c\ndisplay(a, metadata={'m': 1}); both(p)\nb", "[o.data for o in c.outputs], c.outputs[0].metadata",
        "c.show()", "from IPython.utils.capture import capture_output\nwith capture_output() as o:\n    display(a)",
        "o.outputs[0]", "ip.user_expressions({'a': 'a', 'p': 'p'})",
    ),
}  # fmt: skip


@pytest.mark.parametrize("table", SAID)
def test_formatters_say_what_they_say_in_ipykernel(pair, table):
    pair.same(SETUP)
    for cell in SAID[table]:
        pair.same(cell, replaced=(*REPLACED, (r"id='\d+'", "id='…'")))  # of a mock
