"""jupyter console, in a terminal."""

import os
import re
import select

import pytest


@pytest.fixture
def console(open_terminal):
    console = open_terminal("jupyter", "console", "--kernel", "einkorn")
    console.expect("In [1]:")
    return console


def leave(console):
    """Ctrl-D, and yes."""
    console.press("C-d")
    console.expect("Do you really want to exit")
    console.press("y", "Enter")
    return console.expect_end()


def ended(pid, timeout):
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([fd], [], [], timeout)[0])
    finally:
        os.close(fd)


def test_the_banner_and_a_result(console, kernel_python):
    """Names come from the banner, the number from the reply, and stdout before the result."""
    assert re.search(r"^Python 3\.\d+\.\d+\nEinkorn [\d.]+$", console.shown(), re.M)
    console.enter("6*7")
    assert re.search(r"^Out\[1\]: 42$", console.expect("In [2]:"), re.M)
    console.enter("print('Łó' + 'dź'); import sys; sys.executable")
    shown = console.expect("In [3]:")
    assert shown.index("\nŁódź\nOut[2]: ") < shown.index("In [3]:")
    assert f"Out[2]: {kernel_python!r}" in shown
    assert leave(console) == 0


def test_the_kernel_ends_with_the_console(console):
    console.enter("import os; [os.getppid(), os.getpid()]")
    shown = console.expect("In [2]:")
    pids = [int(pid) for pid in re.search(r"Out\[1\]: \[(\d+), (\d+)\]", shown).groups()]
    assert leave(console) == 0
    assert all(ended(pid, 5) for pid in pids)


@pytest.mark.parametrize("word", ["exit", "exit()", "quit"])
def test_exit(console, word):
    """The payload ask_exit: the console leaves without a question."""
    console.enter(word)
    assert console.expect_end() == 0
    assert "Error" not in console.shown()


def test_an_error(console):
    console.enter("1/0")
    assert ("\nZeroDivisionError                         Traceback (most recent call last)\n"
            "Cell In[1], line 1\n----> 1 1/0\n\nZeroDivisionError: division by zero\n"
            ) in console.expect("In [2]:")
    console.enter("'and ' + 'on'")
    console.expect("Out[2]: 'and on'")


def test_input(console):
    """The prompt is shown, the answer echoed and handed over; a password is not echoed."""
    console.enter("input('Your ' + 'name? ')")
    console.expect("\nYour name?\n")
    console.enter("Ada")
    shown = console.expect("In [2]:")
    assert "\nYour name? Ada\nOut[1]: 'Ada'\n" in shown
    console.enter("import getpass; len(getpass.getpass('Pass' + 'word: '))")
    console.expect("\nPassword:")
    console.enter("secret")
    assert "Out[2]: 6\n" in console.expect("In [3]:")
    assert "secret" not in console.shown()


def test_ctrl_c_ends_a_sleep(console):
    console.enter("import time; print('sle' + 'eps'); time.sleep(600)")
    console.expect("\nsleeps\n")
    console.press("C-c")
    shown = console.expect("In [2]:", timeout=10)
    assert re.search(r"^KeyboardInterrupt:$", shown, re.M)
    console.enter("'and ' + 'on'")
    console.expect("Out[2]: 'and on'")


def test_ctrl_c_ends_input(console):
    console.enter("input('Your ' + 'name? ')")
    console.expect("\nYour name?\n")
    console.press("C-c")
    shown = console.expect("In [2]:", timeout=10)
    assert re.search(r"^KeyboardInterrupt:$", shown, re.M)
    console.enter("'and ' + 'on'")
    console.expect("Out[2]: 'and on'")


def test_a_block_of_several_lines(console):
    """is_complete: Enter goes on in the block, indented; a blank line ends it."""
    console.enter("for i in range(2):")
    console.expect("range(2):\n   ...:\n")
    console.enter("print('turn', i)")
    console.expect("\n   ...:     print('turn', i)\n   ...:\n")
    console.press("Enter")
    assert "\nturn 0\nturn 1\n" in console.expect("In [2]:")


def test_tab_completes(console):
    console.enter("some_long_name = 42")
    console.expect("In [2]:")
    console.type("some_lo")
    console.press("Tab")
    console.expect("In [2]: some_long_name")
    console.press("Enter")
    console.expect("Out[2]: 42")


def test_the_next_input_and_the_pager(console):
    """The payloads set_next_input and page."""
    console.enter("import einkorn; einkorn.set_next_input('6*' + '7')")
    console.expect("In [2]: 6*7")
    console.press("Enter")
    console.expect("Out[2]: 42")
    console.enter("einkorn.page('shown by the ' + 'pager')")
    assert "\nshown by the pager\n" in console.expect("In [4]:")


def test_another_console_on_the_same_kernel(console, open_terminal):
    """It joins the namespace, and Up finds what the first one ran (history, tail)."""
    console.enter("x = 6*7")
    console.expect("In [2]:")
    second = open_terminal("jupyter", "console", "--existing")
    second.expect("In [")
    second.press("Up")
    second.expect("x = 6*7")
    second.type(" + 1; x")
    second.press("Enter")
    second.expect(": 43")
    assert leave(second) == 0
    console.enter("x")
    console.expect(": 43")
