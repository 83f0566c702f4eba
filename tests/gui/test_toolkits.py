"""
%gui with the toolkits themselves, each with its windows, on an Xvfb of the tests' own.
"""

import os
import subprocess

import pytest

import client

# What shows a window, calls a function once and often, and closes the window, as each has it.
QT = """
from {package} import QtCore, QtWidgets
window = QtWidgets.QLabel("Einkorn"); window.show()
def later(f): QtCore.QTimer.singleShot(0, f)
ticker = QtCore.QTimer(); ticker.timeout.connect(lambda: tick())
def often(): ticker.start(1)
def never(): ticker.stop()
def close(): window.close()
def is_seen(): return window.isVisible()
"""
GTK = """
import gi; gi.require_version("Gtk", "{version}")
from gi.repository import GLib, Gtk
window = Gtk.Window(title="Einkorn"); window.{show}()
def later(f): GLib.idle_add(lambda: f() and None)
def often(): global ticker; ticker = GLib.timeout_add(1, lambda: tick() or True)
def never(): GLib.source_remove(ticker)
def close(): window.close()
def is_seen(): return window.get_mapped()
"""
TK = """
import tkinter
window = tkinter.Tk()
def later(f): window.after(0, f)
def often():
    global ticker
    def again():
        global ticker
        tick(); ticker = window.after(1, again)
    ticker = window.after(1, again)
def never(): window.after_cancel(ticker)
def close():
    window.update_idletasks()  # what Tk itself has put off fails, and is told, without a window
    window.destroy()
def is_seen(): return bool(window.winfo_viewable())
"""
WX = """
import wx
window = wx.Frame(None, title="Einkorn"); window.Show()
later = wx.CallAfter
ticker = wx.Timer(); ticker.Bind(wx.EVT_TIMER, lambda event: tick())
def often(): ticker.Start(1)
def never(): ticker.Stop()
def close(): window.Close()
def is_seen(): return window.IsShown()
"""
TOOLKITS = {
    "qt5": QT.format(package="PyQt5"),
    "qt6": QT.format(package="PyQt6"),
    "pyside6": QT.format(package="PySide6"),
    "gtk3": GTK.format(version="3.0", show="show_all"),
    "gtk4": GTK.format(version="4.0", show="present"),
    "tk": TK,
    "wx": WX,
}
COUNT = "count = 0\ndef tick():\n    global count\n    count += 1\n"
PACKAGES = ["PyQt5", "PyQt6", "PySide6", "gi", "tkinter"]
PYSIDE = {"QT_API": "pyside6"}  # without it PyQt goes first
DEBIANS = "/usr/lib/python3/dist-packages"


@pytest.fixture(scope="module")
def display():
    """The name of a display that shows nothing."""
    read, write = os.pipe()
    server = subprocess.Popen(["Xvfb", "-displayfd", str(write), "-noreset", "-screen", "0",
                               "640x480x24"],
                              pass_fds=[write], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(write)
    with open(read) as number:
        name = f":{number.readline().strip()}"
    yield name
    server.terminate()
    server.wait(client.DEADLINE)


@pytest.fixture
def environment(display, tmp_path):
    """Of a kernel that finds all of the toolkits; Debian's Python has two of them."""
    for name in ("gi", "cairo", "wx"):
        (tmp_path / name).symlink_to(f"{DEBIANS}/{name}")
    return {"DISPLAY": display, "PYTHONPATH": str(tmp_path),
            "GSETTINGS_BACKEND": "memory", "NO_AT_BRIDGE": "1", "XDG_RUNTIME_DIR": str(tmp_path)}


@pytest.fixture(params=TOOLKITS)
def kernel(start, environment, request):
    """One that has the toolkit's loop, and a window.  PySide6 is asked for in the environment."""
    asked = PYSIDE if request.param == "pyside6" else {}
    kernel = start(env={**environment, **asked})
    kernel.gui = request.param
    kernel.run(f"%gui {'qt' if asked else request.param}")
    kernel.run(TOOLKITS[request.param] + COUNT)
    return kernel


def wait_for(kernel, line):
    """What is printed between cells may come with what stands beside it."""
    kernel.take("iopub", lambda m: line in m.content.get("text", ""))


def end(kernel):
    """What else the toolkit has said, or says, is not the matter."""
    kernel.run("%gui")
    kernel.queue["iopub"].clear()


def value(kernel, code):
    return kernel.run(code)[0][1]["text/plain"]


def test_the_loop_runs_between_cells_and_requests_are_answered(kernel):
    kernel.run("later(lambda: print('once'))")
    wait_for(kernel, "once\n")
    kernel.run("often(); later(lambda: print('again'))")
    wait_for(kernel, "again\n")
    before = int(value(kernel, "count"))
    kernel.run("def tick():\n    global count\n    count += 1\n    if count == before + 5: print('five')\n"
               f"before = count = {before}")
    wait_for(kernel, "five\n")
    for i in range(20):  # a request is looked at while timers fire
        assert value(kernel, f"{i} + 1") == str(i + 1)
    kernel.run("never()")
    assert kernel.run("is_seen()") == [("result", client.text("True"))]


def test_asyncio_goes_on_beside_it(kernel):
    kernel.run("import asyncio\nasync def go():\n    await asyncio.sleep(0.01)\n    print('task')\n"
               "    later(lambda: print('both'))\nt = asyncio.create_task(go())")
    wait_for(kernel, "both\n")


def test_a_closed_window_does_not_end_the_loop(kernel):
    kernel.run("close()")
    assert kernel.run("1 + 1") == [("result", client.text("2"))]
    kernel.run(TOOLKITS[kernel.gui] + "later(lambda: print('another'))")
    wait_for(kernel, "another\n")


def test_an_interrupt_ends_a_callback_that_blocks(kernel):
    kernel.run("import time\ndef block():\n    print('blocks')\n    time.sleep(600)\nlater(block)")
    wait_for(kernel, "blocks\n")
    request = kernel.send_execute("'after'")
    kernel.take("iopub", lambda m: m.type == "execute_input" and m.parent_id == request)
    kernel.interrupt()
    kernel.reply("shell", request)
    kernel.iopub(request)
    kernel.run("later(lambda: print('alive'))")
    wait_for(kernel, "alive\n")
    end(kernel)


def test_an_error_in_a_callback_is_shown_and_the_loop_goes_on(kernel):
    kernel.run("later(lambda: 1 / 0)")
    kernel.take("iopub", lambda m: "ZeroDivisionError" in m.content.get("text", ""))
    kernel.run("later(lambda: print('alive'))")
    wait_for(kernel, "alive\n")
    end(kernel)


def test_it_is_switched_off_and_another_on(kernel):
    kernel.run("often()\n%gui")
    before = value(kernel, "count")
    assert value(kernel, "count") == before
    kernel.run("never()\n%gui asyncio")


FIGURE = """
import matplotlib, matplotlib.pyplot as plt
figure, axes = plt.subplots()
axes.plot([1, 2])
plt.show()
drawn = []
figure.canvas.mpl_connect('draw_event', lambda event: drawn.append(1) or print('drawn'))
timer = figure.canvas.new_timer(interval=10)
timer.add_callback(lambda: print('timer'))
timer.single_shot = True
"""


@pytest.mark.parametrize("name, backend, package, asked", [
    ("qt", "qtagg", "PyQt6", {}), ("qtagg", "qtagg", "PyQt6", {}), ("qt6", "qtagg", "PyQt6", {}),
    ("qt5", "qt5agg", "PyQt5", {}), ("qt", "qtagg", "PyQt5", {"QT_API": "pyqt5"}),
    ("qt", "qtagg", "PySide6", PYSIDE), ("qt6", "qtagg", "PySide6", PYSIDE),
    ("gtk3", "gtk3agg", "gi", {}), ("gtk4", "gtk4agg", "gi", {}), ("tk", "tkagg", "tkinter", {}),
])
def test_a_figure_in_a_window(start, environment, name, backend, package, asked):
    """plt.show() does not block, and the figure is drawn between cells, by one toolkit only."""
    kernel = start(env={**environment, **asked})
    kernel.execute(f"%matplotlib {name}")
    kernel.execute(FIGURE)
    assert value(kernel, "plt.get_backend()") == repr(backend)
    assert value(kernel, f"import sys\n[name for name in {PACKAGES} if name in sys.modules]") == (
        f"[{package!r}]")
    kernel.run("timer.start()")
    wait_for(kernel, "timer\n")
    kernel.run("axes.plot([2, 1]); figure.canvas.draw_idle()")
    wait_for(kernel, "drawn\n")
    kernel.run("plt.close(figure)")
    assert value(kernel, "plt.get_fignums()") == "[]"
    end(kernel)
