"""
Widgets that live while a cell runs (issue 6, "Display and comms"): the protocol of ipywidgets over
raw sockets, as a notebook's page speaks it.
"""

import pytest

from client import text

IMPORT = "import asyncio, einkorn, time\nimport ipywidgets as w\n"


@pytest.fixture
def widgets(kernel):
    kernel.execute(IMPORT)
    return kernel


def made(kernel, code):
    """Runs a cell that makes a widget. -> the comm_id of the last one that was opened"""
    msg_id = kernel.send_execute(code)
    kernel.reply("shell", msg_id)
    opened = [m for m in kernel.iopub(msg_id) if m.type == "comm_open"]
    assert opened, code
    return opened[-1].content["comm_id"]


def say(kernel, comm_id, data, buffers=()):
    """A message of the page, and what it leads to: all with it as parent."""
    return kernel.iopub(kernel.send("shell", "comm_msg", {"comm_id": comm_id, "data": data},
                                    buffers=buffers))


def click(kernel, comm_id):
    return say(kernel, comm_id, {"method": "custom", "content": {"event": "click"}})


def update(kernel, comm_id, **state):
    return say(kernel, comm_id, {"method": "update", "state": state, "buffer_paths": []})


def test_a_future_that_a_button_sets_during_an_await(widgets):
    button = made(widgets, "button = w.Button(description='go')")
    running = widgets.started("clicked = asyncio.get_running_loop().create_future()\n"
                              "button.on_click(lambda b: (print('click'), clicked.set_result(b.description)))\n"
                              "print('go')\nprint(await clicked)")
    found = click(widgets, button)
    assert [m.state or m.content["text"] for m in found] == ["busy", "click\n", "idle"]
    assert widgets.finished(running).stdout == "go\ngo\n"


def test_a_slider_that_moves_while_a_plain_cell_works(widgets):
    slider = made(widgets, "slider = w.IntSlider()")
    running = widgets.started("seen = []\nslider.observe(lambda change: seen.append(change.new), 'value')\nprint('go')\n"
                              "while slider.value < 50:\n    einkorn.process_messages()\nprint(seen)")
    for value in (7, 3, 50):
        found = update(widgets, slider, value=value)
        echoes = [m.content["data"] for m in found if m.type == "comm_msg"]
        assert {"method": "echo_update", "state": {"value": value}, "buffer_paths": []} in echoes
    assert widgets.finished(running).stdout == "go\n[7, 3, 50]\n"


@pytest.mark.parametrize("wait", ["await asyncio.sleep(0)", "einkorn.process_messages()"])
def test_binary_state_comes_and_goes(widgets, wait):
    image = made(widgets, "image = w.Image(value=b'first')")
    sent = bytes(range(256)) * 2000
    running = widgets.started("print('go')\nwhile image.value == b'first':\n    %s\n"
                              "print(image.value == bytes(range(256)) * 2000)\nimage.value = image.value[::-1]" % wait)
    say(widgets, image, {"method": "update", "state": {}, "buffer_paths": [["value"]]}, buffers=[sent])
    widgets.reply("shell", running[0])
    found = widgets.iopub(running[0])
    assert "True\n" in "".join(m.content["text"] for m in found if m.type == "stream")
    answer = [m for m in found if m.type == "comm_msg"][-1]
    assert answer.content["data"]["buffer_paths"] == [["value"]]
    assert [bytes(b) for b in answer.buffers] == [sent[::-1]]


def test_a_callback_that_fails_is_told_with_its_message(widgets):
    button = made(widgets, "button = w.Button()")
    running = widgets.started("done = asyncio.Event()\nbutton.on_click(lambda b: 1 / 0)\n"
                              "button.on_click(lambda b: done.set())\nprint('go')\nawait done.wait()")
    found = click(widgets, button)
    said = "".join(str(m.content) for m in found)
    assert "ZeroDivisionError" in said
    assert widgets.finished(running).status == "ok"


def test_a_bar_that_a_cell_moves_is_seen_at_once(widgets):
    bar = made(widgets, "bar = w.IntProgress(max=3)")
    running = widgets.started("print('go')\nfor i in range(1, 4):\n    bar.value = i\n    await asyncio.sleep(0)")
    widgets.reply("shell", running[0])
    moved = [m.content["data"]["state"]["value"] for m in widgets.iopub(running[0])
             if m.type == "comm_msg" and m.content["comm_id"] == bar]
    assert moved == [1, 2, 3]


def test_a_link_of_two_sliders(widgets):
    first = made(widgets, "one = w.IntSlider()")
    made(widgets, "two = w.IntSlider()")
    made(widgets, "link = w.link((one, 'value'), (two, 'value')); three = w.IntSlider()")
    running = widgets.started("print('go')\nwhile two.value != 9:\n    await asyncio.sleep(0)\nprint(two.value)")
    update(widgets, first, value=9)
    assert widgets.finished(running).stdout == "go\n9\n"


def test_between_cells_as_ever(widgets):
    slider = made(widgets, "slider = w.IntSlider()")
    update(widgets, slider, value=4)
    assert widgets.run("slider.value") == [("result", text("4"))]
