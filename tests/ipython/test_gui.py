"""%gui: the loop of a toolkit runs between requests."""

import pytest

import differential

# A toolkit that the test plays: it waits for what the runner says, and calls what is due.
TOOLKIT = """
import select
from einkorn.ipython import gui

class Toolkit(gui.Loop):
    due = []
    def run(self, fd, seconds):
        while self.due:
            self.due.pop(0)()
        return bool(select.select([fd], [], [], seconds)[0])

gui.LOOPS["toolkit"] = Toolkit
%gui toolkit
"""


@pytest.mark.parametrize("code", [
    "%gui nowhere",
    "get_ipython().enable_gui('nowhere')",
    "%gui asyncio",
    "get_ipython().active_eventloop",
    "%gui inline",
    "%gui",
    "get_ipython().active_eventloop",
    "get_ipython().enable_gui()",
    "%gui asyncio",
    "from ipykernel.eventloops import enable_gui; enable_gui(None)",
])
def test_gui_says_what_it_says_under_ipykernel(pair, code):
    ours = (r"'gtk4', ", "")  # ipykernel does not know it
    pair.same(code, replaced=(*differential.REPLACED, ours))


def test_asyncio_goes_on_between_cells(kernel):
    kernel.run("%gui asyncio\nimport asyncio\nt = asyncio.create_task(asyncio.sleep(0, 'done'))")
    assert kernel.run("await t")[0][1] == {"text/plain": "'done'"}
    kernel.run("%gui")


def test_the_loop_runs_between_cells_and_a_request_ends_it(fresh):
    fresh.run(TOOLKIT)
    fresh.run("Toolkit.due.append(lambda: print('from the toolkit'))")
    fresh.take("iopub", lambda m: m.content.get("text") == "from the toolkit\n")
    assert fresh.run("1 + 1")[0][1] == {"text/plain": "2"}
    fresh.run("%gui")


def test_asyncio_goes_on_beside_a_toolkit(fresh):
    fresh.run(TOOLKIT)
    fresh.run("""
import asyncio
async def speak():
    await asyncio.sleep(0)
    Toolkit.due.append(lambda: print('both'))
t = asyncio.create_task(speak())
""")
    fresh.take("iopub", lambda m: m.content.get("text") == "both\n")


def test_there_is_one_toolkit_at_a_time(fresh):
    fresh.run(TOOLKIT)
    told = fresh.execute("%gui asyncio").stream("stderr")
    assert "Cannot activate multiple GUI eventloops" in told
    fresh.run("%gui\n%gui asyncio")


def test_a_toolkit_that_fails_is_told_of_once(fresh):
    fresh.run(TOOLKIT)
    fresh.run("Toolkit.due.append(lambda: 1 / 0)")
    said = ""
    while "ZeroDivisionError" not in said:
        message = fresh.take("iopub", lambda m: m.type == "stream")
        assert message.content["name"] == "stderr"
        said += message.content["text"]
    assert fresh.run("get_ipython().kernel.eventloop is None")[0][1] == {"text/plain": "True"}


def test_tk_runs_between_cells(fresh):
    """By a Tcl interpreter of the user's own, which needs no display."""
    fresh.run("%gui tk\nimport tkinter\nmine = tkinter.Tcl()\n"
              "def tick():\n    print('tick')\n    mine.tk.quit()")
    fresh.run("mine.after(0, tick);")
    fresh.take("iopub", lambda m: m.content.get("text") == "tick\n")
    fresh.run("mine.after(0, tick);")  # its quit() has not ended the loop
    fresh.take("iopub", lambda m: m.content.get("text") == "tick\n")


def test_tk_is_interrupted_where_a_callback_blocks(fresh):
    fresh.run("%gui tk\nimport tkinter, time\nmine = tkinter.Tcl()\n"
              "def block():\n    print('blocks')\n    time.sleep(600)")
    fresh.run("mine.after(0, block);")
    fresh.take("iopub", lambda m: m.content.get("text") == "blocks\n")
    request = fresh.send_execute("'after'")
    fresh.take("iopub", lambda m: m.type == "execute_input" and m.parent_id == request)
    fresh.interrupt()
    assert fresh.reply("shell", request).content.get("ename", "KeyboardInterrupt") \
        == "KeyboardInterrupt"  # of the callback, or of the cell that was stopped
    fresh.iopub(request)
    assert fresh.run("7")[0][1] == {"text/plain": "7"}
    fresh.queue["iopub"].clear()  # what Tk says of the callback


@pytest.mark.parametrize("name", ["qt", "gtk3", "wx", "macosx"])
def test_a_toolkit_that_is_not_there_is_told_of_in_the_cell(kernel, name):
    told = kernel.execute(f"import sys\nfor n in ('PyQt5', 'PyQt6', 'PySide2', 'PySide6', 'gi', 'wx'):\n"
                          f"    sys.modules[n] = None\n%gui {name}")
    assert told.stream("stderr") != "" or told.status == "error"
    assert kernel.run("get_ipython().kernel.eventloop is None")[0][1] == {"text/plain": "True"}
