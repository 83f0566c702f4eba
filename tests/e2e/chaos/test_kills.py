"""
Issue 5, "Ending": nothing is left running, whoever of a kernel's family is killed first.

The family: a parent (a server), which starts a shell, which starts the kernel, which starts the
worker, in which a cell has started a child. Promise 6 of the design.
"""

import itertools
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import pytest

from client import EINKORN, PYTHON, Kernel, descendants_of, state_of, text, wait_gone
from ways_in import chosen

# What a server does: it names itself and starts the kernel, here through a shell that stays.
PARENT = """
import os, subprocess, sys
os.environ["JPY_PARENT_PID"] = str(os.getpid())
subprocess.Popen(["sh", "-c", '"$@"; exit $?', "sh", *sys.argv[1:]])
import signal
while True: signal.pause()
"""

CHILD = "import subprocess\np = subprocess.Popen(['sleep', '600'])\nprint(p.pid)"

STATES = {
    "starting": None,
    "idle": "pass",
    "computing": "print('go')\nwhile True: pass",
    "sleeping": "import time\nprint('go')\ntime.sleep(600)",
    "printing": "print('go')\nwhile True: print('x' * 1000)",
    "in C": "import ctypes\nprint('go')\nctypes.PyDLL(None).sleep(600)",
}

WHO = ("parent", "shell", "kernel", "worker")
KILLS = [(who, number) for who in WHO for number in (signal.SIGTERM, signal.SIGKILL)]


def possible(first, second):
    """
    Two different ones; and not the worker with a kernel that cannot react, in one moment: then
    nobody is left who could end the cells' children. docs/promises.md says so.
    """
    both = {first[0], second[0]} == {"kernel", "worker"}
    return first[0] != second[0] and not (both and ("kernel", signal.SIGKILL) in (first, second))


PAIRS = [pair for pair in itertools.product(KILLS, KILLS) if possible(*pair)]


def name_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def leads_a_group(pid):
    try:
        return os.getpgid(pid) == pid
    except ProcessLookupError:
        return False


def alive(pid):
    return state_of(pid) not in ("", "Z", "X")


class Family:
    """One such family in one of the states. members: who -> pid."""

    def __init__(self, state):
        self.kernel = Kernel(launcher=[sys.executable, "-c", PARENT], ready=state != "starting")
        if state == "starting":
            self.kernel.welcome()  # the kernel process is there; Python may be or not
        self.members = {"parent": self.kernel.pid}
        if state != "starting":
            (_, child), = self.kernel.run(CHILD)
            self.members["child"] = int(child)
        for pid in descendants_of(self.kernel.pid):
            name = name_of(pid)
            if name in ("sh", "einkorn"):
                self.members[{"sh": "shell", "einkorn": "kernel"}[name]] = pid
            elif leads_a_group(pid):
                self.members["worker"] = pid
        assert set(WHO) <= set(self.members), self.members
        code = STATES[state]
        if code and "go" in code:
            self.kernel.send_execute(code)
            self.kernel.take("iopub", lambda m: m.type == "stream")

    def kill(self, who, number):
        try:
            os.kill(self.members[who], number)
        except ProcessLookupError:
            pass  # it followed another one already

    def is_gone(self, who):
        """Ends it within 3 s from now? A zombie has ended."""
        return wait_gone(self.members[who], 3) or not alive(self.members[who])


def left_running(state, *kills):
    """Kills these in one moment. -> who is left of the others 3 s later"""
    family = Family(state)
    try:
        for who, number in kills:
            family.kill(who, number)
        killed = [who for who, _ in kills]
        expected = set(family.members) - {"parent"} | set(killed) & {"parent"}
        if state == "starting" and killed == ["worker"]:
            expected -= {"kernel", "shell"}  # they stay to tell why nothing runs
        return sorted(who for who in expected if not family.is_gone(who))
    finally:
        family.kernel.close()


@pytest.mark.parametrize("kill", KILLS, ids=lambda k: f"{k[0]} by {signal.Signals(k[1]).name}")
@pytest.mark.timeout(120)
def test_nothing_is_left_when_one_is_killed(kill):
    """Issue: SIGTERM, parent death, kernel death seen from the worker; through a shell too."""
    for state in STATES:
        assert left_running(state, kill) == [], state


@pytest.mark.timeout(900)
def test_nothing_is_left_when_two_are_killed(long):
    """Issue: no orphan after 200 start/kill cycles in every combination of who is killed first."""
    rounds = itertools.islice(itertools.cycle(PAIRS), 200 if long else 20)
    chance = random.Random(5)
    pairs = list(rounds)
    chance.shuffle(pairs)
    for first, second in pairs:
        state = chance.choice(list(STATES))
        assert left_running(state, first, second) == [], (first, second, state)


# A server that dies at once: the kernel may not have begun to look at it.
SHORT_LIVED = """
import os, subprocess, sys, time
os.environ["JPY_PARENT_PID"] = str(os.getpid())
print(subprocess.Popen(sys.argv[2:], start_new_session=True).pid, flush=True)
time.sleep(float(sys.argv[1]))
os.kill(os.getpid(), 9)
"""


def abandoned(file, delay):
    """A kernel whose parent dies so many seconds after it started it. -> the kernel's pid"""
    with subprocess.Popen([sys.executable, "-c", SHORT_LIVED, str(delay), EINKORN, "kernel", "-f",
                           file, *chosen(PYTHON)], stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as parent:
        return int(parent.stdout.readline())


def test_nothing_is_left_when_the_parent_dies_at_once(start, tmp_path, long):
    """
    At whatever moment of the start: a kernel that finds no parent ends unless it is used. A server
    of another namespace has a number that says nothing here: its kernel is used, and stays.
    """
    used = start(env={"JPY_PARENT_PID": "4194300"})
    used.expect_log(r"einkorn: JPY_PARENT_PID=.*")
    number = 60 if long else 12
    pids = [abandoned(tmp_path / f"{n}.json", n * 0.03 / number) for n in range(number)]
    try:
        end = time.monotonic() + 20
        assert [p for p in pids if not wait_gone(p, max(0, end - time.monotonic()))] == []
    finally:
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
    assert used.run("1") == [("result", text("1"))]
