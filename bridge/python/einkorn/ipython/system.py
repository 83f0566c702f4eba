"""Commands of the shell: ``!command`` on a terminal of its own, ``x = !command`` through a pipe.

IPython has both, by pexpect; it looks for output twenty times a second, tears characters apart,
and takes an interrupt for itself, so that a cell goes on with its next command.  Here output is
written when it comes, and an interrupt ends the command *and* the cell.  A command that has not
ended a second after its SIGINT gets SIGHUP, then SIGTERM, then SIGKILL; another interrupt meanwhile
makes it SIGKILL at once.
"""

import codecs
import os
import select
import signal
import subprocess
import sys
import termios
import time
from subprocess import CalledProcessError  # noqa: F401  (for shell.py)

import _einkorn

from IPython.utils.encoding import DEFAULT_ENCODING

_SIZE = (24, 80)  # rows and columns of the terminal
_PIECE = 1 << 16
_STEPS = ((signal.SIGINT, 1.0), (signal.SIGHUP, 0.2), (signal.SIGTERM, 0.5))  # and seconds to end

# Whoever leads a session and opens a terminal gets it as the one that ^C and hanging up come from.
_ON_TERMINAL = ': <"$0"; exec "$1" -c "$2"'


def run(command):
    """Run a command on a terminal and write on sys.stdout what it shows; return its exit code.

    The code is negative for a signal, as IPython has it.  The command leads a session of its own,
    and when it ends, or we do, its terminal hangs up: nothing of it is left.
    """
    master, slave = os.openpty()
    try:
        termios.tcsetwinsize(slave, _SIZE)
        arguments = ["/bin/sh", "-c", _ON_TERMINAL, os.ttyname(slave), _shell(), command]
        files = {"stdin": slave, "stdout": slave, "stderr": slave}

        def start():
            nonlocal slave
            child = subprocess.Popen(arguments, **files, start_new_session=True)
            os.close(slave)
            slave = -1
            return child

        return _finish(start, _Copier(master), lambda child, number: _signal_terminal(master, child, number))
    finally:
        os.close(master)
        if slave >= 0:
            os.close(slave)


def output(command):
    """Run a command and return what it writes (str, stdout and stderr as they come) and its code."""
    reading, writing = os.pipe()
    try:
        arguments = [_shell(), "-c", command]
        files = {"stdin": subprocess.DEVNULL, "stdout": writing, "stderr": writing}

        def start():
            nonlocal writing
            child = subprocess.Popen(arguments, **files)
            os.close(writing)
            writing = -1
            return child

        pieces = []
        code = _finish(start, _Copier(reading, pieces.append), _signal_family)
    finally:
        os.close(reading)
        if writing >= 0:
            os.close(writing)
    return "".join(pieces), code


def _shell():
    from shutil import which

    name = os.environ.get("SHELL") or "sh"
    path = which(name)
    if path is None:
        raise OSError(f'"{name}" shell not found')
    return path


def _code(status):
    """Return IPython's exit code: shells have 128 + N where a command of theirs died of signal N."""
    return 128 - status if status > 128 else status


def _write(text):
    sys.stdout.write(text)
    sys.stdout.flush()


class _Copier:
    """Brings what comes out of a descriptor to ``write(text)``."""

    def __init__(self, fd, write=_write):
        self._fd, self._write = fd, write
        self._decoder = codecs.getincrementaldecoder(DEFAULT_ENCODING)("replace")
        self._ended = False

    def copy(self, seconds=None):
        """Copy to the end of the output, or for so many seconds; return whether it has ended."""
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        end = None if seconds is None else time.monotonic() + seconds
        while not self._ended:
            left = None if end is None else max(0, end - time.monotonic()) * 1000
            if not poll.poll(left):
                return False
            try:
                piece = os.read(self._fd, _PIECE)
            except OSError:  # EIO: nobody has the terminal open any more
                piece = b""
            self._ended = not piece
            text = self._decoder.decode(piece, self._ended)
            if text:
                self._write(text)
        return True


def _finish(start, copier, send):
    """Start a command and copy until it has ended; return its code.  When this raises, it has ended.

    start  function that makes the child, with interrupts held back: one that comes meanwhile is
           raised when it has returned, and its result is lost
    send   function of a child and a signal
    """
    children = []
    try:
        _einkorn.hold_interrupts(lambda start: children.append(start()), start)
        copier.copy()
        return _code(children[0].wait())
    except BaseException:
        for child in children:
            _end(child, copier, send)
        raise


def _end(child, copier, send):
    """End a command, in steps; at once if that is interrupted."""
    try:
        for number, seconds in _STEPS:
            if child.poll() is not None:
                break
            send(child, number)
            _wait(child, copier, seconds)
    finally:
        send(child, signal.SIGKILL)
        child.wait()


def _wait(child, copier, seconds):
    """Wait for the end of the command for so long; what it still has to say is shown."""
    end = time.monotonic() + seconds
    copier.copy(seconds)
    try:
        child.wait(max(0, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        pass


def _signal_terminal(master, child, number):
    """Send a signal to the command that has the terminal, and to the shell that began it."""
    groups = {child.pid}
    try:
        groups.add(os.tcgetpgrp(master))
    except OSError:
        pass
    for group in groups - {0}:
        try:
            os.killpg(group, number)
        except (ProcessLookupError, PermissionError):
            pass


def _signal_family(child, number):
    """Send a signal to a command and to all that it has started.

    Not SIGINT: the kernel sends that to all processes of the worker's group.
    """
    if number == signal.SIGINT:
        return
    family = [child.pid]
    for pid in family:
        try:
            with open(f"/proc/{pid}/task/{pid}/children") as file:
                family += map(int, file.read().split())
        except OSError:
            pass
    for pid in family:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            pass
