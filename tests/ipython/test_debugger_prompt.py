"""The debugger asks through the client's stdin; as under ipykernel."""

import pytest

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


def test_breakpoint_asks(pair, script):
    """Under ipykernel it is debugpy's, which waits for a client of its own."""
    seen = pair.ours.run("def h(x):\n    breakpoint()\n    return x\nh(4)", answers=["p x", "c"])
    assert seen.prompts == [["ipdb> ", False]] * 2 and seen.data()[-1] == "4"


def test_without_a_client_that_answers_the_debugger_fails(pair, script):
    ours, theirs = pair.both("import pdb; pdb.set_trace()", allow_stdin=False)
    assert ours.status == theirs.status == "error"
    assert ours.error[0] == theirs.error[0]
