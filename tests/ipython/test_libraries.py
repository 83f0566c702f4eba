"""
What libraries show (issue 6, "Display and comms"): each cell of the table, in Einkorn and in the real
ipykernel, must lead to the same messages.
"""

import pytest

from differential import REPLACED

# Of one run: ids that libraries make up, and how fast something went.
IDS = (
    *REPLACED,
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UUID"),
    (r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])", "ID"),
    (r"\bT_[0-9a-f]{5}(?=\b|_)", "T_ID"),  # of pandas
    (r"\b0x[0-9A-F]{6,}", "0x…"),  # of polars
    (r"\b\d{4}-\d\d-\d\dT[\d:.]+", "DATE"),
    (r"\b(altair-viz|p|m|id=.)-?[0-9a-f]{10,}\b", r"\1ID"),
    (r"\d\d:\d\d<\d\d:\d\d, +[\d.?]+[kM]?it/s", "RATE"),
    (r"\b\d{9,}\b", "NUMBER"),
)

SETUP = """\
import warnings; warnings.simplefilter('ignore')
import matplotlib.pyplot as plt, numpy as np
import pandas as pd
frame = pd.DataFrame({'grain': ['einkorn', 'emmer'], 'n': [14, 28]})
"""
CELLS = {
    "pandas": ("frame", "frame.style.highlight_max(subset='n')", "frame.n", "frame.T; frame.describe()",
               "pd.set_option('display.max_rows', 1); frame", "display(frame, frame.n)",
               "pd.options.display.html.table_schema = True", "frame",
               "pd.options.display.html.table_schema = False"),
    "polars": ("import polars", "polars.DataFrame({'a': [1, 2]})", "polars.Series([1])",
               "polars.DataFrame({'a': [1]}).lazy()", "polars.col('a') + 1"),
    "sympy": ("import sympy", "x = sympy.Symbol('x'); x ** 2", "sympy.init_printing(); x ** 2 / 3",
              "sympy.Matrix([[x, 1], [2, x]])", "[x, {x: 1}]", "sympy.init_printing(pretty_print=False); x / 2",
              "sympy.init_session(quiet=True)"),
    "plotly": ("import plotly.graph_objects as go, plotly.io", "figure = go.Figure(go.Bar(y=[1, 2]))",
               "plotly.io.renderers", "figure", "figure.show()", "figure.show(renderer='json')"),
    "altair": ("import altair", "altair.Chart(frame).mark_bar().encode(x='grain', y='n')",
               "altair.renderers.enable('mimetype')", "altair.Chart(frame).mark_bar().encode(x='grain')",
               "altair.renderers.enable('default')", "altair.Chart(frame).mark_point()"),
    "bokeh": ("from bokeh.io import output_notebook, show, push_notebook", "output_notebook(hide_banner=True)",
              "from bokeh.plotting import figure", "f = figure(); f"),
    "seaborn": ("import seaborn", "seaborn.color_palette('deep', 3)", "seaborn.barplot(frame, x='grain', y='n')",
                "seaborn.set_theme(); plt.plot([1, 2])",
                "import seaborn.objects as so; so.Plot(frame, x='n', y='n').add(so.Dot())"),
    "matplotlib": ("plt.plot([1, 2])", "figure, axes = plt.subplots(); axes.plot([2, 1])", "figure",
                   "plt.figure(); plt.figure()", "plt.plot([1]); plt.show(); print('then')", "plt.plot([1]); plt.close()",
                   "%config InlineBackend.figure_formats = ['svg', 'png']", "plt.plot([3, 4]);",
                   "%config InlineBackend.figure_formats = ['png']",
                   "from matplotlib.animation import FuncAnimation\n"
                   "figure, axes = plt.subplots()\n(line,) = axes.plot([1, 2])\n"
                   "animation = FuncAnimation(figure, lambda n: (line.set_ydata([n, 1]),), frames=2)\nplt.close()",
                   "from IPython.display import HTML; HTML(animation.to_jshtml(embed_frames=True))",
                   "plt.plot([1, 2]); 1 / 0", "plt.rcParams['figure.figsize'], plt.get_backend()"),
    "tqdm": ("import sys\nfrom tqdm import tqdm, trange", "for _ in tqdm(range(3), bar_format='{l_bar}{n}', position=1, file=sys.stdout): print('x')",
             "from tqdm.auto import tqdm as auto; auto.__module__", "from tqdm.autonotebook import tqdm as a; a.__module__",
             "tqdm.write('a line')"),
    "rich": ("import rich, rich.pretty, rich.traceback", "rich.print('[bold]bold[/bold]', {'a': [1, 2]})",
             "from rich.table import Table; t = Table('a', 'b'); t.add_row('1', '2'); t", "rich.print(t)",
             "rich.pretty.install(); {'a': list(range(3))}", "'text'", "list(range(40))",
             "from rich.console import Console; Console().rule('title')",
             "from rich.progress import track\nfor _ in track(range(2), disable=True): pass",
             "rich.inspect(3, all=False)"),
    "IPython.display": (
        "from IPython.display import *\nfrom IPython.display import display, clear_output, update_display",
        "HTML('<b>b</b>')", "Markdown('*m*')", "Latex('$x$')", "Math('x')", "SVG('<svg></svg>')", "JSON({'a': 1}, expanded=True)",
        "Javascript('1', lib='a.js')", "Image(data=b'\\x89PNG\\r\\n\\x1a\\n' + bytes(30), width=3)", "Image(url='http://a/b.png')",
        "Audio(np.zeros(10), rate=8000)", "Video('http://a/b.mp4')", "IFrame('http://a', 1, 2)", "YouTubeVideo('abc')",
        "FileLink('none')", "FileLinks('.')", "Code('x = 1', language='python')", "Pretty('p')", "ProgressBar(3)",
        "GeoJSON({'type': 'Point'})", "TextDisplayObject('t')", "display({'text/plain': 'raw', 'a/b': 1}, raw=True, metadata={'m': 1})",
        "h = display('one', display_id='d'); h.update('two'); h", "h.display('three')", "update_display('four', display_id='d')",
        "display('x', include=['text/plain'], exclude=['text/html'])", "clear_output(wait=True); print('new')",
        "display_html('<i>', raw=True); display_pretty(1); display_latex('$', raw=True)", "display()", "display(1, 2, metadata={'a': 1})",
        "class Bundle:\n    def _repr_mimebundle_(self, include=None, exclude=None): return {'a/b': 1}, {'a/b': {'c': 2}}\nBundle()",
        "class Own:\n    def _ipython_display_(self): print('own')\nOwn()"),
}


@pytest.mark.parametrize("library", CELLS)
def test_a_library_shows_what_it_shows_in_ipykernel(pair, library):
    pair.same(SETUP, replaced=IDS)
    for cell in CELLS[library]:
        pair.same(cell, replaced=IDS)
