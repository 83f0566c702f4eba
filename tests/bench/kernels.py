"""
Kernels as they are found by Jupyter (a directory with a kernel.json), their
processes, and what these cost.
"""

import array
import collections
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

PAGE = os.sysconf("SC_PAGESIZE")
HERE = pathlib.Path(__file__).resolve().parent

# The stopwatch inside a kernel (control_watch.c); bench.py says where it lies.
WATCH = None


class Spec:
    """A kernelspec that can be started, again and again."""

    def __init__(self, name, directory):
        self.name = name
        directory = pathlib.Path(directory)
        spec = json.loads((directory / "kernel.json").read_text())
        self.argv = spec["argv"]
        if self.argv[0].startswith("python"):
            # The one of the environment that the kernelspec lies in: its share/jupyter/kernels.
            self.argv[0] = str(directory.absolute().parents[3] / "bin" / self.argv[0])
        self.environment = {**ENVIRONMENT, **spec.get("env", {})}
        self.runs_python = spec["language"] == "python"
        self.restarts_python = "einkorn" in spec.get("metadata", {})

    def start(self, watched=False, options=()):
        return Kernel(self, watched, options)


class Kernel(client.Client):
    """A kernel that was just spawned; `spawned` is the moment before."""

    def __init__(self, spec, watched, options):
        super().__init__(client.connection_info())
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="bench-"))
        file = self.directory / "connection.json"
        file.write_text(json.dumps(self.connection))
        file.chmod(0o600)
        self.log = open(self.directory / "log", "w+b")
        argv = [word.replace("{connection_file}", str(file)) for word in [*spec.argv, *options]]
        environment = dict(spec.environment)
        if watched and WATCH:
            environment["LD_PRELOAD"] = WATCH
            environment["BENCH_WATCH"] = f"{self.connection['control_port']} {self.directory}/watch"
        self.socket("shell")
        self.spawned = time.perf_counter()
        self.process = spawn(argv, self.log, environment)
        self.pidfd = os.pidfd_open(self.process.pid)

    def ready(self):
        """Waits until the kernel answers and its IOPub arrives. -> itself"""
        self.reply("shell", self.send("shell", "kernel_info_request", {}))
        self.subscribe()
        return self

    def prepare_control(self):
        """What control() sends: made before, as it costs more than a round trip."""
        return self.prepare("kernel_info_request", {})

    def control(self, prepared=None):
        """A round trip on control. -> seconds"""
        request, frames = prepared or self.prepare_control()
        mark = request.encode()
        socket = self.socket("control")
        begin = time.perf_counter()
        socket.send_multipart(frames)
        while True:
            reply = socket.recv_multipart()
            seconds = time.perf_counter() - begin
            if mark in reply[reply.index(client.DELIMITER) + client.PARENT]:
                return seconds

    def seconds_inside(self, begin):
        """
        What the answers on control took by the stopwatch inside, of all requests
        since `begin`, a time of perf_counter(): that is its clock, too.
        """
        lines = (self.directory / "watch").read_text().splitlines()
        times = [[int(word) / 1e9 for word in line.split()] for line in lines]
        return [sent - read for read, sent in times if read >= begin]

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


def python_import(name):
    """Seconds that an import takes in plain Python."""
    code = f"import time; t = time.perf_counter(); import {name}; print(time.perf_counter() - t)"
    done = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, stdin=subprocess.DEVNULL,
                          capture_output=True, check=True)
    return float(done.stdout)


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


def memory(pid):
    """
    What a process and its descendants take, in kB, by two counts:
    - pss: a page that several processes map counts by its share, so other
      processes on the machine that map the same files make it smaller;
    - uss: pages that are theirs alone.
    """
    fields = {"Pss": 0, "Private_Clean": 0, "Private_Dirty": 0}
    for each in family_of(pid):
        for line in pathlib.Path(f"/proc/{each}/smaps_rollup").read_text().splitlines():
            name = line.partition(":")[0]
            if name in fields:
                fields[name] += int(line.split()[1])
    return {"pss": fields["Pss"], "uss": fields["Private_Clean"] + fields["Private_Dirty"]}


def pss_alone(pid):
    """
    The PSS of a process and its descendants in kB, as it would be if no other Python
    and no other Einkorn ran on the machine: what these map counts as if they did not.
    None where the system does not tell who maps a page (it tells root).
    """
    family = family_of(pid)
    ours, others = collections.Counter(), collections.Counter()
    files = set()
    for each in family:
        maps = maps_of(each)
        files.update(file for _, _, file in maps)
        ours.update(pages_of(each, maps))
    for each in map(int, filter(str.isdigit, os.listdir("/proc"))):
        try:
            maps = maps_of(each)
            if each not in family and not any("python" in file or "einkorn" in file
                                              for _, _, file in maps):
                others.update(pages_of(each, [m for m in maps if m[2] and m[2] in files]))
        except OSError:
            pass  # it has ended, or is none of our business
    if set(ours) <= {0}:
        return None
    return sum(n / (n + others[page]) for page, n in ours.items()) * PAGE / 1024


def maps_of(pid):
    """-> what a process has mapped: (first page, the one after the last, file or "")"""
    found = []
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        addresses, *_, file = [*line.split(maxsplit=5), ""][:6]
        if not file.startswith("[v"):  # the system's own: vdso, vvar, vsyscall
            begin, end = (int(word, 16) // PAGE for word in addresses.split("-"))
            found.append((begin, end, file))
    return found


def pages_of(pid, maps):
    """-> the numbers of the pages of memory that are there for these mappings"""
    with open(f"/proc/{pid}/pagemap", "rb", buffering=0) as pagemap:
        for begin, end, _ in maps:
            entries = array.array("Q", os.pread(pagemap.fileno(), (end - begin) * 8, begin * 8))
            # Bit 63: the page is there; the lower 55: its number.
            yield from (entry & (1 << 55) - 1 for entry in entries if entry >> 63)


def peaks(pid, reset=False):
    """
    kB: the most that each process of a family had resident, the first one first.
    With `reset` what they have now, from which later peaks are counted.
    """
    found = []
    for each in family_of(pid):
        if reset:
            pathlib.Path(f"/proc/{each}/clear_refs").write_text("5")
        for line in pathlib.Path(f"/proc/{each}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                found.append(int(line.split()[1]))
    return found


def readable(stream):
    """-> a function that waits so many seconds for something to read, and says whether there is"""
    return lambda seconds: bool(select.select([stream], [], [], seconds)[0])
