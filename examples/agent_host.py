"""A host for an agent, in Python and by hand: the wire of ``einkorn frames``.

    python3 agent_host.py [PYTHON]

The same task as agent_host.c, and the same output. Here is no library: a child
with three pipes, one JSON object a line. What a host of the real world needs
beside it (an environment without keys, bounds, deadlines, reports of deaths) is
in libeinkorn-host; see kernel/host.h.
"""

import json
import os
import secrets
import signal
import subprocess
import sys

SALES = {  # by quarter
    "north": [120, 128, 131, 140],
    "south": [210, 190, 171, 150],
    "west": [80, 85, 79, 90],
}

ANALYSIS = """
regions = ['north', 'south', 'west']
figures = {r: host._call('sales', [r]) for r in regions}
for region, quarters in figures.items():
    print(f'{region}: {quarters[0]} to {quarters[-1]}')
fell = [r for r, q in figures.items() if q[-1] < q[0]]
host._call('report', [{'fell': fell}])
"""

ENDLESS = """
import time
step = 0
while True:
    step += 1
    print('step', step)
    time.sleep(0.01)
"""


class Host:
    """One worker; ``methods`` is what its cells may call."""

    def __init__(self, methods, python):
        self.methods, self.python, self.generation = methods, python, 0
        self.start()

    def start(self):
        self.worker = subprocess.Popen(
            [os.environ.get("EINKORN", "einkorn"), "frames", "--python", self.python],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            encoding="utf-8",
        )
        self.send({"type": "initialize", "id": "hello", "skill_attestation_key": secrets.token_hex(32)})
        while (frame := self.read())["type"] == "log":
            pass
        if frame != {"type": "initialized", "id": "hello"}:
            raise RuntimeError(frame)

    def restart(self):
        self.shut_down()
        self.generation += 1
        self.start()

    def shut_down(self):
        self.send({"type": "shutdown"})
        self.worker.communicate()

    def interrupt(self):
        os.kill(self.worker.pid, signal.SIGINT)

    def send(self, frame):
        self.worker.stdin.write(json.dumps(frame) + "\n")
        self.worker.stdin.flush()

    def read(self):
        line = self.worker.stdout.readline()
        if not line:
            raise RuntimeError(f"the worker has ended with status {self.worker.wait()}")
        return json.loads(line)

    def answer(self, call, cell):
        reply = {"type": "host_response", "id": call["id"]}
        try:
            if call["method"].startswith("prov_"):
                reply["data"] = None  # lineage of files: nobody here keeps it
            else:
                reply["data"] = self.methods[call["method"]](cell, *call["args"])
        except Exception as error:
            reply["error"] = str(error)
        self.send(reply)

    def execute(self, cell, code, on_chunk):
        self.send({"type": "execute", "id": cell, "code": code})
        while True:
            frame = self.read()
            if frame["type"] == "host_call":
                self.answer(frame, cell)
            elif frame.get("id") == cell and frame["type"] == "stdout_chunk":
                on_chunk(frame["text"])
            elif frame.get("id") == cell and frame["type"] == "response":
                return frame


def sales(cell, region):
    if region not in SALES:
        raise LookupError("no such region")
    return SALES[region]


def report(cell, finding):
    print(f"[report from {cell}] {json.dumps([finding])}", flush=True)
    return {"filed": True}


def main():
    host = Host({"sales": sales, "report": report}, sys.argv[1] if len(sys.argv) > 1 else "python3")
    steps = 0

    def stop_after_three(text):
        nonlocal steps
        if "\n" in text:
            steps += 1
            if steps == 3:
                host.interrupt()  # a user who has seen enough presses Stop

    def show(text):
        print(text, end="", flush=True)

    def run(cell, code, on_chunk=show):
        error = host.execute(cell, code, on_chunk)["error"]
        if error:
            print(f"[{cell} ended] {error.rstrip().splitlines()[-1]}")

    run("analysis", ANALYSIS)
    run("mistake", "host._call('sales', ['east'])")
    run("endless", ENDLESS, stop_after_three)
    run("after", "print('still', len(figures), 'regions,', step >= 3)")
    host.restart()
    print("generation", host.generation)
    run("fresh", "print('figures' in globals())")
    host.shut_down()


main()
