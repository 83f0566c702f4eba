"""Representations and the messages that carry them."""

ANY = """class Any:
    def __getattr__(self, name):
        return lambda *a, **kw: "anything"
    def __repr__(self):
        return "<Any>"
Any()"""
ANY_HTML = """class AnyH(Any):
    def _repr_html_(self):
        return "<b>real</b>"
AnyH()"""
HALF = """class Half:
    def __repr__(self):
        raise RuntimeError("repr broken")
    def _repr_html_(self):
        return "<i>ok</i>"
Half()"""
HALF2 = """class Half2:
    def __repr__(self):
        return "plain"
    def _repr_html_(self):
        raise NotImplementedError
    def _repr_png_(self):
        raise KeyError("png")
    def _repr_latex_(self):
        return None
Half2()"""
SHOWS = """class Disp:
    def _ipython_display_(self):
        print("shown")
    def __repr__(self):
        return "never"
Disp()"""
MB = """class MB:
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": "mb", "text/html": "<p>mb</p>"}, {"text/html": {"isolated": True}}
MB()"""


def data(result):
    found = result.of("execute_result")
    return found[0]["data"] if found else None


def test_the_display_protocol_holds_for_proxies_and_failing_methods(shell):
    """C040."""
    results = shell(ANY, ANY_HTML, HALF, HALF2, SHOWS, MB, "MB")
    assert [item["status"] for item in results] == ["ok"] * 7
    assert data(results[0]) == {"text/plain": "<Any>"}
    assert data(results[1]) == {"text/plain": "<Any>", "text/html": "<b>real</b>"}
    assert data(results[2]) == {"text/html": "<i>ok</i>"}
    errors = results[2].of("error")
    assert [(item["ename"], item["evalue"]) for item in errors] == [("RuntimeError", "repr broken")]
    assert data(results[3]) == {"text/plain": "plain"}
    assert [item["evalue"] for item in results[3].of("error")] == ["'png'"]
    assert (results[4].stdout, data(results[4])) == ("shown\n", None)
    assert data(results[5]) == {"text/plain": "mb", "text/html": "<p>mb</p>"}
    assert results[5].of("execute_result")[0]["metadata"] == {"text/html": {"isolated": True}}
    assert data(results[6]) == {"text/plain": "<class '__main__.MB'>"}


def test_a_result_of_which_nothing_can_be_shown_still_gets_its_name(shell):
    code = "class A:\n    def __repr__(self): raise ValueError('no')\nA()"
    results = shell(code, "type(_).__name__, 1 in Out", "display(Out[1])")
    assert data(results[0]) is None and len(results[0].of("error")) == 1
    assert results[1].text == "('A', True)"
    assert results[2].of("display_data") == [] and len(results[2].of("error")) == 1


def test_instances_may_carry_methods_and_pairs_carry_metadata(shell):
    results = shell(
        "class A:\n    def __repr__(self): return 'a'\na = A()\na._repr_html_ = lambda: ('<a>', {'k': 1})\na",
        "class B:\n    _repr_png_ = lambda self: b'\\x89PNG'\n    _repr_html_ = lambda self: 5\n    __repr__ = lambda s: 'b'\nB()",
        "class M(type):\n    def _repr_html_(cls): return 'meta'\nclass C(metaclass=M): pass\nC",
        "C()",
    )  # fmt: skip
    assert data(results[0]) == {"text/plain": "a", "text/html": "<a>"}
    assert results[0].of("execute_result")[0]["metadata"] == {"text/html": {"k": 1}}
    assert data(results[1]) == {"text/plain": "b", "image/png": "iVBORw=="}
    assert "_repr_html_ returned int" in results[1].stderr
    assert data(results[2])["text/html"] == "meta"
    assert list(data(results[3])) == ["text/plain"]


def test_displays_can_be_updated_and_cleared(shell):
    """C041."""
    results = shell(
        'from IPython.display import display, update_display, clear_output, HTML\n'
        'h = display("A", display_id="spot")\ndisplay("mid")\nh2 = display("B", display_id=True)\n'
        'print(type(h).__name__, h.display_id)',
        '_h = display("again", display_id="spot")',
        'h.update("A2")',
        'update_display(HTML("<b>z</b>"), display_id="never-shown")',
        'for i in range(3):\n    clear_output(wait=True)\n    print("step", i)\nprint("end", end="")\n'
        'clear_output()\nprint("kept")',
    )  # fmt: skip
    first = results[0].of("display_data")
    assert [item["data"]["text/plain"] for item in first] == ["'A'", "'mid'", "'B'"]
    assert [item["transient"] for item in first[:2]] == [{"display_id": "spot"}, {}]
    assert len(first[2]["transient"]["display_id"]) == 32
    assert results[0].stdout == "DisplayHandle spot\n"
    assert results[1].of("display_data")[0]["transient"] == {"display_id": "spot"}
    assert results[2]["messages"] == [
        {"type": "update_display_data", "data": {"text/plain": "'A2'"}, "metadata": {},
         "transient": {"display_id": "spot"}}
    ]  # fmt: skip
    update = results[3]["messages"]
    assert [item["type"] for item in update] == ["update_display_data"]
    assert update[0]["data"]["text/html"] == "<b>z</b>"
    assert [item.get("wait", item.get("text")) for item in results[4]["messages"]] == [
        True, "step 0\n", True, "step 1\n", True, "step 2\nend", False, "kept\n"
    ]  # fmt: skip


def test_display_takes_ipythons_arguments(shell):
    results = shell(
        "display({'text/plain': 'x', 'image/png': b'ab'}, raw=True, metadata={'image/png': {'w': 1}})",
        "from IPython.display import HTML, DisplayHandle\ndisplay(HTML('h'), include=['text/html'])",
        "display(HTML('h'), exclude=['text/plain'], metadata={'text/html': {'isolated': True}})",
        "display(display_id='empty')", "display(1, clear=True)", "display(1, update=True)",
        "from IPython.display import display_html, publish_display_data\n"
        "display_html('<u>', raw=True)\npublish_display_data({'text/plain': 'p'}, update=True, "
        "transient={'display_id': 'q'})",
    )  # fmt: skip
    first = results[0].of("display_data")[0]
    assert (first["data"], first["metadata"]) == (
        {"text/plain": "x", "image/png": "YWI="}, {"image/png": {"w": 1}},
    )  # fmt: skip
    assert results[1].of("display_data")[0]["data"] == {"text/html": "h"}
    third = results[2].of("display_data")[0]
    assert (third["data"], third["metadata"]) == ({"text/html": "h"}, {"text/html": {"isolated": True}})
    assert results[3].of("display_data")[0]["data"] == {}
    assert results[3].text == "<DisplayHandle display_id=empty>"
    assert [item["type"] for item in results[4]["messages"]] == ["clear_output", "display_data"]
    assert (results[5]["ename"], results[5]["evalue"]) == (
        "TypeError", "display_id required for update_display",
    )  # fmt: skip
    assert results[6].of("display_data")[0]["data"] == {"text/html": "<u>"}
    assert results[6].of("update_display_data")[0]["transient"] == {"display_id": "q"}


def test_ipython_is_served_only_when_asked_for(shell):
    results = shell(
        "import sys\n[name for name in sys.modules if name.startswith(('IPython', 'ipykernel'))]",
        "from IPython import get_ipython\nget_ipython()",
        "import IPython\nIPython.display.HTML('x')",
        "import IPython.core",
        "from IPython.core.magic import register_line_magic",
        "import importlib.util, pickle\nfrom IPython.display import HTML\n"
        "(importlib.util.find_spec('IPython.display').name, pickle.loads(pickle.dumps(HTML('y'))).data, "
        "hasattr(IPython, '__version__'))",
        "import IPythonic",
    )  # fmt: skip
    assert results[0].text == "[]"
    assert results[1]["status"] == "ok" and results[1].text is None
    assert data(results[2]) == {
        "text/plain": "<IPython.display.HTML object>", "text/html": "x",
    }  # fmt: skip
    sentence = "IPython is not installed here, the kernel itself provides only IPython.display"
    assert results[3]["ename"] == "ModuleNotFoundError"
    assert results[3]["evalue"] == f"No module named 'IPython.core': {sentence}"
    assert results[4]["ename"] == "ModuleNotFoundError" and sentence in results[4]["evalue"]
    assert results[5].text == "('IPython.display', 'y', False)"
    assert results[6]["evalue"] == "No module named 'IPythonic'"


def test_a_users_own_ipython_module_wins(shell, tmp_path):
    (tmp_path / "IPython.py").write_text("mine = 1\n")
    assert shell("import IPython\nIPython.mine")[0].text == "1"


def test_display_objects_have_their_representations(shell, tmp_path):
    png = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + b"\0\0\0\x08\0\0\0\x04"
    (tmp_path / "p.png").write_bytes(png)
    (tmp_path / "t.html").write_text("<é>", encoding="utf-8")
    results = shell(
        "from IPython.display import *\nMarkdown('*m*')", "Math('x^2')", "Latex('$x$')",
        "SVG('<?xml?><svg></svg>')", "JSON({'a': [1]})", "GeoJSON({'type': 'Point'})",
        "Javascript('go()', lib='http://l')", "Image('p.png', retina=True)",
        "Image(url='http://x/y.jpg', width=5)", "HTML(filename='t.html')", "IFrame('u', 1, 2, a='b c')",
        "Audio([0.0, 1.0], rate=8000)", "Video('v.mp4')", "Code('x = 1')", "FileLink('p.png')",
        "Pretty('as is')", "Image('gone.png')", "HTML(5)", "YouTubeVideo('id', start=3)",
        "for i in ProgressBar(2): pass", "FileLinks('.')", "JSON('[1, 2]', expanded=True)",
    )  # fmt: skip
    kinds = [next((kind for kind in data(item) or {} if kind != "text/plain"), None) for item in results]
    assert kinds == [
        "text/markdown", "text/latex", "text/latex", "image/svg+xml", "application/json",
        "application/geo+json", "application/javascript", "image/png", "text/html", "text/html",
        "text/html", "text/html", "text/html", "text/html", "text/html", None, None, None, "text/html",
        None, "text/html", "application/json",
    ]  # fmt: skip
    assert data(results[1])["text/latex"] == "$\\displaystyle x^2$"
    assert data(results[3])["image/svg+xml"] == "<svg></svg>"
    assert results[7].of("execute_result")[0]["metadata"] == {"image/png": {"width": 4, "height": 2}}
    assert data(results[8])["text/html"] == '<img src="http://x/y.jpg" width="5"/>'
    assert data(results[9])["text/html"] == "<é>"
    assert 'src="u?a=b+c"' in data(results[10])["text/html"]
    assert "data:audio/wav;base64,UklGR" in data(results[11])["text/html"]
    assert results[15].text == "as is"
    assert [item.get("ename") for item in results[16:18]] == ["FileNotFoundError", "TypeError"]
    assert [item["type"] for item in results[19]["messages"]] == ["display_data"] + ["update_display_data"] * 3
    assert data(results[21])["application/json"] == [1, 2]
    assert results[21].of("execute_result")[0]["metadata"]["application/json"]["expanded"] is True
