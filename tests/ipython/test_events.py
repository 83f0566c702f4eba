"""What the shell lets others do: events, transformers, hooks, payloads; as under ipykernel."""

import pytest

EVENTS = """
log = []
ip = get_ipython()
ip.events.register("pre_execute", lambda: log.append("pre_execute"))
ip.events.register("post_execute", lambda: log.append("post_execute"))
ip.events.register("pre_run_cell", lambda info: log.append(
    ("pre_run_cell", info.raw_cell, info.store_history, info.silent)))
ip.events.register("post_run_cell", lambda result: log.append(
    ("post_run_cell", result and result.info.raw_cell, repr(result and result.error_in_exec))))
"""
SHOW = "print(log[:]); log.clear()"


def logged(pair, code, **options):
    pair.same(code, **options)
    return pair.same(SHOW, store_history=False).text()


@pytest.fixture(scope="module")
def events(pair):
    """Callbacks of the events, and the comms' target, in both kernels."""
    pair.same("%matplotlib inline")  # the shell is there
    pair.same(EVENTS)
    pair.same(SHOW)
    yield pair
    pair.same("ip.events.callbacks = {name: [] for name in ip.events.callbacks}")


@pytest.mark.parametrize("code, options", [
    ("1", {}),
    ("1/0", {}),
    ("not Python", {}),
    ("%time 1", {}),
    ("import asyncio\nawait asyncio.sleep(0)", {}),
    ("await asyncio.sleep(0)\n1/0", {}),
    ("1", {"silent": True, "store_history": False}),
    ("await asyncio.sleep(0)", {"silent": True, "store_history": False}),
    ("1", {"store_history": False}),
    ("", {}),
    ("raise SystemExit", {}),
    ("raise KeyboardInterrupt", {}),
    ("%autoawait trio\n", {}),
    ("import trio\nawait trio.sleep(0)", {}),
    ("%autoawait asyncio", {}),
    ("get_ipython().run_cell('2')", {}),
    ("1", {"user_expressions": {"a": "1", "b": "1/0", "c": "nowhere", "d": "[1, 'a']"}}),
    ("fails = lambda: 1/0\nip.events.register('post_execute', fails)", {}),
    ("1", {}),
    ("nowhere", {}),
    ("not Python", {}),
    ("await asyncio.sleep(0)", {}),
    ("ip.events.unregister('post_execute', fails)", {}),
])
def test_events_fire_as_under_ipykernel(events, code, options):
    logged(events, code, **options)


def test_the_cell_that_loads_the_shell_ends_as_one_of_its(start):
    """It has begun without IPython; those that it registers hear of its end."""
    kernel = start()
    kernel.run("import sys\nassert 'IPython.core.interactiveshell' not in sys.modules\n"
               "log = []\nip = get_ipython()\n"
               "ip.events.register('post_execute', lambda: log.append('post_execute'))\n"
               "ip.events.register('post_run_cell', lambda result: log.append('post_run_cell'))")
    assert kernel.run("log")[0][1] == {"text/plain": "['post_execute', 'post_run_cell']"}


COMM = """
import comm
def opened(comm, message):
    log.append("opened")
    comm.on_msg(lambda message: log.append(message["content"]["data"]))
comm.get_comm_manager().register_target("events", opened)
"""


def test_events_fire_around_comm_messages(events):
    events.same(COMM)
    events.same(SHOW)
    for one in (events.ours, events.theirs):
        for kind, content in (("comm_open", {"comm_id": "c", "target_name": "events", "data": {}}),
                              ("comm_msg", {"comm_id": "c", "data": {"x": 1}}),
                              ("comm_close", {"comm_id": "c", "data": {}})):
            one.client.shell_channel.send(one.client.session.msg(kind, content))
    assert "'opened', 'pre_execute', {'x': 1}, 'post_execute', " in events.same(SHOW).text()


@pytest.mark.parametrize("code", [
    "ip = get_ipython()",
    "ip.input_transformers_cleanup.append(lambda lines: [l.replace('two', '2') for l in lines])",
    "1 + two",
    "ip.input_transformers_cleanup.pop();",
    "ip.input_transformers_post.append(lambda lines: [l.replace('three', '3') for l in lines])",
    "1 + three",
    "ip.input_transformers_post.pop();",
    "def broken(lines):\n    if 'four' in lines[0]: raise SyntaxError('not mine')\n    return lines\n"
    "ip.input_transformers_post.append(broken)",
    "four",
    "await four",
    "ip.input_transformers_post.clear()",
    "import ast\nclass Double(ast.NodeTransformer):\n    def visit_Constant(self, node):\n"
    "        return ast.copy_location(ast.Constant(node.value * 2), node)\nd = Double()\n"
    "ip.ast_transformers.append(d)",
    "21",
    "ip.ast_transformers.remove(d)",
    "class Bad(ast.NodeTransformer):\n    def visit_Constant(self, node): raise ValueError('bad')\n"
    "ip.ast_transformers.append(Bad())",
    "1",
    "2",
    "def handler(self, etype, value, tb, tb_offset=None):\n    print('custom', etype.__name__, value)\n"
    "ip.set_custom_exc((ZeroDivisionError,), handler)",
    "1/0",
    "1 + nowhere",
    "ip.set_custom_exc((), None)",
    "1/0",
    "class Rendered(Exception):\n    def _render_traceback_(self): return ['line 1', 'line 2']\nraise Rendered('x')",
    "def f(): return g()\ndef g(): __tracebackhide__ = True; return h()\ndef h(): return 1/0\nf()",
    "try: 1/0\nexcept Exception: ip.showtraceback()",
    "ip.showsyntaxerror()",
    "def quiet(etype, value, lines): print('shown', etype.__name__, len(lines) > 0)\n"
    "ip._showtraceback, kept = quiet, ip._showtraceback",
    "1/0",
    "ip._showtraceback = kept",
    "1/0",
    "ip.showtraceback = lambda *a, **k: print('mine')",
    "1/0",
    "del ip.showtraceback",
    "1/0",
    "ip.set_next_input('next')",
    "ip.set_next_input('this', replace=True)",
    "ip.payloadpage_page('page me', -3)",
    "from IPython.core import page\npage.page('paged')",
    "page.page({'text/html': '<b>x</b>'}, start=2)",
    "ip.payload_manager.write_payload({'source': 'own', 'x': 1})",
    "ip.ast_node_interactivity = 'all'",
    "1\n2",
    "ip.ast_node_interactivity = 'last_expr_or_assign'",
    "x = 5",
    "ip.ast_node_interactivity = 'last_expr'",
    "ip.run_line_magic('precision', '2')",
    "3.14159",
    "ip.run_line_magic('precision', '')",
    "ip.run_cell_magic('capture', 'c', 'print(1)')",
    "c.stdout",
    "ip.ex('made = 1'); ip.ev('made + 1')",
    "ip.push({'pushed': 3}); pushed",
    "ip.drop_by_id({'pushed': 3}); 'pushed' in globals()",
    "from IPython.core.magic import register_line_magic, register_cell_magic\n"
    "@register_line_magic\ndef ek_line(line): return line\n"
    "@register_cell_magic\ndef ek_cell(line, cell): print(line, cell)",
    "%ek_line hello there",
    "v = %ek_line hello\nv",
    "%%ek_cell a\nb",
    "class Shown:\n    def _repr_html_(self): return '<b>x</b>'\n    def __repr__(self): return 'shown'\nShown()",
    "ip.display_formatter.formatters['text/plain'].for_type(int, lambda v, p, c: p.text('int'))",
    "7",
    "ip.display_formatter.formatters['text/plain'].pop(int);",
    "class Broken:\n    def __repr__(self): raise ValueError('broken')",
    "display(Broken())",
    "5;", "5; # five", "5;\n# five;", "'a;b'", "x = 5; x", "\"\"\"\n;\n\"\"\"", "5 # five;",
    "raise ExceptionGroup('many', [ValueError(1), KeyError(2)])",
    "1/0 # ", "exec('1/0')", "raise KeyError('k') from ValueError('v')",
    "def deep(n): return deep(n - 1) if n else 1/0\ndeep(30)",
    "import sys; sys.exit('bye')",
    "%tb",
])
def test_the_shell_lets_others_do_what_ipykernels_does(pair, code):
    """IPython 8 counts a cell twice that a transformer refuses; the count of a cell is the kernel's."""
    pair.same(code, store_history="four" not in code)


def test_a_result_that_cannot_be_shown_fails_the_cell(pair):
    """ipykernel's reply calls the error NoneType."""
    ours, theirs = pair.both("class B:\n    def __repr__(self): raise ValueError('b')\nB()")
    assert ours.outputs == theirs.outputs and ours.status == theirs.status == "error"
    assert ours.error == ["ValueError", "b"]


def test_an_exception_whose_text_fails_is_told_of(pair):
    """ipykernel shows the failure instead."""
    ours, theirs = pair.both("class Odd(Exception):\n"
                             "    def __str__(self): raise ValueError('o')\nraise Odd")
    assert ours.status == theirs.status == "error"
    assert ours.error[0] == ours.outputs[-1][1] == "Odd"


def test_a_warning_of_the_compiler_comes_once(pair):
    """ipykernel compiles a cell three times to find out whether it awaits, and warns each time."""
    ours, theirs = pair.both("1 is 1")
    assert ours.text("stderr").count("SyntaxWarning") == 1
    assert theirs.text("stderr").endswith(ours.text("stderr"))


def test_a_payload_is_a_dict(pair):
    assert pair.ours.run("get_ipython().payload_manager.write_payload('none')").error[0] == "TypeError"


@pytest.mark.parametrize("code", ["exit", "quit", "exit()", "get_ipython().ask_exit()",
                                  "exit(keep_kernel=True)"])
def test_exit_asks_the_client(pair, start, code):
    """ipykernel ends itself a moment later, so it is not asked for more than its reply."""
    kernel = start()
    kernel.run("%precision")
    payload = kernel.execute(code).reply.content["payload"]
    kept = "keep_kernel" in code
    assert payload == [{"source": "ask_exit", "keepkernel": kept}]


def test_an_interrupt_before_ipython_runs_its_coroutine(start):
    """In its own preparations: no warning of what was never awaited, and the next cell is whole."""
    kernel = start(args=["--shell=ipython"])
    code = ("import signal\nkind = type(get_ipython())\n"
            "def interrupted(self):\n    del kind.trio_runner\n"
            "    signal.raise_signal(signal.SIGINT)\n    return False\n"
            "kind.trio_runner = property(interrupted)")
    for _ in range(3):  # each lets go of the traceback of the one before, and what it holds
        kernel.run(code)
        result = kernel.execute("print('never')")
        assert result.error == ("KeyboardInterrupt", "")
        assert result.stderr == result.stdout == ""
