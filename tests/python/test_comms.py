"""Comms: with the package ``comm`` where it is installed, and without it."""

import importlib.util

import pytest

PACKAGE = "from comm import create_comm, get_comm_manager\n"
OURS = "from einkorn.comms import create_comm, get_comm_manager\n"
HAVE_PACKAGE = importlib.util.find_spec("comm") is not None

TARGET = """
def opened(comm, message):
    comm.on_msg(lambda m: (print("msg", m["content"]["data"], [bytes(b) for b in m["buffers"]]),
                           comm.send({"echo": m["content"]["data"]}, buffers=m["buffers"])))
    comm.on_close(lambda m: print("closed", m["content"]["data"]))
    print("opened", comm.comm_id, comm.target_name, message["content"]["data"])
def fails(comm, message):
    1/0
def leaves(comm, message):
    comm.close({"bye": 1})
    raise SystemExit(3)
manager = get_comm_manager()
manager.register_target("mine", opened)
manager.register_target("fails", fails)
manager.register_target("leaves", leaves)
"""


def sources():
    """The two ways to comms; the package's only where it is installed."""
    return [OURS, PACKAGE] if HAVE_PACKAGE else [OURS]


def send(kind, comm_id, data=None, buffers=(), **content):
    """A step: a client sends a comm message."""
    message = {
        "header": {"msg_type": kind}, "parent_header": {}, "metadata": {},
        "content": {"comm_id": comm_id, "data": data or {}, **content}, "buffers": list(buffers),
    }  # fmt: skip
    return {"call": "comm", "arguments": [kind, message]}


@pytest.mark.parametrize("source", sources())
def test_a_client_opens_speaks_and_closes(shell, source):
    results = shell(
        source + TARGET, send("comm_open", "c1", {"a": 1}, target_name="mine"),
        "manager.comms['c1'].target_name, manager.get_comm('c1').primary, manager.get_comm('c2')",
        send("comm_msg", "c1", {"b": 2}, ["bytes"]), send("comm_close", "c1", {"c": 3}),
        send("comm_msg", "c1"), "manager.comms",
    )  # fmt: skip
    assert results[1].stdout == "opened c1 mine {'a': 1}\n"
    assert results[2].text == "('mine', False, None)"
    assert results[3].stdout == "msg {'b': 2} [b'bytes']\n"
    assert results[3].of("comm_msg") == [
        {"type": "comm_msg", "comm_id": "c1", "data": {"echo": {"b": 2}}, "metadata": {},
         "buffers": ["bytes"]}
    ]  # fmt: skip
    assert results[4]["messages"] == [{"type": "stream", "name": "stdout",
                                       "text": "closed {'c': 3}\n"}]  # fmt: skip
    assert results[5]["messages"] == [] and results[6].text == "{}"
    assert [item.get("result") for item in results if "result" in item] == [None] * 4


@pytest.mark.parametrize("source", sources())
def test_what_nobody_waits_for_is_closed_or_ignored(shell, source):
    results = shell(
        source + TARGET, send("comm_open", "c1", target_name="unknown"), send("comm_msg", "c9"),
        send("comm_close", "c9"), send("comm_open", "c2", target_name="fails"),
        send("comm_open", "c3", target_name="leaves"), "manager.comms",
        "manager.unregister_target('mine', opened) is opened",
        send("comm_open", "c4", target_name="mine"),
    )  # fmt: skip

    def close(comm_id, data):
        return {
            "type": "comm_close",
            "comm_id": comm_id,
            "data": data,
            "metadata": {},
            "buffers": [],
        }

    assert results[1]["messages"] == [close("c1", {})]
    assert results[2]["messages"] == results[3]["messages"] == []
    assert results[4].of("comm_close") == [close("c2", {})]
    assert "ZeroDivisionError\x1b[0m: division by zero\n" in results[4].stderr
    assert "in fails" in results[4].stderr.replace("\x1b[36m", "")
    assert "comms.py" not in results[4].stderr
    assert results[5].of("comm_close") == [close("c3", {"bye": 1})]
    assert "SystemExit" in results[5].stderr and results[6].text == "{}"
    assert results[7].text == "True" and results[8].of("comm_close") == [close("c4", {})]


@pytest.mark.parametrize("source", sources())
def test_a_cell_opens_speaks_and_closes(shell, source):
    results = shell(
        source + "c = create_comm(target_name='there', data={'a': 1}, metadata={'m': 2},\n"
        "                buffers=[b'one', memoryview(b'two')])",
        "c.on_msg(lambda m: print(m['content']['data']))\n"
        "print(len(c.comm_id), get_comm_manager().comms == {c.comm_id: c})\n"
        "c.send({'b': 2}, {'n': 3}, [bytearray(b'three')])\n"
        "import sys; hooks = sys.modules['einkorn.hooks']\n"
        "hooks.comm('comm_msg', {'content': {'comm_id': c.comm_id, 'data': 4}})",
        "c.close({'d': 5}); c.close(); get_comm_manager().comms",
        "d = create_comm('there', comm_id='given'); get_comm_manager().unregister_comm(d); del d",
        "try:\n    get_comm_manager().unregister_comm(c)\nexcept KeyError: print('unknown')",
        "e = create_comm('there', comm_id='again', primary=False)\ne.open()",
    )  # fmt: skip
    opened = results[0]["messages"][0]
    assert len(opened.pop("comm_id")) == 32
    assert opened == {
        "type": "comm_open", "target_name": "there", "target_module": None, "data": {"a": 1},
        "metadata": {"m": 2}, "buffers": ["one", "two"],
    }  # fmt: skip
    assert results[1].stdout == "32 True\n4\n"
    sent = results[1].of("comm_msg")[0]
    assert (sent["data"], sent["metadata"], sent["buffers"]) == ({"b": 2}, {"n": 3}, ["three"])
    assert [item["data"] for item in results[2].of("comm_close")] == [{"d": 5}]
    assert results[2].text == "{}"
    assert [item["type"] for item in results[3]["messages"]] == ["comm_open", "comm_close"]
    assert results[4].stdout == "unknown\n"
    assert [item["type"] for item in results[5]["messages"]] == ["comm_open"]


def test_a_comm_that_cannot_be_opened_is_not_kept(shell):
    cell = "import _einkorn\n_einkorn.publish = None\ntry:\n    create_comm()\n"
    cell += "except TypeError: print(get_comm_manager().comms)"
    result = shell(OURS + cell)[0]
    assert result.stdout == "{}\n"


def test_targets_can_be_named(shell):
    results = shell(
        OURS + "m = get_comm_manager()\nm.register_target('p', 'pprint.pprint')\n"
        "m.register_target('t', 'antigravity_not_there.x')",
        "m.register_target('q', 'pprint.no_such')",
        "import pprint\nm.targets['p'] is pprint.pprint",
    )  # fmt: skip
    assert [item.get("ename") for item in results] == ["ModuleNotFoundError", "ImportError", None]
    assert results[2].text == "True"


def test_a_users_own_module_named_comm_is_left_alone(shell, tmp_path):
    (tmp_path / "comm.py").write_text("mine = 1")
    result = shell("import sys; sys.path.insert(0, ''); import comm\n"
                   "comm.mine, hasattr(comm, 'create_comm')")[0]  # fmt: skip
    assert result.text == "(1, False)"


def test_the_package_leads_here_whenever_it_is_imported(shell):
    if not HAVE_PACKAGE:
        return  # the other tests have shown what there is then
    results = shell(
        OURS + "first = create_comm('early')",
        "import comm, comm.base_comm, importlib\nlate = comm.create_comm('late')\n"
        "isinstance(late, comm.base_comm.BaseComm), sorted(c.target_name for c in "
        "comm.get_comm_manager().comms.values()), comm.get_comm_manager is get_comm_manager",
        "importlib.reload(comm); comm.create_comm('x').target_name",
        "class Own(comm.base_comm.BaseComm):\n"
        "    def publish_msg(self, kind, **keys): print(kind)\n"
        "own = Own(); own.on_msg(lambda m: print('got', m['content']['data']))\n"
        "import sys; sys.modules['einkorn.hooks'].comm('comm_msg', "
        "{'content': {'comm_id': own.comm_id, 'data': 1}})\nown.close()",
    )  # fmt: skip
    assert results[1].text == "(True, ['early', 'late'], True)"
    assert results[2].text == "'x'"
    assert results[3].stdout == "comm_open\ngot 1\ncomm_close\n"


def test_a_reply_gives_clients_time_for_what_an_output_widget_captured(shell):
    """nbclient sends the widget's state on shell, past asyncio, and misses a reply that has come there."""
    says = "create_comm().send({{'method': 'update', 'state': {}}})"
    results = shell(
        OURS + "import time\nslept, time.sleep = [], lambda seconds: slept.append(seconds)",
        says.format("{'value': 1}"), says.format("None"), "create_comm().send('msg_id')", "slept",
        says.format("{'msg_id': 'a'}") + "\n" + says.format("{'msg_id': ''}"), "slept", "slept",
    )  # fmt: skip
    assert [result.text for result in results[4:]] == ["[]", None, "[0.05]", "[0.05]"]
