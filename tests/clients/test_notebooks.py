"""
Issue 1, proof 2: real notebooks through nbclient, every output compared with what a
reader expects.
"""

import platform
import re

from shown import of_cell, of_notebook


def table(*rows):
    return [list(map(str, row)) for row in rows]


def counts(notebook):
    return [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]


def test_tables(execute):
    """Text, and pandas tables by _repr_html_."""
    notebook = execute("tables")
    shown = of_notebook(notebook)
    assert shown == [
        [("result", table(["", "town", "people", "area"],
                          [0, "Köln", 1084, 405.0],
                          [1, "Lyon", 523, 47.9],
                          [2, "Łódź", 672, 293.3]))],
        [("stdout", "3 towns, 2279 thousand people\n")],
        [("result", table(["", "density"], ["town", ""],
                          ["Łódź", 2291],
                          ["Köln", 2677],
                          ["Lyon", 10919]))],
        [("result", "np.int64(10919)")],
        [],
        [("stdout", "small ['Lyon']\n"),
         ("display", table(["", "town"], [1, "Lyon"])),
         ("stdout", "large ['Köln', 'Łódź']\n"),
         ("display", table(["", "town"], [0, "Köln"], [2, "Łódź"]))],
        [("result", table(["", "town", "people", "area", "density"]))],
        [("result", "'Köln\\nLyon\\nŁódź'")],
    ]
    first = notebook.cells[1].outputs[0].data
    assert set(first) == {"text/html", "text/plain"}
    assert first["text/plain"] == ("   town  people   area\n"
                                   "0  Köln    1084  405.0\n"
                                   "1  Lyon     523   47.9\n"
                                   "2  Łódź     672  293.3")
    assert counts(notebook) == [1, 2, 3, 4, 5, 6, 7, 8]


def test_errors_and_displays(execute):
    """Errors stay where they belong; displays are updated in place (C041)."""
    notebook = execute("errors")
    shown = of_notebook(notebook)
    assert shown == [
        [],
        [("stdout", "before\n"), ("error", "ZeroDivisionError", "division by zero")],
        [("stdout", "caught division by zero\n")],
        [("error", "ExceptionGroup", "several (2 sub-exceptions)")],
        [("stderr", "to stderr\n"), ("error", "SystemExit", "3")],
        [("error", "SyntaxError", shown[5][0][2])],
        [("display", "'A2'"), ("display", "'mid'")],
        [("display", "'A2'")],
        [],
        [("stdout", "kept\n")],
        [("display", {"text/html": "<b>bold</b>", "text/plain": shown[10][0][1]["text/plain"]}),
         ("display", {"text/markdown": "*soft*",
                      "text/plain": shown[10][1][1]["text/plain"]})],
        [("result", "''")],
        [("result", "('def share(total, parts):\\n    return total / parts', 1)")],
    ]
    assert shown[5][0][2].startswith("expected ':'")
    traceback = re.sub(r"\x1b\[[\d;]*m", "", "\n".join(notebook.cells[2].outputs[1].traceback))
    assert re.findall(r"Cell In\[(\d+)\], line (\d+)", traceback) == [("2", "2"), ("1", "2")]
    assert counts(notebook) == list(range(1, 14))


def test_asynchronous(execute):
    """Top-level await, async for, async with, tasks and objects that live over cells."""
    assert of_notebook(execute("asynchronous")) == [
        [("result", "42")],
        [("result", "[0, 2, 4, 6]")],
        [("stdout", "3\n2\n1\n")],
        [("result", "[4, 2]")],
        [("stdout", "[]\n")],
        [("result", "[0, 1, 2]")],
        [("stdout", "abab\n")],
        [("error", "TimeoutError", "")],
        [],
        [("result", "'kept over cells'")],
    ]


def test_processes(execute):
    """Children of the kernel, captured and not."""
    shown = of_notebook(execute("processes"))
    third = sorted(item for item in shown[2] if item[0] != "result")
    assert third == [("stderr", "to stderr\n"), ("stdout", "to stdout\n")]
    assert shown[2][-1] == ("result", "3")
    del shown[2]
    assert shown == [
        [("result", "('42\\n', 0)")],
        [("stdout", "one\ntwo\nthree 0\n")],
        [("stdout", "[0, 1, 4, 9, 16]\n")],
        [("stdout", "0 1 4 9 16\n")],
        [("error", "CalledProcessError",
          "Command '['false']' returned non-zero exit status 1.")],
        [("result", "'through cat\\n'")],
    ]


def test_the_notebook_records_its_language(execute):
    """nbclient takes language_info from kernel_info."""
    notebook = execute(["1"])
    assert notebook.metadata.language_info == {
        "name": "python", "version": platform.python_version(), "mimetype": "text/x-python",
        "file_extension": ".py", "pygments_lexer": "ipython3", "nbconvert_exporter": "python",
        "codemirror_mode": {"name": "ipython", "version": 3}}
    assert of_cell(notebook.cells[0]) == [("result", "1")]


def test_a_long_notebook(execute):
    """200 cells with output of every kind keep their places."""
    cells = [f"print({n})\ndisplay({n})\n{n}" for n in range(200)]
    assert of_notebook(execute(cells)) == [
        [("stdout", f"{n}\n"), ("display", str(n)), ("result", str(n))] for n in range(200)]
