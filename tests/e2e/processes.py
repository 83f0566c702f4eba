"""What a process holds: memory, files, processor time. For the tests of this directory."""

import os
import pathlib
import time


def resident(pid):
    """Resident memory, kB."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise AssertionError(f"no VmRSS of {pid}")


def fds(pid):
    """
    Number of open file descriptors. Without the history's, whose file and journal another thread
    opens when it has something to write.
    """
    found = 0
    for entry in os.scandir(f"/proc/{pid}/fd"):
        try:
            found += "/profile_default" not in os.readlink(entry.path)
        except FileNotFoundError:
            pass  # just closed, or that of the listing itself
    return found


def cpu_seconds(pid):
    """Processor time used so far, user and system."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def settled(look, wanted, timeout=20):
    """
    Waits until look() gives what is wanted, or less. For what nobody announces: that another
    process has closed a file, or has nothing left to do.
    """
    end = time.monotonic() + timeout
    while (seen := look()) != wanted and not (wanted is not True and seen < wanted):
        assert time.monotonic() < end, f"{seen} after {timeout} s, not {wanted}"
        time.sleep(0.02)


def fds_when_connected(kernel):
    """File descriptors of a kernel once all five connections of its first client stand."""
    msg_id = kernel.send_execute("answer = input()", allow_stdin=True)
    kernel.answer(kernel.take("stdin"), "x")
    kernel.finish(msg_id)
    kernel.kernel_info("control")
    kernel.ping()
    return fds(kernel.pid)
