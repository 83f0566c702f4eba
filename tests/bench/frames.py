"""
Measures `einkorn frames` beside a plain worker for the same protocol (plain_worker.py)
and beside `python -c pass`, and prints a table.

    frames.py EINKORN [--python PATH] [--rounds 11] [--output PATH.json]

Each round measures all of them, in an order that turns round every time; figures are
medians. One client, in Python, serves both workers, so its time is in both; what the
worker's main thread computes is told beside it, for it is what a busy machine changes least.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
CELLS = 1000
CALLS = 1000
PRINTED = "for _ in range(1600):\n    print('x' * 65535)"  # 100 MB
OUT_OF_BOUND = 1_000_000


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

    def execute(self, code):
        """-> the response, and how many characters came as chunks"""
        self.number += 1
        cell, streamed = f"cell-{self.number}", 0
        self.send({"type": "execute", "id": cell, "code": code})
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
        """-> MB that the process has occupied at most"""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 1024

    def computed(self):
        """-> seconds that its main thread has been on a processor"""
        return int(pathlib.Path(f"/proc/{self.process.pid}/schedstat").read_text().split()[0]) / 1e9

    def end(self):
        self.send({"type": "shutdown"})
        self.process.communicate(timeout=60)


def seconds(function, *args):
    began = time.perf_counter()
    result = function(*args)
    return time.perf_counter() - began, result


def start_of_python(python):
    return {"ready, ms": seconds(subprocess.run, [python, "-c", "pass"])[0] * 1e3}


def of_worker(command):
    worker = Worker(command)
    found = {"ready, ms": worker.ready * 1e3}
    found["memory when ready, MB"] = worker.peak()
    worker.execute("pass")
    before = worker.computed()
    trips = [seconds(worker.execute, "x = 1")[0] for _ in range(CELLS)]
    found["execute round trip, ms"] = statistics.median(trips) * 1e3
    found["computed for it, ms"] = (worker.computed() - before) / CELLS * 1e3
    before = worker.computed()
    code = f"for i in range({CALLS}):\n    assert host._call('echo', [i]) == [i]"
    found[f"{CALLS} host calls, ms"] = seconds(worker.execute, code)[0] * 1e3
    found["computed for them, ms"] = (worker.computed() - before) * 1e3
    before = worker.peak()
    taken, (response, streamed) = seconds(worker.execute, PRINTED)
    assert OUT_OF_BOUND < streamed < OUT_OF_BOUND + 100, streamed
    assert OUT_OF_BOUND < len(response["stdout"]) < OUT_OF_BOUND + 100
    found["100 MB printed in one cell, ms"] = taken * 1e3
    found["memory that takes at most, MB"] = worker.peak() - before
    worker.end()
    return found


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("einkorn")
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--output", metavar="PATH")
    return parser.parse_args()


def main():
    chosen = arguments()
    os.environ["OPENAI4S_PROVENANCE_OFF"] = "1"  # the plain worker has none
    subjects = {
        "einkorn frames": lambda: of_worker(
            [chosen.einkorn, "frames", "--python", chosen.python]),
        "plain worker": lambda: of_worker([chosen.python, "-u", str(HERE / "plain_worker.py")]),
        "python -c pass": lambda: start_of_python(chosen.python),
    }
    samples = {name: {} for name in subjects}
    for number in range(chosen.rounds + 1):
        for name in list(subjects)[:: 1 if number % 2 else -1]:
            for figure, value in subjects[name]().items():
                if number:  # the first round fills caches
                    samples[name].setdefault(figure, []).append(value)
        print(f"round {number} of {chosen.rounds}", file=sys.stderr)
    print("| | " + " | ".join(subjects) + " |\n|" + "---|" * (len(subjects) + 1))
    for figure in samples["einkorn frames"]:
        row = [samples[name].get(figure) for name in subjects]
        print(f"| {figure} | " + " | ".join(f"{statistics.median(of):.3g}" if of else "" for of in row)
              + " |")
    if chosen.output:
        pathlib.Path(chosen.output).write_text(json.dumps(samples, indent=1) + "\n")


main()
