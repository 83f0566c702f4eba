"""
Issue 6, "Inline figures": what matplotlib draws is in the cell's output, by a backend of
Einkorn's own where IPython is not. That the pictures are ipykernel's says test_same_as_ipykernel.
"""

from client import plain, text

ONE_AXES = "<Figure size 640x480 with 1 Axes>"
SLOW = """
import threading
class Slow(plt.Line2D):
    def draw(self, renderer):
        print("go")
        threading.Event().wait()
def slow():
    plt.figure().subplots().add_line(Slow([1], [2]))
"""
MODULES = "import sys; print([n for n in sys.modules if 'matplotlib' in n or n == 'einkorn.inline'])"


def kinds(shown):
    """Streams as they are, of everything else its kind and the MIME types."""
    return [item if item[0] in ("stdout", "stderr", "error") else (item[0], *sorted(item[1]))
            for item in shown]


PICTURE = ("display", "image/png", "text/plain")
RESULT = ("result", "image/png", "text/plain")


def test_figures_appear_once_and_do_not_pile_up(start):
    """C045: without any setting, once, before idle, closed after each cell, also after an error."""
    kernel = start()
    shown = kernel.run("import matplotlib\nimport matplotlib.pyplot as plt\n"
                       "print('inline' in matplotlib.get_backend())\nplt.plot([1, 2, 3])\n"
                       "print('after plot')")
    assert kinds(shown) == [("stdout", "True\nafter plot\n"), PICTURE]
    assert shown[1][1]["text/plain"] == ONE_AXES
    assert shown[1][1]["image/png"].startswith("iVBORw0KGgo")
    assert kinds(kernel.run("fig, ax = plt.subplots(figsize=(2, 2))\nax.plot([1, 2]);")) == [PICTURE]
    assert kinds(kernel.run("fig")) == [RESULT]
    assert kinds(kernel.run("plt.plot([3])\nplt.show()\nprint('between')\nplt.plot([4])\n"
                            "plt.show()")) == [PICTURE, ("stdout", "between\n"), PICTURE]
    failed = kernel.fail("plt.plot([1])\n1 / 0")
    assert kinds(failed.outputs) == [("error", "ZeroDivisionError", "division by zero"), PICTURE]
    assert kernel.run("print(plt.get_fignums())") == [("stdout", "[]\n")]
    assert kinds(kernel.run("from matplotlib.figure import Figure\nf = Figure(figsize=(1, 1))\n"
                            "f.subplots().plot([1, 2])\nf")) == [RESULT]
    assert kernel.run("plt.figure()\nplt.close()\nprint('none')") == [("stdout", "none\n")]
    shown = kernel.run("import einkorn.inline as inline\ninline.set_matplotlib_formats('svg')\n"
                       "plt.plot([1]);")
    assert kinds(shown) == [("display", "image/svg+xml", "text/plain")]
    assert shown[0][1]["image/svg+xml"].startswith("<?xml")


def test_a_session_without_matplotlib_loads_nothing_of_it(start):
    """Issue: a plain session that never needs it never pays for it."""
    kernel = start()
    kernel.run("class A: pass\ndisplay(A())\nA()")
    assert kernel.run(MODULES) == [("stdout", "[]\n")]


def test_a_figure_without_pyplot(start):
    """A Figure shows itself though nobody has asked pyplot for a backend."""
    kernel = start()
    assert kinds(kernel.run("from matplotlib.figure import Figure\nf = Figure()\nf.subplots()\nf")
                 ) == [RESULT]
    assert kinds(kernel.run("display(f)")) == [PICTURE]
    assert kernel.run("import sys\nprint('matplotlib.pyplot' in sys.modules)"
                      ) == [("stdout", "False\n")]


def test_ioff_before_the_first_figure(start):
    """plt.ioff() holds although the backend is loaded after it."""
    kernel = start()
    assert kernel.run("import matplotlib.pyplot as plt\nplt.ioff()\nplt.figure().subplots()\n"
                      "print(plt.get_fignums())") == [("stdout", "[1]\n")]
    assert kinds(kernel.run("plt.show()")) == [PICTURE]


# --- whose backend --------------------------------------------------------------------


def test_what_the_user_chose_stands(start):
    """Issue: set unless the user did. By the variable, by matplotlib.use(), by switch_backend()."""
    kernel = start(env={"MPLBACKEND": "svg"})
    assert kernel.run("import matplotlib.pyplot as plt\nplt.plot([1])\n"
                      "print(plt.get_backend(), plt.isinteractive())") == [("stdout", "svg False\n")]
    kernel = start()
    assert kernel.run("import os\nos.environ['MPLBACKEND'] = 'agg'\n"
                      "import matplotlib.pyplot as plt\nplt.plot([1])\nprint(plt.get_backend())"
                      ) == [("stdout", "agg\n")]
    kernel = start()
    assert kernel.run("import matplotlib\nmatplotlib.use('pdf')\nimport matplotlib.pyplot as plt\n"
                      "plt.plot([1])\nprint(plt.get_backend())") == [("stdout", "pdf\n")]
    assert kinds(kernel.run("plt.close()\nplt.switch_backend('module://einkorn.inline')\n"
                            "plt.plot([1]);")) == [PICTURE]


def test_the_variable_of_another_kernel(start):
    """A kernel that was started from a cell under ipykernel inherits a backend it cannot load."""
    kernel = start(env={"MPLBACKEND": "module://matplotlib_inline.backend_inline"})
    assert kinds(kernel.run("import matplotlib.pyplot as plt\nplt.plot([1]);")) == [PICTURE]


def test_a_program_that_a_cell_starts_can_plot(kernel):
    """It has no module of ours, so it must not inherit the name of one."""
    assert kernel.run(
        "import os, subprocess, sys\nprint(os.environ.get('MPLBACKEND') or None)\n"
        "code = 'import matplotlib.pyplot as p; p.plot([1]); p.show(); print(p.get_backend())'\n"
        "done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True,\n"
        "                      env={k: v for k, v in os.environ.items() if k != 'DISPLAY'})\n"
        "print(done.stdout, done.stderr)") == [("stdout", "None\nagg\n \n")]


def test_a_module_of_the_users_with_that_name(start, tmp_path):
    (tmp_path / "matplotlib.py").write_text("answer = 42")
    kernel = start(cwd=tmp_path)
    assert kernel.run("import matplotlib\nmatplotlib.answer") == [("result", text("42"))]


# --- when -----------------------------------------------------------------------------


def test_a_comm_message_shows_its_figures(kernel):
    """As post_execute does under ipykernel: in the output of the message, and closed."""
    kernel.run("from einkorn.comms import get_comm_manager\n"
               "def target(comm, message):\n    comm.on_msg(lambda message: plt.plot([1]))\n"
               "get_comm_manager().register_target('plot', target)")
    kernel.iopub(kernel.send("shell", "comm_open",
                             {"comm_id": "c", "target_name": "plot", "data": {}}))
    heard = kernel.iopub(kernel.send("shell", "comm_msg", {"comm_id": "c", "data": {}}))
    assert [m.state or m.type for m in heard] == ["busy", "display_data", "idle"]
    assert heard[1].content["data"]["text/plain"] == ONE_AXES
    assert kernel.run("print(plt.get_fignums())") == [("stdout", "[]\n")]
    kernel.iopub(kernel.send("shell", "comm_close", {"comm_id": "c", "data": {}}))


def test_a_completion_shows_nothing(kernel):
    """Figures that are open when a completion ends wait for the end of a cell."""
    kernel.run("class Plots:\n    def __dir__(self):\n        plt.plot([1])\n        return []\n"
               "plots = Plots()")
    request = {"code": "plots.", "cursor_pos": 6}
    assert kernel.finish(kernel.send("shell", "complete_request", request)).outputs == []
    assert set(kinds(kernel.run("print(len(plt.get_fignums()) > 0)"))) == {
        ("stdout", "True\n"), PICTURE}


def test_figure_show(kernel):
    """figure.show() shows what the end of the cell would not, and nothing twice."""
    assert kinds(kernel.run("fig, ax = plt.subplots()\nfig.show()\nprint('shown')")) == [
        ("stdout", "shown\n"), PICTURE]
    assert kinds(kernel.run("with plt.ioff():\n    fig = plt.figure()\nfig.subplots()\n"
                            "fig.show()\nprint('shown')\nplt.close()")) == [
        PICTURE, ("stdout", "shown\n")]


def test_a_figure_that_is_closed_is_let_go(kernel):
    """A cell that saves and closes one figure after the other does not hold them all."""
    assert kernel.run("import gc, weakref\nref = weakref.ref(plt.figure())\nplt.close()\n"
                      "gc.collect()\nprint(ref())") == [("stdout", "None\n")]


# --- what goes wrong ------------------------------------------------------------------


def test_a_figure_that_cannot_be_drawn(kernel):
    """It is told, with the traceback; the cell is well, and so are the other figures."""
    wrong = "plt.title(r'$\\wrong$')\n"
    for code in (wrong + "plt.figure().subplots();", wrong + "plt.show()\nplt.plot([1]);"):
        result = kernel.execute(code)
        assert result.status == "ok"
        assert kinds(result.outputs)[0][:2] == ("error", "ValueError")
        assert kinds(result.outputs)[1:] == [("display", "text/plain"), PICTURE]
        assert "print_figure" in plain(result.body[0].content["traceback"])
    result = kernel.execute(wrong + "fig = plt.gcf()\nplt.close()\nfig")
    assert result.status == "ok"
    assert kinds(result.outputs)[1:] == [("result", "text/plain")]


def test_an_interrupt_while_figures_are_drawn(kernel):
    """At the end of a cell it is told, and the figures are closed; in plt.show() it ends the cell."""
    kernel.run(SLOW)
    running = kernel.started("slow()")
    kernel.interrupt()
    result = kernel.finished(running)
    assert result.status == "ok"
    assert kinds(result.outputs) == [("stdout", "go\n"), ("error", "KeyboardInterrupt", "")]
    running = kernel.started("slow()\nplt.show()\nprint('not reached')")
    kernel.interrupt()
    result = kernel.finished(running)
    assert result.error == ("KeyboardInterrupt", "")
    assert kernel.run("print(plt.get_fignums())") == [("stdout", "[]\n")]
