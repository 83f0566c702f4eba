"""
ipywidgets over raw sockets, as a notebook's page speaks to them between cells (issue 6, "Display and
comms"): both directions, with buffers.  test_widgets_in_cells.py has what happens while a cell runs.
"""

import json

import pytest

from client import plain, text

IMPORT = """\
import threading
import ipywidgets as w
from IPython.display import display, clear_output, update_display
import numpy as np, traitlets
"""


@pytest.fixture
def widgets(kernel):
    kernel.execute(IMPORT)
    return kernel


def ran(kernel, code):
    """Runs a cell. -> its IOPub messages without busy, execute_input and idle"""
    msg_id = kernel.send_execute(code)
    reply = kernel.reply("shell", msg_id)
    assert reply.content["status"] == "ok", plain(reply.content["traceback"])
    found = kernel.iopub(msg_id)
    return [m for m in found if m.type not in ("status", "execute_input")]


def made(kernel, name, expression):
    """Makes a widget. -> its comm_id"""
    ran(kernel, f"{name} = {expression}")
    return kernel.run(f"print({name}.model_id)")[0][1].strip()


def say(kernel, comm_id, data, buffers=()):
    """A message of the page. -> all that it leads to, without busy and idle"""
    found = kernel.iopub(kernel.send("shell", "comm_msg", {"comm_id": comm_id, "data": data},
                                     buffers=buffers))
    assert (found[0].state, found[-1].state) == ("busy", "idle")
    return found[1:-1]


def update(kernel, comm_id, buffers=(), paths=(), **state):
    return say(kernel, comm_id, {"method": "update", "state": state, "buffer_paths": list(paths)},
               buffers)


def click(kernel, comm_id):
    return say(kernel, comm_id, {"method": "custom", "content": {"event": "click"}})


def states(messages, comm_id):
    """The states that went to a widget's model."""
    return [m.content["data"]["state"] for m in messages
            if m.type == "comm_msg" and m.content["comm_id"] == comm_id
            and m.content["data"]["method"] == "update"]


def texts(messages):
    return "".join(m.content["text"] for m in messages if m.type == "stream")


# --- Models -------------------------------------------------------------------------------------


def test_a_slider_is_opened_shown_and_moved(widgets):
    body = ran(widgets, "slider = w.IntSlider(value=3)\nslider")
    opened = [m for m in body if m.type == "comm_open"]
    assert [m.content["target_name"] for m in opened] == ["jupyter.widget"] * 3
    assert all(m.metadata == {"version": "2.1.0"} for m in opened)
    state = opened[-1].content["data"]["state"]
    assert (state["_model_name"], state["value"]) == ("IntSliderModel", 3)
    comm_id = opened[-1].content["comm_id"]
    view = body[-1].content["data"]["application/vnd.jupyter.widget-view+json"]
    assert view == {"version_major": 2, "version_minor": 0, "model_id": comm_id}
    assert {"value": 8} in [m.content["data"]["state"] for m in update(widgets, comm_id, value=8)]
    assert widgets.run("slider.value") == [("result", text("8"))]
    assert states(ran(widgets, "slider.value = 9"), comm_id) == [{"value": 9}]


def test_a_page_that_asks_for_all_states(widgets):
    comm_id = made(widgets, "image", "w.Image(value=bytes(range(256)))")
    control = "of-the-page"
    found = widgets.iopub(widgets.send("shell", "comm_open", {
        "comm_id": control, "target_name": "jupyter.widget.control", "data": {}},
        metadata={"version": "1.0.0"}))
    assert [m.type for m in found] == ["status", "status"], found
    (answer,) = say(widgets, control, {"method": "request_states"})
    data = answer.content["data"]
    assert (answer.content["comm_id"], data["method"]) == (control, "update_states")
    assert data["states"][comm_id]["model_name"] == "ImageModel"
    index = data["buffer_paths"].index([comm_id, "state", "value"])
    assert bytes(answer.buffers[index]) == bytes(range(256))


def test_a_page_that_asks_for_one_state(widgets):
    comm_id = made(widgets, "text", "w.Text('me')")
    (answer,) = say(widgets, comm_id, {"method": "request_state"})
    assert answer.content["data"]["state"]["value"] == "me"


def test_link_goes_through_python_and_jslink_does_not(widgets):
    first = made(widgets, "one", "w.IntSlider()")
    second = made(widgets, "two", "w.IntSlider()")
    ran(widgets, "link = w.link((one, 'value'), (two, 'value'))")
    assert {"value": 5} in states(update(widgets, first, value=5), second)
    widgets.run("link.unlink()")
    assert states(update(widgets, first, value=6), second) == []
    opened = ran(widgets, "js = w.jslink((one, 'value'), (two, 'value'))")[-1].content["data"]["state"]
    assert opened["_model_name"] == "LinkModel"
    assert (opened["source"], opened["target"]) == ([f"IPY_MODEL_{first}", "value"],
                                                    [f"IPY_MODEL_{second}", "value"])


def test_interact_shows_and_shows_again(widgets):
    body = ran(widgets, "@w.interact(n=(0, 9))\ndef twice(n=2):\n    print(n)\n    return n * 2")
    models = {m.content["data"]["state"]["_model_name"]: m.content["comm_id"] for m in body
              if m.type == "comm_open"}
    shown = [m.content["data"] for m in body if m.type == "display_data"]
    assert texts(body) == "2\n" and text("4") in shown
    found = update(widgets, models["IntSliderModel"], value=4)
    assert [m.type for m in found if m.type != "comm_msg"] == ["clear_output", "stream", "display_data"]
    assert texts(found) == "4\n"
    captured = [state["msg_id"] for state in states(found, models["OutputModel"])]
    assert captured == [found[0].parent_id, ""]


def test_a_progress_bar(widgets):
    bar = made(widgets, "bar", "w.IntProgress(max=3)")
    body = ran(widgets, "for bar.value in range(1, 4): pass\nbar.bar_style = 'success'")
    assert states(body, bar) == [{"value": 1}, {"value": 2}, {"value": 3}, {"bar_style": "success"}]


def test_close_is_told_to_the_page(widgets):
    comm_id = made(widgets, "short", "w.Label('x')")
    assert [(m.type, m.content["comm_id"]) for m in ran(widgets, "short.close()")] == [
        ("comm_close", comm_id)]
    assert say(widgets, comm_id, {"method": "request_state"}) == []


# --- Buffers ------------------------------------------------------------------------------------


def test_files_that_are_uploaded(widgets):
    upload = made(widgets, "upload", "w.FileUpload(multiple=True)")
    files = [{"name": name, "type": "a/b", "size": 3, "last_modified": 0} for name in "ab"]
    update(widgets, upload, buffers=[b"\0\1\2", b"xyz"],
           paths=[["value", 0, "content"], ["value", 1, "content"]], value=files)
    assert widgets.run("[(f.name, bytes(f.content)) for f in upload.value]") == [
        ("result", text(repr([("a", b"\0\1\2"), ("b", b"xyz")])))]


def test_an_array_as_a_trait(widgets):
    widgets.execute("""class Array(w.Widget):
    value = traitlets.Instance(np.ndarray).tag(
        sync=True, to_json=lambda a, _: {'data': memoryview(a), 'shape': list(a.shape)},
        from_json=lambda d, _: np.frombuffer(d['data'], 'f8').reshape(d['shape']))""")
    body = ran(widgets, "array = Array(value=np.arange(6.).reshape(2, 3))\nprint(array.value.sum())")
    (opened,) = [m for m in body if m.type == "comm_open"]
    assert opened.content["data"]["buffer_paths"] == [["value", "data"]]
    sent = bytes(opened.buffers[0])
    assert len(sent) == 48
    update(widgets, opened.content["comm_id"], buffers=[sent[::-1][:16][::-1]],
           paths=[["value", "data"]], value={"shape": [2]})
    assert widgets.run("array.value.tolist()") == [("result", text("[4.0, 5.0]"))]


# --- Output widgets -----------------------------------------------------------------------------


def test_an_output_widget_captures_by_msg_id(widgets):
    out = made(widgets, "out", "w.Output()")
    body = ran(widgets, "print('before')\nwith out:\n    print('in')\n    display(1)\nprint('after')")
    kinds = [m.type if m.type != "comm_msg" else states([m], out)[0] for m in body]
    own = body[0].parent_id
    assert kinds == ["stream", {"msg_id": own}, "stream", "display_data", {"msg_id": ""}, "stream"]
    assert [m.content["text"] for m in body if m.type == "stream"] == ["before\n", "in\n", "after\n"]


def test_an_error_in_an_output_widget_is_shown_there_and_ends_there(widgets):
    out = made(widgets, "out", "w.Output()")
    body = ran(widgets, "with out:\n    1 / 0\nprint('on')")
    kinds = [m.type if m.type != "comm_msg" else states([m], out)[0]["msg_id"] != "" for m in body]
    assert kinds == [True, "error", False, "stream"]
    assert body[1].content["ename"] == "ZeroDivisionError"
    assert "1 / 0" in plain(body[1].content["traceback"])


def test_output_widgets_in_each_other(widgets):
    outer, inner = made(widgets, "outer", "w.Output()"), made(widgets, "inner", "w.Output()")
    body = ran(widgets, "with outer:\n    print('a')\n    with inner:\n        print('b')\n    print('c')")
    names = {outer: "outer", inner: "inner"}
    seen = [m.content["text"] if m.type == "stream" else
            (names[m.content["comm_id"]], m.content["data"]["state"]["msg_id"] != "") for m in body]
    assert seen == [("outer", True), "a\n", ("inner", True), "b\n", ("inner", False), "c\n",
                    ("outer", False)]


def test_an_output_widget_is_filled_from_a_thread(widgets):
    """append_stdout and its kin set the widget's outputs, whoever calls."""
    out = made(widgets, "out", "w.Output()")
    body = ran(widgets, "t = threading.Thread(target=lambda: (out.append_stdout('x'), out.append_display_data(3)))\n"
                        "t.start(); t.join()")
    final = states(body, out)[-1]["outputs"]
    assert [o["output_type"] for o in final] == ["stream", "display_data"]
    assert final[1]["data"] == text("3")


def test_a_page_empties_and_fills_an_output_widget(widgets):
    """The page keeps what was captured; Python knows it from there, and clears it."""
    out = made(widgets, "out", "w.Output()")
    stored = [{"output_type": "stream", "name": "stdout", "text": "x"}]
    update(widgets, out, outputs=stored)
    assert widgets.run("out.outputs == (%r,)" % stored[0]) == [("result", text("True"))]
    kinds = [m.type for m in ran(widgets, "out.clear_output(wait=True)")]
    assert kinds == ["comm_msg", "clear_output", "comm_msg"]


# --- Callbacks ----------------------------------------------------------------------------------


def test_a_button_and_what_its_callbacks_show(widgets):
    button = made(widgets, "button", "w.Button()")
    widgets.run("button.on_click(lambda b: (print('click'), display(b.description or 'none')))")
    found = click(widgets, button)
    assert [m.type for m in found] == ["stream", "display_data"]
    assert widgets.run("'alive'") == [("result", text("'alive'"))]


def test_a_callback_that_fails_is_told_and_harms_nobody(widgets):
    button = made(widgets, "button", "w.Button()")
    widgets.run("button.on_click(lambda b: 1 / 0)\nbutton.on_click(lambda b: print('the other'))")
    found = click(widgets, button)
    (error,) = [m.content for m in found if m.type == "error"]
    assert plain(error["traceback"]).endswith("ZeroDivisionError: division by zero")
    assert "the other\n" in texts(found)


def test_the_events_of_the_shell_fire_for_a_message(widgets):
    """As in ipykernel: pre_execute before a handler, post_execute after it; no cell is run."""
    comm_id = made(widgets, "slider", "w.IntSlider()")
    names = ("pre_execute", "post_execute", "pre_run_cell", "post_run_cell")
    widgets.run("ip = get_ipython(); seen = []; slider.observe(lambda c: seen.append('handler'), 'value')\n"
                "hooks = {name: (lambda *_, name=name: seen.append(name)) for name in %r}\n"
                "for name in hooks: ip.events.register(name, hooks[name])" % (names,))
    widgets.run("seen.clear()")
    update(widgets, comm_id, value=4)
    between = json.loads(widgets.run(
        "for name in hooks: ip.events.unregister(name, hooks[name])\nimport json; print(json.dumps(seen))")[0][1])
    # before it the end of the cell that cleared, behind it the start of the one that asks
    assert between[between.index("handler") - 1:between.index("handler") + 2] == [
        "pre_execute", "handler", "post_execute"]


def test_a_figure_that_a_callback_makes_is_shown_with_it(widgets):
    button = made(widgets, "button", "w.Button()")
    ran(widgets, "%matplotlib inline\nimport matplotlib.pyplot as plt\nbutton.on_click(lambda b: plt.plot([1, 2]))")
    (shown,) = click(widgets, button)
    assert "image/png" in shown.content["data"]
    assert widgets.run("plt.get_fignums()") == [("result", text("[]"))]


def test_a_display_is_updated_from_a_thread_after_idle(widgets):
    """It belongs to the cell that made the thread, not to the one that runs meanwhile."""
    first = widgets.execute("go = threading.Event()\nh = display('old', display_id='kept')\n"
                            "thread = threading.Thread(target=lambda: (go.wait(60), h.update('new')))\nthread.start()")
    second = widgets.execute("go.set(); thread.join()")
    assert second.body == []
    late = widgets.take("iopub", lambda m: m.type == "update_display_data")
    assert late.parent_id == first.reply.parent_id
    assert late.content["data"] == text("'new'")
    assert late.content["transient"] == {"display_id": "kept"}
