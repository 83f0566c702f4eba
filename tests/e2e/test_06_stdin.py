"""
Issue 1, "Stdin": input() and getpass.getpass() through the asking client's stdin
identity, from any thread, interruptible at once, and never waiting for nobody.
"""

import os
import sys

import pytest

from client import text

DENIED = ("StdinNotImplementedError",
          "raw_input was called, but this frontend does not support input requests.")


def ask(kernel, code, **options):
    """Sends a cell that asks. -> (its id, the input_request)"""
    msg_id = kernel.send_execute(code, allow_stdin=True, **options)
    request = kernel.take("stdin")
    assert request.type == "input_request" and request.parent_id == msg_id
    assert set(request.content) == {"prompt", "password"}
    return msg_id, request


def finish(kernel, msg_id, code):
    return kernel.finish_execute(msg_id, code)


def test_input(kernel):
    """Text before the prompt is out before the request."""
    code = "print('first', end='')\nx = input('name? ')\nprint(repr(x))"
    msg_id, request = ask(kernel, code)
    assert request.content == {"prompt": "name? ", "password": False}
    shown = kernel.take("iopub", lambda m: m.type == "stream", 5)
    assert shown.content["text"] == "first"
    kernel.queue["iopub"].append(shown)
    kernel.queue["iopub"].sort(key=lambda m: m.arrived)
    kernel.answer(request, "Grüße 😀\\n")
    assert finish(kernel, msg_id, code).outputs == [
        ("stdout", "first" + repr("Grüße 😀\\n") + "\n")]


@pytest.mark.parametrize("code, prompt", [
    ("input()", ""), ("input(5)", "5"), ("input('a\\nb')", "a\nb"), ("input('é')", "é"),
])
def test_prompts(kernel, code, prompt):
    msg_id, request = ask(kernel, code)
    assert request.content == {"prompt": prompt, "password": False}
    kernel.answer(request, "v")
    assert finish(kernel, msg_id, code).outputs == [("result", text("'v'"))]


def test_getpass(kernel):
    """password: true, and nothing of it is shown."""
    code = "import getpass\np = getpass.getpass('pw ')\nlen(p)"
    msg_id, request = ask(kernel, code)
    assert request.content == {"prompt": "pw ", "password": True}
    kernel.answer(request, "secret")
    assert finish(kernel, msg_id, code).outputs == [("result", text("6"))]


def test_getpass_has_its_usual_prompt(kernel):
    code = "import getpass; getpass.getpass()"
    msg_id, request = ask(kernel, code)
    assert request.content == {"prompt": "Password: ", "password": True}
    kernel.answer(request, "")
    assert finish(kernel, msg_id, code).outputs == [("result", text("''"))]


def test_many_questions_in_one_cell(kernel):
    code = "print([input(str(i)) for i in range(20)])"
    msg_id = kernel.send_execute(code, allow_stdin=True)
    for i in range(20):
        request = kernel.take("stdin")
        assert request.content["prompt"] == str(i)
        kernel.answer(request, f"a{i}")
    assert finish(kernel, msg_id, code).outputs == [
        ("stdout", str([f"a{i}" for i in range(20)]) + "\n")]


@pytest.mark.parametrize("code, error", [
    ("input(\"q? \")", DENIED),
    ("import getpass\ngetpass.getpass(\"pw \")", (
        DENIED[0], "getpass was called, but this frontend does not support input requests.")),
])
def test_not_allowed(kernel, code, error):
    """C021: at once, no input_request, the prompt is not printed."""
    failed = kernel.fail(code, timeout=5)
    assert failed.error == error
    assert failed.outputs == [("error", *error)]


def test_not_allowed_is_a_not_implemented_error(kernel):
    """C021 3."""
    assert kernel.run("try:\n    input()\nexcept NotImplementedError as e:\n"
                      "    print(type(e).__name__)") == [("stdout", "StdinNotImplementedError\n")]


@pytest.mark.parametrize("how", ["message", "signal"])
def test_an_interrupt_ends_the_question(kernel, how):
    """C019, peers 7.13: within 1 s; the late answer does not confuse the next question."""
    code = "x = input(\"name? \")\nprint(x)"
    msg_id, request = ask(kernel, code)
    assert request.content == {"prompt": "name? ", "password": False}
    if how == "message":
        kernel.interrupt()
    else:
        kernel.signal_group()
    failed = kernel.finish_execute(msg_id, code, timeout=1)
    assert failed.error[0] == "KeyboardInterrupt"
    kernel.answer(request, "stale")
    code = "y = input(\"second? \")\nprint(\"got\", y)"
    msg_id, request = ask(kernel, code)
    assert request.content["prompt"] == "second? "
    kernel.answer(request, "fresh")
    assert finish(kernel, msg_id, code).outputs == [("stdout", "got fresh\n")]


def test_an_answer_without_a_parent_is_taken(kernel):
    """Match on the parent when it is there, accept without."""
    code = "input('a')"
    msg_id, request = ask(kernel, code)
    kernel.send("stdin", "input_reply", {"value": "bare"})
    assert finish(kernel, msg_id, code).outputs == [("result", text("'bare'"))]


def test_an_answer_to_another_question_is_not(kernel):
    """A parent that names another request: stale."""
    code = "input('a')"
    msg_id, old = ask(kernel, code)
    kernel.answer(old, "one")
    finish(kernel, msg_id, code)
    msg_id, request = ask(kernel, code)
    kernel.answer(old, "stale")
    kernel.answer(request, "right")
    assert finish(kernel, msg_id, code).outputs == [("result", text("'right'"))]


@pytest.mark.parametrize("content", [{}, {"value": 5}, {"value": None}, []])
def test_a_bad_answer_leaves_the_kernel_usable(kernel, content):
    """Either the question stands until a good answer comes, or it ends in an error."""
    kernel.expect_log(r"einkorn: .*")
    code = "input('a')"
    msg_id, request = ask(kernel, code)
    kernel.send("stdin", "input_reply", content, parent=request.header)
    kernel.answer(request, "good")
    reply = kernel.reply("shell", msg_id)
    kernel.iopub(msg_id)
    assert reply.content["status"] in ("ok", "error")


def test_end_of_file(kernel):
    """Issue: EOF on \\x04."""
    code = "input('a')"
    msg_id, request = ask(kernel, code)
    kernel.answer(request, "\x04")
    assert finish(kernel, msg_id, code).error[0] == "EOFError"


def test_input_from_a_thread(kernel):
    """Issue: from any thread; the question has the cell that started the thread as parent."""
    code = ("import threading\nanswers = []\n"
            "t = threading.Thread(target=lambda: answers.append(input('thread? ')))\n"
            "t.start()\nt.join()\nanswers")
    msg_id, request = ask(kernel, code)
    assert request.content["prompt"] == "thread? "
    kernel.answer(request, "yes")
    assert finish(kernel, msg_id, code).outputs == [("result", text("['yes']"))]


def test_threads_go_on_while_the_cell_asks(kernel):
    """peers 7.15: background threads run during input()."""
    code = ("import threading\nticks = threading.Semaphore(0)\nstop = threading.Event()\n"
            "def tick():\n    while not stop.wait(0.001): print('tick')\n"
            "t = threading.Thread(target=tick)\nt.start()\nx = input('wait ')\nstop.set()\nt.join()\nx")
    msg_id, request = ask(kernel, code)
    seen = kernel.take("iopub", lambda m: m.type == "stream" and m.arrived > request.arrived)
    kernel.queue["iopub"].append(seen)
    kernel.queue["iopub"].sort(key=lambda m: m.arrived)
    kernel.answer(request, "enough")
    outputs = finish(kernel, msg_id, code).outputs
    assert outputs[-1] == ("result", text("'enough'"))
    assert set(outputs[0][1].split()) == {"tick"} and len(outputs) == 2


def test_input_from_a_thread_after_idle(kernel):
    """The asking cell is over; its client is asked all the same, and other cells run."""
    code = ("import threading\nlate = []\n"
            "t2 = threading.Thread(target=lambda: late.append(input('late? ')))\nt2.start()")
    msg_id, request = ask(kernel, code)
    assert finish(kernel, msg_id, code).outputs == []
    assert kernel.run("6 * 7") == [("result", text("42"))]
    kernel.answer(request, "now")
    assert kernel.run("t2.join(5)\nlate") == [("result", text("['now']"))]


def test_input_from_a_thread_while_the_event_loop_turns(fresh):
    """The thread reads what comes for all; the loop must neither miss a cell nor stand still."""
    code = ("import asyncio, threading\nturns = []\nlate = []\n"
            "async def turn():\n    while True:\n        turns.append(1)\n        await asyncio.sleep(0.01)\n"
            "task = asyncio.create_task(turn())\n"
            "t3 = threading.Thread(target=lambda: late.append(input('meanwhile? ')))\nt3.start()")
    msg_id, request = ask(fresh, code)
    assert finish(fresh, msg_id, code).outputs == []
    for _ in range(20):
        assert fresh.run("6 * 7") == [("result", text("42"))]
    fresh.answer(request, "now")
    assert fresh.run("t3.join(5)\nlate") == [("result", text("['now']"))]
    # Nothing comes for a while but the loop's own timer: a cell that waits for it ends.
    assert fresh.run("n = len(turns)") == []
    assert fresh.run("while len(turns) < n + 5: await asyncio.sleep(0.01)") == []


def test_the_asking_client_is_asked(kernel):
    """The identity of the execute_request; others hear nothing."""
    other = kernel.connect(channels=("shell", "stdin"))
    code = "input('other? ')"
    msg_id = other.send_execute(code, allow_stdin=True)
    request = other.take("stdin")
    assert request.parent_id == msg_id
    assert kernel.sockets["stdin"].poll(0) == 0
    other.answer(request, "it is me")
    assert other.reply("shell", msg_id).content["status"] == "ok"
    result = [m for m in kernel.iopub(msg_id) if m.type == "execute_result"]
    assert [m.content["data"] for m in result] == [text("'it is me'")]
    other.close()


def test_a_stdin_socket_that_connects_a_moment_later_is_asked(kernel):
    """A client's sockets connect one by one, and the kernel is faster than that."""
    other = kernel.connect(channels=("shell",))
    msg_id = other.send_execute("input('late? ')", allow_stdin=True)
    kernel.take("iopub", lambda m: m.parent_id == msg_id and m.type == "execute_input")
    late = kernel.connect(channels=("stdin",), identity=other.identity)
    request = late.take("stdin")
    assert request.content == {"prompt": "late? ", "password": False}
    late.answer(request, "here")
    assert other.reply("shell", msg_id).content["status"] == "ok"
    while kernel.take("iopub", lambda m: m.parent_id == msg_id).state != "idle":
        pass
    late.close()
    other.close()


def test_a_client_without_a_stdin_socket_gets_an_error(kernel):
    """Issue: an error instead of waiting for ever when that client has no stdin socket."""
    other = kernel.connect(channels=("shell",))
    msg_id = other.send_execute("input('nobody? ')", allow_stdin=True)
    reply = other.reply("shell", msg_id, 10)
    assert reply.content["status"] == "error"
    assert reply.content["ename"] in ("StdinNotImplementedError", "EOFError", "RuntimeError")
    kernel.iopub(msg_id)
    other.close()


def test_sys_stdin_and_children_see_the_end_at_once(start):
    """C025: the kernel's own stdin is a pipe that stays open and never gets data."""
    r, w = os.pipe()
    try:
        kernel = start(stdin=r)
        assert kernel.run(
            "import subprocess, sys\nr = subprocess.run([sys.executable, \"-c\", \"import sys; "
            "print(repr(sys.stdin.read()))\"], capture_output=True, text=True, timeout=5)\n"
            "print(r.stdout.strip(), r.returncode)", timeout=8) == [("stdout", "'' 0\n")]
        assert kernel.run("import os\nrc = os.system(\"read line; echo got:$line\")\nprint(rc)",
                          timeout=8) == [("stdout", "got:\n0\n")]
        assert kernel.run("import sys\nprint(repr(sys.stdin.readline()))", timeout=8) == [
            ("stdout", "''\n")]
    finally:
        os.close(r)
        os.close(w)


def test_the_debugger_asks(kernel):
    """C023: breakpoint() in a cell; the cell's source is shown; 'q' ends the cell in an error."""
    code = "def g(a):\n    b = a + 1\n    breakpoint()\n    return b\nprint(g(1))"
    for answers, last in ((["p b", "w", "c"], "2\n"), (["p b", "q"], None)):
        msg_id = kernel.send_execute(code, allow_stdin=True)
        for answer in answers:
            request = kernel.take("stdin")
            assert request.content == {"prompt": "(Pdb) ", "password": False}
            kernel.answer(request, answer)
        result = finish(kernel, msg_id, code)
        lines = result.stdout.splitlines()
        if last:
            assert result.status == "ok"
            assert lines.count("2") == 2 and "-> print(g(1))" in lines
            stopped = "-> return b" if sys.version_info < (3, 13) else "-> breakpoint()"
            assert stopped in lines
            assert "einkorn" not in result.stdout
            assert result.stdout.endswith("2\n")
        else:
            assert lines.count("2") == 1
            assert (result.status, result.error[0]) == ("error", "BdbQuit")
    assert kernel.run("print(\"fine\")") == [("stdout", "fine\n")]


@pytest.mark.parametrize("code", [
    "import pdb\nfor n in range(3):\n    pdb.set_trace()\n    n += 1",
    "import pdb; pdb.set_trace()",
    "def f():\n    breakpoint()\n    return 1\nf()"])
def test_an_interrupt_at_pdbs_prompt_ends_the_cell(kernel, code):
    """Issue 6, "Proof": as ipykernel's debugger does; Python's own would ask again for ever."""
    cell = kernel.send_execute(code, allow_stdin=True)
    assert kernel.take("stdin").content["prompt"] == "(Pdb) "
    kernel.interrupt()
    assert kernel.finish(cell).error[0] == "KeyboardInterrupt"
    again = kernel.send_execute("import pdb; pdb.set_trace()\n_ = 2", allow_stdin=True)
    kernel.answer(kernel.take("stdin"), "c")  # and it can be used again
    assert kernel.finish(again).status == "ok"
