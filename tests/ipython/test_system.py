"""Commands of the shell: !cmd and x = !cmd, %%bash, %pip, and their interrupts."""

import os
import signal

import pytest

from client import children_of, descendants_of, plain, wait_gone


@pytest.mark.parametrize("code", [
    "!echo hi; echo more",
    "!printf 'no newline'",
    "!exit 3",
    "_exit_code",
    "!exit 143",
    "_exit_code",
    "!kill -TERM $$",
    "_exit_code",
    "!nowhere_to_be_found",
    "_exit_code",
    "!tty | cut -c1-9; stty size; ps -o tty= -p $$ | cut -c1-3",
    "!echo out; echo err >&2",
    "word = 'w'\n!echo $word {word * 2} $$HOME",
    "def f():\n    local = 'here'\n    !echo $local\n    lines = !echo $local\n    return lines\nf()",
    "!seq 100000 | tail -1",
    "!printf 'ä€𝄞%.0s' $(seq 30000) | tail -c 36",
    "lines = !printf 'a\\nb\\n'; echo c >&2\nlines, lines.s, lines.n",
    "!!echo hi",
    "%sx echo hi",
    "%system echo hi",
    "get_ipython().getoutput('echo a; echo b', split=False)",
    "!sleep 60 &",
    "lines = !sleep 60 &",
    "get_ipython().system_raise_on_error = True\n!exit 4",
    "_exit_code",
    "lines = !exit 5",
    "_exit_code",
    "!true",
    "get_ipython().system_raise_on_error = False",
    "ls -d /tmp",
    "%cd -q /tmp\n!pwd",
    "import os\nos.environ['EK'] = 'v'\n!echo $$EK",
    "%%bash\necho out; echo err >&2",
    "%%bash --out o --err e\necho out; echo err >&2",
    "o, e",
    "%%bash\nexit 4",
    "%%bash --no-raise-error\nexit 4",
    "%%sh\nread line; echo $line\nnext",
    "%%script sed s/a/b/\nabba",
    "%%script --bg --proc p sleep 60",
    "p.returncode",
    "%killbgscripts",
    "%%script nowhere_to_be_found\nx",
    "%%perl\nprint 'hi'",
    "%%python3\nimport sys; print('p', sys.flags.interactive)",
    "%pip --version",
    "%conda list",
    "%%capture c\n!echo hidden",
    "c.stdout",
])
def test_a_command_does_what_it_does_under_ipykernel(pair, code):
    pair.same(code)


def test_output_comes_when_it_is_written(fresh, tmp_path):
    """The second line is read before the command is told to go on."""
    go = tmp_path / "go"
    os.mkfifo(go)
    request = fresh.send_execute(f"!echo one; sleep 0; echo two; cat {go}; echo three")
    seen = ""
    while seen != "one\r\ntwo\r\n":
        seen += fresh.take("iopub", lambda m: m.parent_id == request
                           and m.type == "stream").content["text"]
        assert "one\r\ntwo\r\n".startswith(seen)
    go.write_text("")
    fresh.reply("shell", request)
    rest = fresh.iopub(request)
    assert "".join(m.content["text"] for m in rest if m.type == "stream") == "three\r\n"


def begun(kernel, code):
    """Sends a cell that says "go" when its command runs. -> msg_id"""
    request = kernel.send_execute(code)
    kernel.take("iopub", lambda m: m.parent_id == request and "go" in m.content.get("text", ""))
    return request


def ended(kernel, request):
    """-> the reply of an interrupted cell, and what it wrote after "go"."""
    reply = kernel.reply("shell", request)
    messages = kernel.iopub(request)
    return reply, "".join(m.content["text"] for m in messages if m.type == "stream")


CHILDREN = {
    "one that a signal ends": "echo go; exec sleep 600",
    "a shell with a child": "echo go; sleep 600; echo never",
    "one that ignores SIGINT": "trap '' INT; echo go; while :; do sleep 600; done",
    "one that ignores all but SIGKILL": "trap '' INT HUP TERM; echo go; while :; do sleep 600; done",
    "one that has switched ^C off": "stty -isig 2>/dev/null; echo go; sleep 600",
    "one that waits for input": "echo go; read line; sleep 600",
}


@pytest.mark.parametrize("name", CHILDREN)
def test_an_interrupt_ends_the_command_and_the_cell(kernel, name):
    request = begun(kernel, f"!{CHILDREN[name]}\nprint('never')")
    family = descendants_of(kernel.worker)
    assert family
    kernel.interrupt()
    reply, text = ended(kernel, request)
    assert reply.content["ename"] == "KeyboardInterrupt" and "never" not in text
    assert "/einkorn/" not in plain(reply.content["traceback"])
    assert all(wait_gone(pid) for pid in family)
    assert children_of(kernel.worker) == []
    assert kernel.run("print(_exit_code)") == [("stdout", "-2\n")]


def test_an_interrupt_lets_the_command_clean_up(kernel):
    request = begun(kernel, "!trap 'echo cleaned; exit 1' INT; echo go; sleep 600 & wait")
    kernel.interrupt()
    reply, text = ended(kernel, request)
    assert reply.content["ename"] == "KeyboardInterrupt" and "cleaned" in text


def test_a_second_interrupt_ends_what_takes_its_time(kernel):
    request = begun(kernel, "!trap 'echo trapped; sleep 600' INT HUP TERM; echo go; sleep 600 & wait")
    kernel.interrupt()
    kernel.take("iopub", lambda m: m.parent_id == request and "trapped" in m.content.get("text", ""))
    kernel.interrupt()
    reply, _ = ended(kernel, request)
    assert reply.content["ename"] == "KeyboardInterrupt"
    assert children_of(kernel.worker) == []


@pytest.mark.parametrize("command", [
    "echo go > {fifo}; sleep 600",
    "trap '' INT; echo go > {fifo}; while :; do sleep 600; done",
    "trap '' INT HUP TERM; echo go > {fifo}; sleep 600; sleep 600",
])
def test_an_interrupt_ends_a_captured_command_and_the_cell(kernel, tmp_path, command):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    request = kernel.send_execute(f"x = !{command.format(fifo=fifo)}\nprint('never')")
    assert fifo.read_text() == "go\n"
    family = descendants_of(kernel.worker)
    kernel.interrupt()
    reply, text = ended(kernel, request)
    assert reply.content["ename"] == "KeyboardInterrupt" and text == ""
    assert all(wait_gone(pid) for pid in family)


INTERRUPTED = """
import os, signal, subprocess, time
class Popen(subprocess.Popen):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        os.kill({kernel}, signal.SIGINT)
        end = time.monotonic() + 1
        while time.monotonic() < end:
            pass
real, subprocess.Popen = subprocess.Popen, Popen
"""


@pytest.mark.parametrize("code", ["!{}", "x = !{}"])
def test_an_interrupt_while_a_command_is_started_ends_it(kernel, code):
    """Nobody had its process yet."""
    kernel.run(INTERRUPTED.format(kernel=kernel.pid))
    try:
        request = kernel.send_execute(code.format("trap '' INT HUP TERM; sleep 600; sleep 600") + "\nprint('never')")
        reply, text = ended(kernel, request)
        assert reply.content["ename"] == "KeyboardInterrupt" and "never" not in text
        assert children_of(kernel.worker) == []
    finally:
        kernel.run("subprocess.Popen = real")


@pytest.mark.parametrize("command", ["echo go; sleep 600", "trap '' INT; echo go; sleep 600; sleep 600"])
def test_an_interrupt_ends_a_script_and_the_cell(pair, command):
    """For IPython 9 the cell has failed, for IPython 8 not; under ipykernel by a TypeError."""
    ours, theirs = pair.both(f"%%bash\n{command}", interrupt_at="go")
    assert ours.status == theirs.status


def test_the_end_of_the_kernel_ends_a_command(start):
    kernel = start()
    begun(kernel, "!echo go; sleep 600")
    family = descendants_of(kernel.pid)
    os.kill(kernel.pid, signal.SIGKILL)
    assert all(wait_gone(pid) for pid in family)
    kernel.exit_status()
    kernel.stopped = True


def test_no_descriptor_is_left(fresh):
    fresh.execute("!true")
    count = len(os.listdir(f"/proc/{fresh.worker}/fd"))
    for code in ("!true", "x = !true", "!sleep 60 &", "import os; os.environ['SHELL'] = '/nowhere'",
                 "!true", "x = !true", "del os.environ['SHELL']"):
        fresh.execute(code)
    assert len(os.listdir(f"/proc/{fresh.worker}/fd")) == count


def test_the_shell_is_the_users(fresh):
    """IPython looks once for a session; here a changed $SHELL counts."""
    assert fresh.run("import os\nos.environ['SHELL'] = '/bin/sh'\n!echo $$0") == [("stdout", "/bin/sh\r\n")]
    assert fresh.run("lines = !echo $$0\nlines")[0][1] == {"text/plain": "['/bin/sh']"}
    failed = fresh.fail("os.environ['SHELL'] = '/nowhere/sh'\n!echo hi")
    assert failed.reply.content["evalue"] == '"/nowhere/sh" shell not found'


def test_pexpect_is_not_needed(kernel):
    code = "import sys\nsys.modules['pexpect'] = None\n!echo hi"
    assert kernel.run(code) == [("stdout", "hi\r\n")]
