"""Issue 5, "Ending", where IPython and what people import are loaded: Python comes to its own end."""

import pytest

from client import within
from finalizers import CELLS, cost_of_end, ends_with_all_done


@pytest.mark.parametrize("name", CELLS)
def test_what_is_left_to_the_end_is_done(start, tmp_path, name):
    ends_with_all_done(start, tmp_path, CELLS[name], args=["--shell=ipython"])


def test_libraries_and_completion_cost_the_end_little(start):
    """Jedi alone leaves a hundred thousand objects, of which nothing needs to be freed."""
    kernel = start()
    kernel.run("import pandas\nframe = pandas.DataFrame({'a': [1]})")
    code = "frame.to_c"
    request = {"code": code, "cursor_pos": len(code)}
    assert "to_csv" in kernel.ask("shell", "complete_request", request).content["matches"]
    assert kernel.execute("import sys\nprint('jedi' in sys.modules)").stdout == "True\n"
    assert cost_of_end(kernel) < within(0.3)


def test_a_finalizer_of_the_shell_is_not_run_twice(start, tmp_path):
    """IPython empties the namespace by a handler of its own: a result is let go once."""
    kernel = start(args=["--shell=ipython"])
    mark = tmp_path / "mark"
    kernel.run(f"""
class Noting:
    def __del__(self, open=open):
        with open({str(mark)!r}, "a") as file:
            file.write("done ")
first = Noting()
first""")
    kernel.run("_1")
    kernel.stop()
    assert mark.read_text() == "done "
