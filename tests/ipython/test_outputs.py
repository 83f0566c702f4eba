"""What IPython keeps of each cell for %notebook: as much as ipykernel, but bounded, and no slower."""

import json

from client import text
from processes import resident


def test_notebook_has_what_cells_have_shown(start, tmp_path):
    """In the order of showing; an awaiting cell's streams too; nothing of a hidden cell."""
    kernel, path = start(args=["--shell=ipython"]), tmp_path / "out.ipynb"
    kernel.run("import sys\nprint('one')\nprint('two', file=sys.stderr)\ndisplay('shown')\n"
               "print('three')\n4")
    kernel.execute("print('hidden')", silent=True)
    kernel.execute("print('unstored')", store_history=False)
    kernel.run("import asyncio\nawait asyncio.sleep(0)\nsys.stdout.buffer.write('fünf'.encode())\n"
               "print('x' * 3, '\\udc80')")
    kernel.fail("1 / 0")
    kernel.run(f"%notebook {path}")
    cells = [[(output["output_type"], output.get("name"),
               "".join(output.get("text", output.get("data", {}).get("text/plain", []))))
              for output in cell["outputs"]] for cell in json.loads(path.read_text())["cells"]]
    assert cells == [
        [("stream", "stdout", "one\n"), ("stream", "stderr", "two\n"),
         ("stream", "stdout", "three\n"), ("execute_result", None, "4")],
        [("stream", "stdout", "fünfxxx \ufffd\n")],
        [("error", None, "")]]


def test_what_is_kept_is_bounded(start):
    """As the text of cells is: the newest 1000. IPython keeps them all."""
    kernel = start(args=["--shell=ipython"])
    for number in range(1020):
        kernel.execute(f"print({number})\n{number} // {number % 2}")
    kernel.run("import linecache\nshell = get_ipython()\nhistory = shell.history_manager")
    assert kernel.run("len(history.outputs), len(history.output_hist_reprs)"
                      )[0][1]["text/plain"] == "(999, 500)"
    assert kernel.run("max(history.exceptions), min(history.exceptions)"
                      ) == [("result", text("(1019, 23)"))]
    assert kernel.run("len(shell.compile._filename_map), "
                      "len([name for name in linecache.cache if 'ipykernel_' in name])"
                      ) == [("result", text("(1000, 1000)"))]


def test_a_flood_is_not_kept(start):
    """100 MB of text leave no trace; the start of each cell's output is kept."""
    kernel = start(args=["--shell=ipython", "--max-output", "0"])
    kernel.execute("for i in range(10_000): print('word ' * 100)")
    before = resident(kernel.worker)
    for write in ("print('word ' * 100)", "sys.stdout.write('word ' * 100)",
                  "sys.stdout.write('wörd ' * 10_000) if i % 100 == 0 else None"):
        kernel.execute(f"import sys\nfor i in range(50_000): {write}", silent=False)
    assert resident(kernel.worker) - before < 20_000
    assert kernel.run("[len(output.bundle['stream'][0]) // 50_000 for count in (1, 2, 3)\n"
                      " for output in get_ipython().history_manager.outputs[count]]"
                      ) == [("result", text("[19, 19, 19]"))]


def test_many_cells_with_much_output_are_not_kept(start):
    kernel = start(args=["--shell=ipython"])
    for _ in range(30):
        kernel.execute("print('x' * 900_000)\n'y' * 900_000")
    kernel.run("kept = get_ipython().history_manager.outputs")
    assert int(kernel.run("len(kept)")[0][1]["text/plain"]) < 10
    assert int(kernel.run("max(kept)")[0][1]["text/plain"]) >= 30
