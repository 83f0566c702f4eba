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
