"""
Issue 6, "Proof": the request in whose name Python code speaks, as it can ask for it
(`_einkorn.parent()`, behind get_parent() of ipykernel).
"""

import json

import pytest


def parent(result):
    return json.loads(result.stdout)



SHOW = "import json, _einkorn; print(json.dumps(_einkorn.parent()))"


def test_a_cell_knows_its_request(kernel):
    """Header, metadata and content as they were sent; the fields of ipykernel's message dict."""
    result = kernel.execute(SHOW)
    found = parent(result)
    header = json.loads(kernel.sent[result.reply.parent_id])
    assert found["header"] == header
    assert found["msg_id"] == header["msg_id"] and found["msg_type"] == "execute_request"
    assert found["content"]["code"] == SHOW
    assert found["metadata"] == {} and found["parent_header"] == {} and found["buffers"] == []


def test_it_is_one_dict_for_the_whole_cell(kernel):
    assert kernel.run("import _einkorn; print(_einkorn.parent() is _einkorn.parent())") == [
        ("stdout", "True\n")]


def test_a_thread_keeps_the_request_that_started_it(kernel):
    first = kernel.execute(
        "import threading, _einkorn\ngo = threading.Event()\nseen = []\n"
        "def look():\n    go.wait(30)\n    seen.append(_einkorn.parent()['msg_id'])\n"
        "thread = threading.Thread(target=look); thread.start()")
    second = kernel.execute("go.set(); thread.join(); print(seen[0], _einkorn.parent()['msg_id'])")
    assert second.stdout.split() == [first.reply.parent_id, second.reply.parent_id]


@pytest.mark.parametrize("size, kept", [(1000, True), (100_000, False)])
def test_large_content_is_let_go_with_the_end_of_its_cell(kernel, size, kept):
    """While the cell runs all of it is there; later a thread finds what is not large."""
    pad = "#" + "x" * size
    kernel.execute(
        "import threading, _einkorn\ngo = threading.Event()\nseen = []\n"
        "def look():\n    go.wait(30)\n    seen.append(_einkorn.parent()['content'])\n"
        "thread = threading.Thread(target=look); thread.start()" + pad)
    assert kernel.execute("go.set(); thread.join(); print('code' in seen[0])").stdout == f"{kept}\n"
    whole = kernel.execute("print(len(_einkorn.parent()['content']['code']))" + pad)
    assert int(whole.stdout) > size


# --- choosing in whose name is spoken ----------------------------------------------------

FIRST = ("import threading\nfrom einkorn import parents\nparent = parents.get_parent()\n"
         "go, done = threading.Event(), threading.Event()\n")


def said(kernel, msg_id):
    """What came in the name of a request that is over."""
    found = kernel.take("iopub", lambda m: m.parent_id == msg_id)
    return found.content["text"]


@pytest.mark.parametrize("choose", [
    "parents.set_parent(parent)", "parents.set_thread_parent(parent)",
    "sys.stdout.set_parent(parent)", "sys.stderr.set_thread_parent(parent)",
    "sys.stdout.parent_header = parent['header']",
    "parents.set_parent(parent['header'])", "parents.set_parent(copy.deepcopy(parent))"])
def test_a_thread_speaks_for_the_cell_that_it_chooses(kernel, choose):
    """ipykernel's set_parent() and set_thread_parent(), with a message, a copy, a header."""
    first = kernel.execute(FIRST + "import copy, sys")
    second = kernel.execute(
        f"def speak():\n    {choose}\n    print('there')\n    display(1)\n"
        "    ids = parents.get_parent()['msg_id'], sys.stdout.parent_header['msg_id']\n"
        "    print(*ids)\n"
        "thread = threading.Thread(target=speak); thread.start(); thread.join()\nprint('here')")
    assert second.outputs == [("stdout", "here\n")]
    first_id = first.reply.parent_id
    messages = [kernel.take("iopub", lambda m: m.parent_id == first_id) for _ in range(3)]
    assert [m.content.get("text") or m.content["data"]["text/plain"] for m in messages] == [
        "there\n", "1", f"{first_id} {first_id}\n"]


def test_reset_gives_the_thread_to_the_cell_that_runs(kernel):
    """And to the one before where it was chosen twice."""
    first = kernel.execute(FIRST)
    second = kernel.execute(
        "other = parents.get_parent()\n"
        "def speak():\n"
        "    token = parents.set_thread_parent(parent)\n"
        "    inner = parents.set_thread_parent(other)\n"
        "    parents.reset_thread_parent(inner)\n"
        "    print('first', flush=True)\n"
        "    parents.reset_thread_parent(token)\n"
        "    done.set(); go.wait(30); print('third')\n"
        "thread = threading.Thread(target=speak); thread.start(); done.wait(30);")
    third = kernel.execute("go.set(); thread.join()")
    assert said(kernel, first.reply.parent_id) == "first\n"
    assert second.outputs == [] and third.outputs == [("stdout", "third\n")]


def test_a_cell_may_choose_for_itself_and_the_next_is_not_touched(kernel):
    first = kernel.execute(FIRST)
    assert kernel.run("parents.set_parent(parent); print('moved')") == []
    assert said(kernel, first.reply.parent_id) == "moved\n"
    assert kernel.run("print('mine')") == [("stdout", "mine\n")]


@pytest.mark.parametrize("unknown", ["{}", "{'header': {'msg_id': 'never'}}", "{'header': {}}"])
def test_a_request_that_nobody_sent_is_ignored(kernel, unknown):
    """Who chose another one before speaks for that one on."""
    first = kernel.execute(FIRST)
    assert kernel.run(f"parents.set_parent({unknown}); print('here')") == [("stdout", "here\n")]
    assert kernel.run(
        f"parents.set_parent(parent); parents.set_parent({unknown}); print('there')") == []
    assert said(kernel, first.reply.parent_id) == "there\n"


def test_the_last_message_of_control_and_the_routing_frames(kernel):
    """ipykernel's get_parent("control") and _parent_ident, also of what never reached Python."""
    kernel.run("from einkorn import parents")
    other = kernel.connect(identity=b"other")
    other.welcome()
    asked = other.kernel_info("control").parent_id
    result = kernel.execute("p = parents.get_parent('control')\n"
                            "print(p['msg_id'], p['header']['msg_type'])\n"
                            "print(parents.get_ident('control'), parents.get_ident())")
    assert result.stdout == f"{asked} kernel_info_request\n[b'other'] {[kernel.identity]}\n"
    kernel.welcome()  # the other's, which everybody gets, as all that is said on iopub
    kernel.iopub(asked)


# --- the streams of ipykernel ------------------------------------------------------------


def test_the_streams_have_what_those_of_ipykernel_have(kernel):
    assert kernel.run(
        "import sys\n"
        "for s in sys.stdout, sys.stderr:\n"
        "    hook = lambda message: message\n"
        "    print(s._is_master_process(), s.pub_thread.is_alive(), s.topic, s.isatty(),\n"
        "          s.register_hook(hook), s.unregister_hook(hook), s.unregister_hook(hook),\n"
        "          s.parent_header['msg_type'], s.fileno(), s.encoding)") == [("stdout", "".join(
            f"True True b'stream.{name}' False None True False execute_request {fd} UTF-8\n"
            for fd, name in ((1, "stdout"), (2, "stderr"))))]


def test_user_code_may_put_its_own_there(kernel):
    """And takes it back by del, as with any attribute."""
    assert kernel.run(
        "import sys\nbefore = sys.stdout.set_parent\nsys.stdout.set_parent = 7\n"
        "print(sys.stdout.set_parent, sys.stderr.set_parent is before)\n"
        "del sys.stdout.set_parent\nprint(sys.stdout.set_parent is before)\n"
        "try: del sys.stdout.set_parent\n"
        "except AttributeError as error: print(error)") == [
            ("stdout", "7 True\nTrue\nset_parent\n")]


def test_a_forked_child_is_not_the_master(kernel):
    assert kernel.run(
        "import os, sys\nsys.stdout._is_master_process()\nif os.fork() == 0:\n"
        "    os.write(1, repr(sys.stdout._is_master_process()).encode()); os._exit(0)\n"
        "_ = os.wait()") == [("stdout", "False")]


def test_looking_for_other_names_loads_nothing(fresh):
    assert fresh.run(
        "import sys\nprint(hasattr(sys.stdout, 'nonsense'), hasattr(sys.stderr, '_ipython_'),\n"
        "      'einkorn.outstream' in sys.modules)") == [("stdout", "False False False\n")]
