"""Run a command in the shell, with a deadline for it and all that it starts.

The shell leads a session of its own.  What it starts and leaves behind is in its group, and the
command has ended when the group has: a job in the background does not outlive the deadline, and
the answer does not come before its output.
"""

import codecs
import os
import select
import signal
import subprocess
import time

import _einkorn

STDOUT_CHARS, STDERR_CHARS = 30_000, 8_000
GRACE = 2.0  # seconds between SIGTERM and SIGKILL
READ_SIZE = 65536
LAST_READS = 16  # after the end, for a pipe that somebody else still holds: 1 MiB, the largest pipe


class Tail:
    """The end of a stream: at most ``limit`` characters, and how many there were in all."""

    def __init__(self, limit):
        self.text, self.seen, self._limit = "", 0, limit
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, data):
        """Take bytes; none at all are the end of the stream."""
        text = self._decoder.decode(data, final=not data)
        self.seen += len(text)
        self.text = (self.text + text)[-self._limit :]


class Command:
    """A command that was run.

    status  "completed", "timed_out" or "launch_failed"; ``error`` says what failed then
    code    the shell's exit status, or minus the signal that ended it; -1 if it was not started
    """

    def __init__(self, command, cwd, timeout):
        self.status, self.code, self.error = "completed", -1, None
        self.stdout, self.stderr = Tail(STDOUT_CHARS), Tail(STDERR_CHARS)
        self._process = None
        begun = time.monotonic()
        try:
            # No interrupt between the start of the process and the moment we know of it.
            _einkorn.hold_interrupts(self._start, (command, cwd))
            if not self._follow(begun + timeout):
                self.status = "timed_out"
        except (OSError, ValueError) as error:
            if self._process is not None:
                raise
            self.status, self.error = "launch_failed", error
            self.stderr.feed(str(error).encode("utf-8", "replace"))
        finally:
            if self._process is not None:
                self._finish()
        self.duration_ms = int((time.monotonic() - begun) * 1000)

    def _start(self, arguments):
        command, cwd = arguments
        self._process = subprocess.Popen(
            command,
            shell=True,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def _follow(self, deadline):
        """Read what the command writes until its group has ended; return whether it has in time."""
        poller = select.poll()
        tails = self._tails()
        for fd in tails:
            os.set_blocking(fd, False)
            poller.register(fd, select.POLLIN)
        leader = _pidfd(self._process.pid)
        try:
            if leader is not None:
                poller.register(leader, select.POLLIN)
            # How long we look at nothing else, in seconds. Nothing tells us when the last of the
            # group has gone.
            pause = 0.05 if leader is None else 3600
            while (left := deadline - time.monotonic()) > 0:
                for fd, _ in poller.poll(min(left, pause) * 1000):
                    if fd == leader or not self._read(fd, tails[fd]):
                        poller.unregister(fd)
                if self._process.poll() is not None:
                    if not group_lives(self._process.pid):
                        return True
                    pause = min(2 * pause, 0.1) if pause < 1 else 0.005
            return False
        finally:
            if leader is not None:
                os.close(leader)

    def _tails(self):
        process = self._process
        return {process.stdout.fileno(): self.stdout, process.stderr.fileno(): self.stderr}

    @staticmethod
    def _read(fd, tail):
        """Read once; return whether there may be more later."""
        try:
            data = os.read(fd, READ_SIZE)
        except BlockingIOError:
            return True
        tail.feed(data)
        return bool(data)

    def _finish(self):
        """End what still runs, take what it has written, let go of everything."""
        process = self._process
        stop_group(process)
        for fd, tail in self._tails().items():
            for _ in range(LAST_READS):
                if not select.select([fd], [], [], 0)[0] or not self._read(fd, tail):
                    break
        process.stdout.close()
        process.stderr.close()
        self.code = -1 if process.returncode is None else process.returncode


def _pidfd(number):
    """Return a descriptor that tells when a process ends; None where there is no such thing."""
    try:
        return os.pidfd_open(number)
    except (AttributeError, OSError):
        return None


def stop_group(process):
    """End the group that ``process`` leads, if it has not ended: SIGTERM, and SIGKILL later."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None and not group_lives(process.pid):
            return
        try:
            os.killpg(process.pid, number)
        except OSError:
            pass
        end = time.monotonic() + GRACE
        while time.monotonic() < end:
            if process.poll() is not None and not group_lives(process.pid):
                return
            time.sleep(0.005)


def group_lives(group):
    """Return whether a process of this group runs.

    One that has ended and that nobody has waited for does not: where process 1 waits for nobody,
    in some containers, it stays for ever.
    """
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it is another user's, by setuid
    try:
        numbers = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return True
    return any(_runs(number, group) for number in numbers)


def _runs(number, group):
    try:
        if os.getpgid(number) != group:
            return False
        # Not open(): that is a cell's, and may ask the host where the file comes from.
        fd = os.open(f"/proc/{number}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        facts = os.read(fd, 4096)
    except OSError:
        return False
    finally:
        os.close(fd)
    return facts[facts.rindex(b")") + 2 :][:1] not in b"ZX"
