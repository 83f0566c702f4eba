"""
What `einkorn frames` is measured beside: a worker for JSON lines as one writes it in
Python, a loop around exec. It has the protocol's common path (handshake, cells with
streamed and bounded output, host calls, sources for tracebacks, usage with the cell's own
peak of memory) and nothing of what makes such a worker
hard (interrupts, descriptors that cells close, facts), so it is not slowed by it.
"""

import io
import itertools
import json
import linecache
import resource
import sys
import time
import traceback

MAX_OUTPUT = 1_000_000
MARKER = f"\n...(truncated at {MAX_OUTPUT} characters)"
CHUNK = 64_000

requests, replies = sys.stdin, sys.stdout
numbers = itertools.count(1)
sources = []  # names in linecache, oldest first


def write(frame):
    replies.write(json.dumps(frame, ensure_ascii=False) + "\n")
    replies.flush()


class Stream(io.StringIO):
    """Keeps what fits, and sends it on if it has a cell to speak for."""

    def __init__(self, cell=None):
        super().__init__()
        self.cell, self.kept, self.cut = cell, 0, False

    def write(self, text):
        part = text[: MAX_OUTPUT - self.kept]
        if part:
            super().write(part)
            self.kept += len(part)
            if self.cell is not None:
                for start in range(0, len(part), CHUNK):
                    self.send(part[start : start + CHUNK])
        if len(part) < len(text) and not self.cut:
            self.cut = True
            if self.cell is not None:
                self.send(MARKER)
        return len(text)

    def send(self, text):
        write({"type": "stdout_chunk", "id": self.cell, "text": text})

    def text(self):
        return self.getvalue() + (MARKER if self.cut else "")


class Host:
    def _call(self, method, args):
        number = f"hc-{int(time.time())}-{next(numbers)}"
        write({"type": "host_call", "id": number, "method": method, "args": args})
        while True:
            reply = json.loads(requests.readline())
            if reply.get("id") == number and reply["type"] == "host_response":
                if reply.get("error") is not None:
                    raise RuntimeError(f"host.{method} error: {reply['error']}")
                return reply.get("data")


def cpu_seconds():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(use.ru_utime + use.ru_stime for use in used)


def forget_peak():
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def peak_kb():
    with open("/proc/self/status") as file:
        return next(int(row.split()[1]) for row in file if row.startswith("VmHWM:"))


def remember(name, code):
    linecache.cache[name] = (len(code), None, [row + "\n" for row in code.split("\n")], name)
    sources.append(name)
    while len(sources) > 128:
        linecache.cache.pop(sources.pop(0), None)


def run(request, number, namespace):
    out, err = Stream(request["id"]), Stream()
    error = line = function = None
    name = f"<kernel:{number}>"
    remember(name, request["code"])
    forget_peak()
    began, cpu = time.time(), cpu_seconds()
    real = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = out, err
    try:
        try:
            code = compile(request["code"], name, "eval")
        except SyntaxError:
            code = compile(request["code"], name, "exec")
        value = eval(code, namespace)
        if value is not None:
            print(repr(value))
    except BaseException as exception:
        error = traceback.format_exc()
        for frame, at in traceback.walk_tb(exception.__traceback__):
            if frame.f_code.co_filename == name:
                line, function = at, frame.f_code.co_name
    finally:
        sys.stdout, sys.stderr = real
    write({
        "type": "response", "id": request["id"], "stdout": out.text(), "stderr": err.text(),
        "error": error, "interrupted": False,
        "trace": {"error_lineno": line, "error_call": function}, "guards": {}, "files_read": [],
        "usage": {"wall_s": round(time.time() - began, 4), "cpu_s": round(cpu_seconds() - cpu, 4),
                  "peak_rss_kb": peak_kb()},
    })


def main():
    namespace = {"__name__": "__openai4s__", "host": Host()}
    hello = json.loads(requests.readline())
    write({"type": "initialized", "id": hello["id"]})
    cells = itertools.count(1)
    for line in iter(requests.readline, ""):
        request = json.loads(line)
        if request.get("type") == "shutdown":
            break
        if request.get("type", "execute") == "execute":
            run(request, next(cells), namespace)


main()
