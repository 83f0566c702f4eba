"""
Kernels as they are found by Jupyter (a directory with a kernel.json), their
processes, and what these cost.
"""

import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import client

# Our own environment must not slow a kernel down or help it: no PYTHON*
# variables, and a profile directory of IPython's that is not the user's.
ENVIRONMENT = {name: value for name, value in os.environ.items()
               if not name.startswith(("PYTHON", "IPYTHON", "JPY_", "EINKORN"))}


class Spec:
    """A kernelspec that can be started, again and again."""

    def __init__(self, name, directory):
        self.name = name
        spec = json.loads((pathlib.Path(directory) / "kernel.json").read_text())
        self.argv = spec["argv"]
        if self.argv[0] in ("python", "python3"):  # as jupyter_client does
            self.argv[0] = sys.executable
        self.environment = {**ENVIRONMENT, **spec.get("env", {})}

    def start(self):
        return Kernel(self)


class Kernel(client.Client):
    """A kernel that was just spawned; `spawned` is the moment before."""

    def __init__(self, spec):
        super().__init__(client.connection_info())
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="bench-"))
        file = self.directory / "connection.json"
        file.write_text(json.dumps(self.connection))
        file.chmod(0o600)
        self.log = open(self.directory / "log", "w+b")
        argv = [word.replace("{connection_file}", str(file)) for word in spec.argv]
        self.socket("shell")
        self.spawned = time.perf_counter()
        self.process = spawn(argv, self.log, spec.environment)
        self.pidfd = os.pidfd_open(self.process.pid)

    def ready(self):
        """Waits until the kernel answers and its IOPub arrives. -> itself"""
        self.reply("shell", self.send("shell", "kernel_info_request", {}))
        self.subscribe()
        return self

    def wait_end(self, timeout):
        """Woken by the end itself; Popen.wait() with a timeout looks now and then."""
        if not select.select([self.pidfd], [], [], timeout)[0]:
            raise TimeoutError("the kernel does not end")

    def since_spawn(self):
        return time.perf_counter() - self.spawned

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if error is not None:
            self.log.seek(0)
            error.add_note(f"log of the kernel: {self.log.read().decode(errors='replace')}")
        family = family_of(self.process.pid)
        if self.process.poll() is None:
            self.send("control", "shutdown_request", {"restart": False})
            try:
                self.wait_end(5)
            except TimeoutError:
                pass
        for pid in family if self.process.poll() is None else family[1:]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()
        os.close(self.pidfd)
        self.close()
        self.log.close()
        shutil.rmtree(self.directory, ignore_errors=True)


def spawn(argv, log, environment):
    return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                            env=environment, start_new_session=True)


def python_pass():
    """Seconds from the spawn of `python -c pass` to its end: what any Python costs."""
    start = time.perf_counter()
    spawn([sys.executable, "-c", "pass"], subprocess.DEVNULL, ENVIRONMENT).wait()
    return time.perf_counter() - start


def family_of(pid):
    """A process and all its descendants."""
    found = [pid]
    for each in found:
        try:
            for task in os.listdir(f"/proc/{each}/task"):
                children = pathlib.Path(f"/proc/{each}/task/{task}/children").read_text()
                found += map(int, children.split())
        except OSError:
            pass
    return found


def cpu_ticks(pids):
    ticks = 0
    for pid in pids:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])  # utime and stime
    return ticks


def wait_quiet(pid, seconds=0.5):
    """Waits until a process and its descendants have used no time for so long."""
    before = None
    while before != (now := cpu_ticks(family_of(pid))):
        before = now
        time.sleep(seconds)


def pss(pid):
    """
    Proportional set size of a process and its descendants, in kB: each page
    counts by its share, so pages that both of our processes map count once.
    """
    total = 0
    for each in family_of(pid):
        for line in pathlib.Path(f"/proc/{each}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1])
    return total
