"""
Measures `einkorn frames` beside a plain worker for the same protocol (plain_worker.py)
and beside `python -c pass`. bench.py puts it into its page; called by itself it prints
what that would say:

    frames.py EINKORN [--python PATH] [--rounds 11]

Each round measures all of them, in an order that turns round every time; figures are
medians. One client, in Python, serves both workers, so its time is in both; what the
worker's main thread computes is told beside it, for it is what a busy machine changes least.
"""

import argparse
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time
import traceback

from shown import SCALE, figure, lines, times
from stopwatch import timed

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = "/usr/bin/python3"
CELLS = 1000
CALLS = 1000
SMALL = 4096  # more than the response to a cell that says nothing
PRINTED = "for _ in range(1600):\n    print('x' * 65535)"  # 100 MB
OUT_OF_BOUND = 1_000_000

OURS, PLAIN, BARE = "einkorn frames", "plain worker", "python -c pass"

# (figure, what it is, unit)
ROWS = (
    ("ready", "spawn to `initialized`", "ms"),
    ("ready_peak", "memory it took at most by then, RSS", "MB"),
    ("trip", "execute round trip, p50", "µs"),
    ("trip_together", "… client and worker on one processor", "µs"),
    ("trip_computed", "… computed for it there", "µs"),
    ("calls", f"{CALLS:,} host calls in one cell", "ms"),
    ("calls_computed", "… computed for them", "ms"),
    ("printed", "100 MB printed in one cell", "ms"),
    ("printed_grown", "… peak above what it took before", "MB"),
)
UNITS = {name: unit for name, _, unit in ROWS}

# (figure, beside whom, bound, how it is said): `ours <= bound * theirs`; beside None it is
# the figure itself that is bounded.
GOALS = (
    ("ready", BARE, 1.3, "ready ≤ 1.3 × `python -c pass`"),
    ("trip", PLAIN, 1 / 3, "execute round trip ≤ 1/3 of the plain worker's"),
    ("trip_together", PLAIN, 1 / 3, "… client and worker on one processor"),
    ("trip_computed", PLAIN, 1 / 3, "… of what is computed for it there"),
    ("calls", PLAIN, 1, f"{CALLS:,} host calls not slower than the plain worker's"),
    ("printed", PLAIN, 1, "100 MB of output not slower"),
    ("printed_grown", None, 16, "… in 16 MB at most"),
)

INTRODUCTION = """\
## `einkorn frames` beside a plain worker

The worker for programs that speak JSON lines, beside one as it is written in Python
(`tests/bench/plain_worker.py`: a loop around `exec`, with the same frames), which is spared what
makes such a worker hard: interrupts, descriptors that cells close, facts. One client, in Python,
serves both; it parses nothing before the watch has stopped. Between two processors much of a
round trip is the time that an idle one needs to wake up; Einkorn's worker watches for the next
line for 60 µs before it sleeps. On one processor that plays no part. “Computed” is what the
worker's main thread was on a processor for.
"""


class Worker:
    def __init__(self, command):
        self.began = time.perf_counter()
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        start_new_session=True)
        self.lines = self.process.stdout
        self.number = 0
        self.send({"type": "initialize", "id": "hello", "skill_attestation_key": "5a" * 32})
        while json.loads(self.lines.readline())["type"] != "initialized":
            pass
        self.ready = time.perf_counter() - self.began

    def send(self, frame):
        self.process.stdin.write(json.dumps(frame).encode() + b"\n")
        self.process.stdin.flush()

    def trips(self, code, count):
        """-> [seconds of a round trip]"""
        requests = [self.request(code) for _ in range(count)]
        put, get = self.process.stdin.fileno(), self.lines.fileno()
        answers, seconds = [], []
        for request in requests:
            begin = time.perf_counter()
            os.write(put, request)
            answer = os.read(get, SMALL)
            seconds.append(time.perf_counter() - begin)
            answers.append(answer)
        for request, answer in zip(requests, answers):
            response = json.loads(answer)  # one whole line
            assert response["id"] == json.loads(request)["id"] and response["error"] is None
        return seconds

    def request(self, code):
        self.number += 1
        frame = {"type": "execute", "id": f"cell-{self.number}", "code": code}
        return json.dumps(frame).encode() + b"\n"

    @contextlib.contextmanager
    def together(self):
        """The worker and we share one processor meanwhile."""
        processors = os.sched_getaffinity(0)
        self.keep_to({min(processors)})
        try:
            yield
        finally:
            self.keep_to(processors)

    def keep_to(self, processors):
        for pid in (0, self.process.pid):
            os.sched_setaffinity(pid, processors)

    def execute(self, code):
        """-> the response, and how many characters came as chunks"""
        self.process.stdin.write(self.request(code))
        self.process.stdin.flush()
        cell, streamed = f"cell-{self.number}", 0
        while True:
            frame = json.loads(self.lines.readline())
            kind = frame["type"]
            if kind == "stdout_chunk":
                streamed += len(frame["text"])
            elif kind == "host_call":
                self.send({"type": "host_response", "id": frame["id"], "data": frame["args"]})
            elif kind == "response" and frame["id"] == cell:
                if frame["error"]:
                    raise RuntimeError(frame["error"])
                return frame, streamed

    def peak(self):
        """-> kB that the process has occupied at most"""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0])

    def computed(self):
        """-> seconds that its main thread has been on a processor"""
        return int(pathlib.Path(f"/proc/{self.process.pid}/schedstat").read_text().split()[0]) / 1e9

    def end(self):
        self.send({"type": "shutdown"})
        self.process.communicate(timeout=60)


def of_python(python):
    return {"ready": timed(lambda: subprocess.run([python, "-c", "pass"], check=True))[1]}


def of_worker(command):
    worker = Worker(command)
    found = {"ready": worker.ready, "ready_peak": worker.peak()}
    worker.execute("pass")
    found["trip"] = statistics.median(worker.trips("x = 1", CELLS))
    with worker.together():
        before = worker.computed()
        found["trip_together"] = statistics.median(worker.trips("x = 1", CELLS))
        found["trip_computed"] = (worker.computed() - before) / CELLS
    before = worker.computed()
    code = f"for i in range({CALLS}):\n    assert host._call('echo', [i]) == [i]"
    found["calls"] = timed(lambda: worker.execute(code))[1]
    found["calls_computed"] = worker.computed() - before
    before = worker.peak()
    (response, streamed), found["printed"] = timed(lambda: worker.execute(PRINTED))
    assert OUT_OF_BOUND < streamed < OUT_OF_BOUND + 100, streamed
    assert OUT_OF_BOUND < len(response["stdout"]) < OUT_OF_BOUND + 100
    found["printed_grown"] = worker.peak() - before
    worker.end()
    return found


def measure(einkorn, python, rounds):
    """-> {subject: {figure: [a sample per round]}}, seconds and kB, and what failed"""
    os.environ["OPENAI4S_PROVENANCE_OFF"] = "1"  # the plain worker has none
    subjects = {
        OURS: lambda: of_worker([einkorn, "frames", "--python", python]),
        PLAIN: lambda: of_worker([python, "-u", str(HERE / "plain_worker.py")]),
        BARE: lambda: of_python(python),
    }
    samples, failures = {name: {} for name in subjects}, []
    for number in range(rounds + 1):
        for name in list(subjects)[:: 1 if number % 2 else -1]:
            try:
                found = subjects[name]()
            except Exception:
                failures.append(f"{name} in round {number}")
                print("failed:", failures[-1], file=sys.stderr)
                traceback.print_exc()
                continue
            for figure_name, value in found.items():
                if number:  # the first round fills caches
                    samples[name].setdefault(figure_name, []).append(value)
        told = f"frames, round {number} of {rounds}" if number else "frames, warmed up"
        print(told, file=sys.stderr, flush=True)
    return samples, failures


# ---- what is said of it ---------------------------------------------------------------------


def ratio(samples, name, above, below):
    """The median of the rounds' quotients; None where one of the two has no such figure."""
    pairs = list(zip(samples[above].get(name, ()), samples[below].get(name, ())))
    return statistics.median(a / b for a, b in pairs) if pairs and all(b for _, b in pairs) else None


def rows(samples):
    for name, what, unit in ROWS:
        yield [what, *(figure(of.get(name), unit) for of in samples.values()),
               times(ratio(samples, name, PLAIN, OURS))]


def goals(samples):
    for name, beside, bound, what in GOALS:
        values = samples[OURS].get(name)
        if beside:
            value = ratio(samples, name, OURS, beside)
            text = times(value)
        else:
            value = values and statistics.median(values) * SCALE[UNITS[name]]
            text = figure(values, UNITS[name])
        yield [what, text, "yes" if value is not None and value <= bound else "no"]


def section(samples):
    """-> the lines of the page's part"""
    return [INTRODUCTION,
            *lines(["", *samples, f"{PLAIN} ÷ {OURS}"], rows(samples)), "",
            *lines(["goal", "measured", "met"], goals(samples)), ""]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("einkorn")
    parser.add_argument("--python", default=PYTHON)
    parser.add_argument("--rounds", type=int, default=11)
    chosen = parser.parse_args()
    samples, failures = measure(chosen.einkorn, chosen.python, chosen.rounds)
    print("\n".join(section(samples)))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
