"""Figures by matplotlib_inline: what a session that begins with a plot shows, from the first cell on."""

import pytest

THEIRS = "module://matplotlib_inline.backend_inline"
PICTURE = ("display", "image/png", "text/plain")


@pytest.fixture
def fresh(start, tmp_path):
    """A kernel without a setting of the user's."""
    return start(env={"MPLBACKEND": "", "IPYTHONDIR": str(tmp_path)})


def kinds(shown):
    """Streams and errors as they are, of everything else its kind and the MIME types."""
    return [item if item[0] in ("stdout", "stderr", "error") else (item[0], *sorted(item[1]))
            for item in shown]


def test_the_variable_is_there_and_nothing_is_loaded_for_it(fresh):
    """Issue: MPLBACKEND set. A child inherits it, as under ipykernel."""
    assert fresh.run("import os, sys\nprint(os.environ['MPLBACKEND'])\n"
                     "print([n for n in sys.modules if n.startswith(('matplotlib', 'IPython.'))])"
                     ) == [("stdout", f"{THEIRS}\n[]\n")]


def test_the_users_variable_stands(start, tmp_path):
    kernel = start(env={"MPLBACKEND": "agg", "IPYTHONDIR": str(tmp_path)})
    assert kernel.run("import os\nprint(os.environ['MPLBACKEND'])") == [("stdout", "agg\n")]


def test_the_first_cell_plots(fresh):
    """C045, from the very first cell, which loads IPython in its course: once, and closed."""
    assert kinds(fresh.run("import matplotlib\nimport matplotlib.pyplot as plt\n"
                           "plt.plot([1, 2, 3])\nprint(matplotlib.get_backend())")) in (
        [("stdout", f"{name}\n"), PICTURE] for name in ("inline", THEIRS))
    assert fresh.run("print(plt.get_fignums())") == [("stdout", "[]\n")]
    assert kinds(fresh.fail("plt.plot([1])\n1 / 0").outputs) == [
        ("error", "ZeroDivisionError", "division by zero"), PICTURE]
    assert kinds(fresh.run("%config InlineBackend.figure_format = \"svg\"\nplt.plot([1]);")) == [
        ("display", "image/svg+xml", "text/plain")]


def test_plain_is_asked_for(start, tmp_path):
    """--shell=plain: IPython is there and not used, so the backend is ours."""
    kernel = start(args=("--shell=plain",), env={"MPLBACKEND": THEIRS, "IPYTHONDIR": str(tmp_path)})
    assert kinds(kernel.run("import matplotlib.pyplot as plt\nplt.plot([1])\n"
                            "print(plt.get_backend())")) == [
        ("stdout", "module://einkorn.inline\n"), PICTURE]
