"""
Issue 6, `get_ipython().kernel`, parents, and the names that libraries find in a session
(clients.md 5.3, 8.B.28-49).
"""

import json

import pytest

from environment import has


def values(kernel, code):
    """What a cell leaves in `found`, as JSON."""
    return json.loads(kernel.execute(code + "\nimport json; print(json.dumps(found))").stdout)


# --- asking ---------------------------------------------------------------------------------

THREADED = """
import threading
def ask():
    global found
    found = {expression}
thread = threading.Thread(target=ask)
thread.start()
thread.join()
"""


@pytest.mark.parametrize("where", ["found = {expression}\n", THREADED], ids=["main", "thread"])
@pytest.mark.parametrize("expression, expected", [
    ("k.do_complete('some_na', 7)",
     {"status": "ok", "matches": ["some_name"], "cursor_start": 0, "cursor_end": 7}),
    ("k.do_inspect('some_name', 3)", {"status": "ok", "found": True}),
    ("k.do_inspect('some_name', 3, 1)", {"status": "ok", "found": True}),
    ("k.do_inspect('no_such_name', 3, detail_level=0, omit_sections=())",
     {"status": "ok", "found": False, "data": {}, "metadata": {}}),
    ("k.do_is_complete('for i in x:')", {"status": "incomplete"}),
    ("k.do_is_complete('1')", {"status": "complete"}),
    ("k.do_history('range', False, True, session=0, start=1, stop=2)",
     {"status": "ok", "history": [[0, 1, "first = 1"]]}),
])
def test_requests_are_answered_at_once_from_any_thread(start, where, expression, expected):
    """Plain dicts of what JSON has, complete before the call returns."""
    kernel = start()
    kernel.run("first = 1")
    kernel.run("some_name = 1; k = get_ipython().kernel")
    found = values(kernel, where.format(expression=expression))
    assert {key: found[key] for key in expected} == expected


@pytest.mark.parametrize("call", [
    "reply = k.do_execute('1+1', False, user_expressions={'a': 'first'})",
    "reply = await k.do_execute('1+1', False, user_expressions={'a': 'first'})",
    "import asyncio\n"
    "async def go(): return await k.do_execute('1+1', False, user_expressions={'a': 'first'})\n"
    "reply = asyncio.run(go())"])
def test_a_cell_can_be_run_from_a_cell(kernel, call):
    """do_execute() is a coroutine in ipykernel; here it may be awaited and need not be."""
    kernel.run("first = 3; k = get_ipython().kernel")
    result = kernel.execute(
        f"{call}\nimport json; print(json.dumps(reply), isinstance(reply, dict))")
    shown, printed = result.outputs
    assert shown == ("result", {"text/plain": "2"})
    assert printed[1].endswith(" True\n")
    reply = json.loads(printed[1].removesuffix(" True\n"))
    assert reply["status"] == "ok" and reply["payload"] == []
    assert reply["user_expressions"]["a"]["data"] == {"text/plain": "3"}


def test_its_error_is_shown_and_told(kernel):
    result = kernel.execute("reply = get_ipython().kernel.do_execute('1/0', False)\n"
                            "print(reply['status'], reply['ename'], len(reply['traceback']) > 2)")
    assert result.outputs == [("error", "ZeroDivisionError", "division by zero"),
                              ("stdout", "error ZeroDivisionError True\n")]


def test_the_user_can_be_asked(kernel):
    code = "k = get_ipython().kernel; print(k.raw_input('name? '), k.getpass('secret? '))"
    msg_id = kernel.send_execute(code, allow_stdin=True)
    for content, answer in (({"prompt": "name? ", "password": False}, "Ada"),
                            ({"prompt": "secret? ", "password": True}, "love")):
        request = kernel.take("stdin")
        assert request.content == content
        kernel.answer(request, answer)
    result = kernel.finish_execute(msg_id, code)
    assert result.outputs == [("stdout", "Ada love\n")]
    assert kernel.fail("get_ipython().kernel.raw_input('x')").error == (
        "StdinNotImplementedError",
        "raw_input was called, but this frontend does not support input requests.")


def test_what_the_kernel_says_of_itself(kernel):
    info = kernel.kernel_info().content
    assert values(kernel, "k = get_ipython().kernel\n"
                  "found = [k.implementation, k.implementation_version, k.language_info]") == [
        info["implementation"], info["implementation_version"], info["language_info"]]
    assert values(kernel, "found = get_ipython().kernel.kernel_info | {'status': 'ok'}") == info
    assert kernel.run(
        "k = get_ipython().kernel; ip = get_ipython()\n"
        "print(k.shell is ip, ip.parent is k, type(k.parent).__name__, k.parent.kernel is k, k.user_ns is globals(), k.user_module is "
        "__import__('__main__'), k.comm_manager is __import__('einkorn.comms').comms."
        "get_comm_manager(), k.execution_count == ip.execution_count, k.eventloop,"
        " type(k.log).__name__, k.banner == k.kernel_info['banner'], bool(k.ident))") == [
            ("stdout", "True True IPKernelApp True True True True True None Logger True True\n")]
    assert kernel.run("print(sorted(k.shell_handlers), k.control_handlers)") == [
        ("stdout", "['comm_close', 'comm_msg', 'comm_open'] {}\n")]


# --- in whose name ----------------------------------------------------------------------------


def test_the_parent_is_the_request(kernel):
    """kernel.get_parent(), _parent_header, shell.get_parent(), display_pub.parent_header."""
    result = kernel.execute(
        "ip = get_ipython(); k = ip.kernel\n"
        "p = k.get_parent(); import json\n"
        "print(json.dumps([p['header'], p['content']['code'][:5], p['metadata']]))\n"
        "print(k.get_parent('shell') is p, k._parent_header == p, ip.get_parent() is p,\n"
        "      ip.parent_header is p, ip.display_pub.parent_header == p['header'],\n"
        "      ip.displayhook.parent_header == p['header'], sorted(k._parent_ident))",
        metadata={"cellId": "c1"})
    parent, same = result.stdout.splitlines()
    assert json.loads(parent) == [json.loads(kernel.sent[result.reply.parent_id]), "ip = ",
                                  {"cellId": "c1"}]
    assert same == "True True True True True True ['control', 'shell']"


SPEAK = {
    "shell": ("token = ip.set_thread_parent(parent)", "ip.reset_thread_parent(token)"),
    "display_pub": ("token = ip.display_pub.set_thread_parent(parent)",
                    "ip.display_pub.reset_thread_parent(token)"),
    "set_parent": ("before = ip.get_parent(); ip.set_parent(parent)", "ip.set_parent(before)"),
    "kernel": ("before = ip.get_parent(); ip.kernel.set_parent([], parent)",
               "ip.kernel.set_parent([], before, 'shell')"),
}


@pytest.mark.parametrize("how", SPEAK)
def test_a_thread_can_speak_for_another_request(kernel, how):
    """set_thread_parent() and its kin; what is shown goes there, then here again."""
    first = kernel.execute("ip = get_ipython(); parent = ip.get_parent()")
    take, give_back = SPEAK[how]
    second = kernel.execute(
        "import threading\n"
        "def speak():\n"
        f"    {take}\n"
        "    print('there', flush=True); display(1)\n"
        f"    {give_back}\n"
        "    print('here')\n"
        "thread = threading.Thread(target=speak); thread.start(); thread.join()")
    assert second.outputs == [("stdout", "here\n")]
    there = [kernel.take("iopub", lambda m: m.parent_id == first.reply.parent_id)
             for _ in range(2)]
    assert [m.type for m in there] == ["stream", "display_data"]


# --- sending ----------------------------------------------------------------------------------

CONTENT = "{'data': {'text/plain': 'x'}, 'metadata': {}, 'transient': {}}"


@pytest.mark.parametrize("send", [
    f"k.session.send(k.iopub_socket, 'display_data', {CONTENT})",
    f"k.session.send(k.iopub_socket, 'display_data', {CONTENT}, parent=k.get_parent())",
    f"k.session.send(pub.pub_socket, 'display_data', {CONTENT}, parent=pub.parent_header)",
    f"k.session.send(pub.pub_socket, k.session.msg('display_data', {CONTENT}))",
    f"pub.session.send(pub.pub_socket, 'display_data', {CONTENT}, ident=b'display_data')",
    f"k.send_response(k.iopub_socket, 'display_data', {CONTENT})",
    "k.iopub_socket.send_multipart([b'topic', b'<IDS|MSG>', b'signature',"
    f" b'{{\"msg_type\": \"display_data\"}}', b'{{}}', b'{{}}', json.dumps({CONTENT}).encode()])",
])
def test_libraries_can_send_by_themselves(kernel, send):
    kernel.run("import json; k = get_ipython().kernel; pub = get_ipython().display_pub")
    assert kernel.run(send + ";") == [("display", {"text/plain": "x"})]


@pytest.mark.parametrize("message, metadata", [
    (f"'display_data', {CONTENT}", ", metadata={'m': 1}"),
    (f"k.session.msg('display_data', {CONTENT}, metadata={{'m': 1}})", "")])
def test_buffers_and_metadata_go_with_it(kernel, message, metadata):
    result = kernel.execute(
        "k = get_ipython().kernel\n"
        f"k.session.send(k.iopub_socket, {message},"
        " buffers=[b'abc', memoryview(b'd')]{meta});".replace("{meta}", metadata))
    message, = result.body
    assert message.buffers == [b"abc", b"d"] and message.metadata == {"m": 1}


def test_what_is_sent_for_another_request_belongs_to_it(kernel):
    """And the sender speaks for its own one as before."""
    first = kernel.execute("import threading; k = get_ipython().kernel; parent = k.get_parent()")
    second = kernel.execute(
        "go = threading.Event()\n"
        "def speak():\n"
        "    go.wait(60)\n"
        f"    k.session.send(k.iopub_socket, 'display_data', {CONTENT}, parent=parent)\n"
        "    print('own', flush=True)\n"
        "thread = threading.Thread(target=speak); thread.start()")
    third = kernel.execute("go.set(); thread.join()")
    assert third.outputs == []
    for result, kind in ((first, "display_data"), (second, "stream")):
        assert kernel.take("iopub", lambda m: m.parent_id == result.reply.parent_id).type == kind


def test_nothing_but_iopub_can_be_sent_to(kernel):
    """A reply is the kernel process's own."""
    ename, evalue = kernel.fail("k = get_ipython().kernel\nk.session.send(None, 'x', {})").error
    assert ename == "TypeError" and "iopub_socket" in evalue


if has("jupyter_client"):

    def test_a_notebook_that_runs_a_kernel_shows_what_that_says(kernel):
        """jupyter_client.execute_interactive() in a cell, which sends by our session."""
        assert kernel.run(
            "import jupyter_client, jupyter_client.kernelspec as specs, ipykernel.kernelspec\n"
            "manager = jupyter_client.KernelManager()\n"
            "manager._kernel_spec = specs.KernelSpec(**ipykernel.kernelspec.get_kernel_dict())\n"
            "manager.start_kernel()\n"
            "client = manager.client(); client.start_channels(); client.wait_for_ready(60)\n"
            "reply = client.execute_interactive('print(1); display(2)', timeout=60)\n"
            "client.stop_channels(); manager.shutdown_kernel()\n"
            "print(reply['content']['status'])", timeout=90) == [
                ("stdout", "1\n"), ("display", {"text/plain": "2"}), ("stdout", "ok\n")]

    def test_the_kernel_called_python3_is_one_like_this(kernel, tmp_path):
        """Where no kernelspec of that name is installed (ipykernel.kernelspec)."""
        assert kernel.run(
            "from jupyter_client.kernelspec import KernelSpecManager\n"
            f"manager = KernelSpecManager(kernel_dirs=[{str(tmp_path)!r}])\n"
            "spec = manager.get_kernel_spec('python3')\n"
            "print(spec.argv[0].endswith('/einkorn'), spec.argv[-1] == __import__('sys').executable,"
            " spec.display_name)") == [("stdout", "True True Python 3 (Einkorn)\n")]


# --- comms while a cell runs ------------------------------------------------------------------

OPEN = """
from einkorn.comms import create_comm
heard = []
channel = create_comm(target_name="t")
channel.on_msg(lambda message: heard.append(message["content"]["data"]))
"""


@pytest.mark.parametrize("turn", ["k.do_one_iteration()", "await k.do_one_iteration()",
                                  "asyncio.run(turn())"])
def test_messages_are_handled_in_a_cell_that_asks_for_it(kernel, turn):
    """kernel.do_one_iteration(), as code for ipykernel calls or awaits it."""
    opened = kernel.send_execute(OPEN)
    kernel.reply("shell", opened)
    comm_id, = [m.content["comm_id"] for m in kernel.iopub(opened) if m.type == "comm_open"]
    running = kernel.started(
        "import asyncio; k = get_ipython().kernel\n"
        "async def turn(): return await k.do_one_iteration()\n"
        f"print('go', flush=True)\nwhile not heard: {turn}\nprint(heard)")
    sent = kernel.send("shell", "comm_msg", {"comm_id": comm_id, "data": {"n": 1}})
    assert kernel.finished(running).stdout == "go\n[{'n': 1}]\n"
    assert [m.state for m in kernel.iopub(sent)] == ["busy", "idle"]
    closed = kernel.send("shell", "comm_close", {"comm_id": comm_id, "data": {}})
    kernel.iopub(closed)


# --- names in the session -----------------------------------------------------------------------


def test_get_ipython_is_everywhere(start):
    """A builtin: seen in functions, modules, threads and between cells; IPython's own is the same."""
    kernel = start()
    kernel.run("import sys, types, threading, atexit\n"
               "module = types.ModuleType('m'); exec('def f(): return get_ipython()', vars(module))\n"
               "def f(): return get_ipython()\n"
               "seen = []\n"
               "thread = threading.Thread(target=lambda: seen.append(get_ipython()))\n"
               "thread.start(); thread.join()\n"
               "import IPython\nfrom IPython.core.interactiveshell import InteractiveShell")
    assert kernel.run(
        "ip = get_ipython()\n"
        "print(*(x is ip for x in (f(), module.f(), seen[0], IPython.get_ipython(),\n"
        "    IPython.core.getipython.get_ipython(), InteractiveShell.instance(),\n"
        "    InteractiveShell._instance)), InteractiveShell.initialized())") == [
            ("stdout", "True " * 7 + "True\n")]


def test_a_thread_has_it_between_cells(start):
    """Also where it is the first that needs IPython."""
    kernel = start()
    first = kernel.execute(
        "import threading\ngo = threading.Event()\n"
        "def later():\n    go.wait(60)\n    print(type(get_ipython()).__name__, flush=True)\n"
        "thread = threading.Thread(target=later); thread.start()\n"
        "threading.Timer(0.3, go.set).start()")
    late = kernel.take("iopub", lambda m: m.type == "stream")
    assert late.parent_id == first.reply.parent_id
    assert late.content["text"] == "ZMQInteractiveShell\n"


def test_it_has_the_name_in_the_builtins_before_the_first_cell_runs(start):
    kernel = start()
    assert kernel.run("import builtins; print(get_ipython is builtins.get_ipython, __IPYTHON__)") == [
        ("stdout", "True True\n")]


NAMES = [
    ("'__file__' in globals(), hasattr(__import__('__main__'), '__file__')", "(False, False)"),
    ("globals() is __import__('__main__').__dict__", "True"),
    ("globals() is get_ipython().user_ns", "True"),
    ("_ih is In, _oh is Out, _dh[-1] == __import__('pathlib').Path().resolve()",
     "(True, True, True)"),
    ("'IPKernelApp' in get_ipython().config", "True"),
    ("type(get_ipython()).__module__, type(get_ipython()).__name__",
     "('ipykernel.zmqshell', 'ZMQInteractiveShell')"),
    ("exit is quit, type(exit).__name__", "(True, 'ZMQExitAutocall')"),
    ("get_ipython().run_cell.__func__.__name__", "'run_cell'"),
    ("__builtins__ is __import__('builtins')", "True"),
]


@pytest.mark.parametrize("expression, expected", NAMES, ids=[row[0] for row in NAMES])
def test_the_names_of_a_session(kernel, expression, expected):
    kernel.run("get_ipython();")
    assert kernel.run(f"print({expression})" if expected[0] != "(" else
                      f"print(({expression}))") == [("stdout", f"{expected}\n".replace("'", "'")
                      if expected[0] in "(T" else expected.strip("'") + "\n")]


@pytest.mark.parametrize("shell", ["auto", "ipython"])
def test_the_session_name_that_jupyter_gave(start, shell):
    """`__session__`: the notebook's path, from JPY_SESSION_NAME."""
    kernel = start(env={"JPY_SESSION_NAME": "/home/ada/a.ipynb"}, args=["--shell", shell])
    assert kernel.run("print(__session__)") == [("stdout", "/home/ada/a.ipynb\n")]
    assert start().fail("__session__").error[0] == "NameError"


def test_the_programs_that_cells_start_colour_and_do_not_page(kernel):
    assert values(kernel, "import os; get_ipython(); found = [os.environ.get(n) for n in "
                  "('TERM', 'CLICOLOR', 'FORCE_COLOR', 'CLICOLOR_FORCE', 'PAGER', 'GIT_PAGER')]"
                  ) == ["xterm-color", "1", "1", "1", "cat", "cat"]


def test_language_info_is_that_of_the_kernels_reply(kernel):
    """As %notebook writes it, and as clients have it from kernel_info_reply."""
    own = kernel.run("import json\nprint(json.dumps(get_ipython().kernel.language_info))")[0][1]
    assert json.loads(own) == kernel.kernel_info().content["language_info"]
