"""The debugger asks through the client's stdin; as under ipykernel."""

import pytest

import client

F = "def f(a):\n    b = a + 1\n    return b"
TRACE = "import pdb; pdb.set_trace()"


@pytest.fixture(scope="module")
def script(pair):
    pair.write("debugged.py", "a = 1\nb = a + 1\nprint('b', b)\n")
    pair.same("%precision")  # the shell is there
    pair.same(F)


@pytest.mark.parametrize("code, answers", [
    ("1/0", []),
    ("%debug", ["p 5", "q"]),
    ("f('x')", []),
    ("%debug", ["p a", "up", "down", "ll", "q"]),
    ("%pdb on", []),
    ("f('x')", ["p a", "q"]),
    ("%pdb off", []),
    ("%pdb", []),
    ("%pdb", []),
    ("%debug f(1)", ["s", "s", "n", "p b", "c"]),
    (f"x = 1\n{TRACE}\nprint('end')", ["p x", "c"]),
    (f"def g(x):\n    {TRACE}\n    return x\ng(5)", ["l", "a", "p x", "x = 6", "whatis x", "c"]),
    ("g(5)", ["q"]),
    ("g(5)", ["exit"]),
    ("g(5)", ["r", "c"]),
    ("g(5)", ["!y = 7", "y", "c"]),
    ("g(5)", ["pinfo x", "c"]),
    (f"for i in range(2): {TRACE}", ["c", "c"]),
    ("try: 1/0\nexcept Exception: pdb.post_mortem()", ["p 1", "c"]),
    ("pdb.run('1 + 1')", ["c"]),
    ("pdb.runcall(f, 1)", ["n", "p a", "c"]),
    ("%run -d {here}/debugged.py", ["c"]),
    ("%run -d {here}/debugged.py", ["n", "n", "q"]),
    ("%run -d -b 2 {here}/debugged.py", ["c", "p a", "c"]),
    ("pdb.Pdb.__name__, pdb.Pdb.__module__, pdb.set_trace.__module__", []),
])
def test_the_debugger_asks_what_it_asks_under_ipykernel(pair, script, code, answers):
    pair.same(code, answers=answers)


@pytest.mark.parametrize("code", ["import pdb; pdb.set_trace()\nprint('end')",
                                  "def k():\n    pdb.set_trace()\n    return 'k'\nprint(k(), 'end')"])
def test_an_interrupt_at_the_prompt_ends_the_debugging(pair, script, code):
    """The cell goes on, as after ``c``."""
    for seen in pair.both(code, interrupt_at="ipdb> "):
        assert seen.prompts == [["ipdb> ", False]] and seen.status == "ok"
        assert "--KeyboardInterrupt--" in seen.text() and seen.text().endswith("end\n")
    pair.same("8")  # nothing is traced any more
    pair.same("f(1)")


@pytest.mark.parametrize("code", [TRACE, "breakpoint()"])
def test_the_first_debugging_is_done_by_ipythons(start, code):
    kernel = start(args=["--shell=auto"])
    cell = kernel.send_execute(f"{code}\nprint('end')", allow_stdin=True)
    assert kernel.take("stdin").content["prompt"] == "ipdb> "
    kernel.interrupt()
    result = kernel.finish(cell)
    assert result.status == "ok" and result.outputs[-1][1].endswith("\nend\n")


MODULE = """
import pdb
def by_hook(x):
    breakpoint()
    return x
def by_pdb(x):
    pdb.set_trace()
    return x
def by_name(x, set_trace=pdb.set_trace):
    set_trace()
    return x
def after_death(x):
    try:
        1 / 0
    except ZeroDivisionError:
        pdb.post_mortem()
    return x
"""


@pytest.fixture
def module(tmp_path):
    """A module's directory on the path of a kernel, and what it is called by."""
    (tmp_path / "ek_debugs.py").write_text(MODULE)
    return {"PYTHONPATH": str(tmp_path)}


@pytest.mark.parametrize("name", ["by_hook", "by_pdb", "by_name", "after_death"])
def test_a_module_that_debugs_first_gets_ipythons(start, module, name):
    """Nothing in the cell says so. The debugger stands where the module called it."""
    kernel = start(args=["--shell=auto"], env=module)
    assert "IPython.core.interactiveshell" not in kernel.execute(
        "import sys, ek_debugs as m; print(list(sys.modules))").stdout
    cell = kernel.send_execute(f"m.{name}(4)", allow_stdin=True)
    for answer in ("p x * 11", "up", "p 'cell', 'x' in dir()", "c"):
        question = kernel.take("stdin")
        assert question.content["prompt"] == "ipdb> "
        kernel.answer(question, answer)
    result = kernel.finish(cell)
    assert result.status == "ok"
    assert "44\n" in result.stdout
    assert name == "after_death" or "('cell', False)\n" in result.stdout
    assert dict(result.outputs)["result"] == {"text/plain": "4"}


@pytest.mark.parametrize("name", ["by_hook", "by_pdb"])
def test_its_steps_lead_back_into_the_cell(start, module, name):
    kernel = start(args=["--shell=auto"], env=module)
    kernel.run("import ek_debugs as m")
    cell = kernel.send_execute(f"y = m.{name}(4)\nz = y + 1\nz", allow_stdin=True)
    for answer in ("n", "n", "n", "p y * 11", "c"):
        question = kernel.take("stdin")
        assert question.content["prompt"] == "ipdb> "
        kernel.answer(question, answer)
    result = kernel.finish(cell)
    shown = client.plain(result.stdout)
    assert "44\n" in shown and "z = y + 1" in shown, shown
    assert dict(result.outputs)["result"] == {"text/plain": "5"}


def test_an_interrupt_there_ends_the_debugging_too(start, module):
    kernel = start(args=["--shell=auto"], env=module)
    kernel.run("import ek_debugs as m")
    cell = kernel.send_execute("m.by_hook(4)", allow_stdin=True)
    assert kernel.take("stdin").content["prompt"] == "ipdb> "
    kernel.interrupt()
    assert dict(kernel.finish(cell).outputs)["result"] == {"text/plain": "4"}


def test_in_the_plain_shell_it_is_pythons(start, module):
    kernel = start(args=["--shell=plain"], env=module)
    kernel.run("import ek_debugs as m")
    cell = kernel.send_execute("m.by_hook(4)", allow_stdin=True)
    question = kernel.take("stdin")
    assert question.content["prompt"] == "(Pdb) "
    kernel.answer(question, "c")
    assert dict(kernel.finish(cell).outputs)["result"] == {"text/plain": "4"}


def test_breakpoint_asks(pair, script):
    """Under ipykernel it is debugpy's, which waits for a client of its own."""
    seen = pair.ours.run("def h(x):\n    breakpoint()\n    return x\nh(4)", answers=["p x", "c"])
    assert seen.prompts == [["ipdb> ", False]] * 2 and seen.data()[-1] == "4"


def test_without_a_client_that_answers_the_debugger_fails(pair, script):
    ours, theirs = pair.both("import pdb; pdb.set_trace()", allow_stdin=False)
    assert ours.status == theirs.status == "error"
    assert ours.error[0] == theirs.error[0]
