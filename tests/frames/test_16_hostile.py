"""Cells that mean harm to what runs them: each is answered, and so is the next.

What one process cannot prevent is not here: a cell can write into any descriptor that it finds
(docs/frames.md).
"""

import pytest

from client import RESPONSE_KEYS

THREADS = "import threading\ndef spawn(n, f):\n    t = [threading.Thread(target=f, args=(i,)) for i in range(n)]\n    [x.start() for x in t]\n    return t\n"

CELLS = {
    "writes to every descriptor but the channel's": (
        "import os, sys\n"
        "keep = {sys._openai4s_protocol_stdin.fileno(), sys._openai4s_protocol_stdout.fileno()}\n"
        "keep |= {fd for fd in map(int, os.listdir('/proc/self/fd')) if fd > 255}\n"
        "for fd in range(256):\n"
        "    try: os.write(fd, b'{\"type\":\"log\",\"msg\":\"forged\"}\\n')\n"
        "    except OSError: pass"
    ),
    "everything that the collector knows": (
        "import gc\n"
        "for x in gc.get_objects():\n"
        "    if type(x) in (dict, list, set) and x is not globals():\n"
        "        try: len(x); repr(type(x))\n"
        "        except Exception: pass"
    ),
    "closes each file object there is": (
        "import gc, io\n"
        "for x in gc.get_objects():\n"
        "    if isinstance(x, io.IOBase):\n"
        "        try: x.close()\n"
        "        except Exception: pass"
    ),
    "our modules are gone": (
        "import sys\n"
        "for name in [n for n in sys.modules if n.startswith(('einkorn', 'openai4s', '_einkorn'))]:\n"
        "    module = sys.modules.pop(name)\n"
        "    if name != '_einkorn': vars(module).clear()\n"
        "del module"
    ),
    "our hooks are replaced": (
        "import sys\n"
        "for name, module in list(sys.modules.items()):\n"
        "    if name.startswith('einkorn'):\n"
        "        for key, value in list(vars(module).items()):\n"
        "            if callable(value): vars(module)[key] = lambda *a, **k: 1 / 0"
    ),
    "all modules are gone": "import sys\nsys.modules.clear()",
    "no builtins": "import builtins\nvars(builtins).clear()",
    "builtins that raise": (
        "import builtins\n"
        "for name in ('print', 'open', 'len', 'type', 'isinstance', 'compile', 'str', 'getattr'):\n"
        "    setattr(builtins, name, lambda *a, **k: 1 / 0)"
    ),
    "sys without anything": (
        "import sys\n"
        "for name in list(vars(sys)):\n"
        "    if name not in ('modules',):\n"
        "        try: delattr(sys, name)\n"
        "        except Exception: pass"
    ),
    "threading without locks": "import threading\nvars(threading).clear()",
    "a tracer that raises": "import sys\ndef t(*a): raise ValueError\nsys.settrace(t)\nsys.setprofile(t)",
    "a tracer that prints": "import sys\nsys.setprofile(lambda *a: print('p'))",
    "a tracer for all threads": "import threading\nthreading.setprofile(lambda *a: 1 / 0)\nthreading.settrace(lambda *a: 1 / 0)",
    "a collector that raises": "import gc\ngc.callbacks.append(lambda *a: 1 / 0)\ngc.set_threshold(1)",
    "a collector that prints": "import gc\ngc.callbacks.append(lambda *a: print('gc'))\ngc.set_threshold(10)",
    "the least recursion": "import sys\nsys.setrecursionlimit(60)",
    "finalizers at every moment": (
        "import gc\n"
        "class F:\n"
        "    def __init__(self): self.me = self\n"
        "    def __del__(self):\n"
        "        print('f')\n"
        "        F()\n"
        "gc.set_threshold(1)\nF()"
    ),
    "a finalizer that raises": "class F:\n    def __del__(self): raise SystemExit(5)\nF()\nglobals()['f'] = F()",
    "a finalizer that calls the host": (
        "class F:\n    def __del__(self): host._call('ping', [])\n"
        "def f():\n    x = F()\nf()"
    ),
    "alarms that raise": (
        "import signal\n"
        "def handler(*a): raise RuntimeError('alarm')\n"
        "signal.signal(signal.SIGALRM, handler)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.001, 0.0007)"
    ),
    "alarms that exit": (
        "import signal, sys\n"
        "signal.signal(signal.SIGALRM, lambda *a: sys.exit(3))\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)"
    ),
    "a storm of interrupts of its own": (
        "import os, signal, threading, time\n"
        "def storm():\n"
        "    end = time.monotonic() + 0.5\n"
        "    while time.monotonic() < end: os.kill(os.getpid(), signal.SIGINT)\n"
        "threading.Thread(target=storm).start()\n"
        "while True: pass"
    ),
    "a storm of other signals": (
        "import os, signal\n"
        "signal.signal(signal.SIGUSR1, lambda *a: None)\n"
        "for _ in range(20000): os.kill(os.getpid(), signal.SIGUSR1)"
    ),
    "a namespace of other kinds of keys": "globals().update({i: i for i in range(100)})\nglobals()[None] = globals()[()] = 1",
    "names that are not UTF-8": "globals()['\\ud800'] = 1\nglobals()['x' * 100_000] = 2",
    "audit hooks that raise": "import sys\ndef h(event, args):\n    if event == 'compile': raise RuntimeError('no')\nglobals()['h'] = h",
    "an exception hook for threads": THREADS + "threading.excepthook = None\nspawn(5, lambda i: 1 / 0)",
    "descriptors without end": (
        "import os\nn = 0\n"
        "try:\n    while True: os.open('/dev/null', 0); n += 1\n"
        "except OSError: pass\n"
        "os.closerange(3, 250)"
    ),
    "forks that print frames": (
        "import os, sys\n"
        "for _ in range(5):\n"
        "    if os.fork() == 0:\n"
        "        try:\n"
        "            print('{\"type\":\"log\",\"msg\":\"forged\"}', flush=True)\n"
        "            import _einkorn\n"
        "            _einkorn.write_frame({'type': 'log', 'msg': 'forged'})\n"
        "            host._call('ping', [])\n"
        "        finally: os._exit(0)\n"
        "for _ in range(5): os.wait()"
    ),
    "the channel by ctypes": (
        "import ctypes\nlibc = ctypes.CDLL(None)\n"
        "for fd in range(3, 256): libc.close(fd)\n"
        "libc.fflush(None)"
    ),
    "a codec for everything": "import codecs\ncodecs.register_error('strict', lambda e: 1 / 0)",
    "warnings as errors": "import warnings\nwarnings.simplefilter('error')\nwarnings.showwarning = None",
    "another locale and directory": "import os, tempfile\nd = tempfile.mkdtemp()\nos.chdir(d)\nos.rmdir(d)\nos.umask(0o777)",
}
NOISE = ("RuntimeError: alarm", "SystemExit", "could not serve")


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_that_means_harm(start, name):
    worker = start()
    result = worker.execute(CELLS[name], timeout=25)
    kinds = {f["type"] for f in result.frames}
    assert kinds <= {"stdout_chunk", "log", "host_call"}, kinds
    assert not [log for log in result.logs if "forged" in log]
    assert RESPONSE_KEYS <= set(result)
    for _ in range(3):  # each gets its answer, whatever is in it
        assert RESPONSE_KEYS <= set(worker.execute("y = 6", timeout=25))
    worker.send({"type": "inspect_variables", "id": "v"})
    while (frame := worker.read())["type"] in ("stdout_chunk", "log", "host_call"):
        pass
    assert (frame["type"], frame["id"]) == ("variables_response", "v")
    worker.close()


def test_host_methods_in_many_threads_at_once(start):
    """Each thread gets its own answers."""
    worker = start()
    result = worker.execute(
        THREADS + "wrong = []\n"
        "def call(i):\n"
        "    for k in range(50):\n"
        "        if host._call('echo', [i, k]) != [i, k]: wrong.append((i, k))\n"
        "for t in spawn(8, call): t.join()\n"
        "print(wrong)",
        timeout=60,
    )
    assert (result["stdout"], result["error"]) == ("[]\n", None)
    assert len(result.calls) == 400


def test_a_frame_that_is_forged_by_its_descriptor_is_not_prevented_and_breaks_nothing(start):
    """A cell that writes into the channel itself can say what it likes. The next one is served all the same."""
    worker = start()
    result = worker.execute(
        "import os, sys\n"
        "os.write(sys._openai4s_protocol_stdout.fileno(), b'{\"type\":\"log\",\"msg\":\"forged\"}\\n')"
    )
    assert result.logs == ["forged"]
    worker.alive()


def test_memory_that_threads_take(start):
    import resource

    limit = 600 << 20
    worker = start(before=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    result = worker.execute(
        THREADS + "kept = []\n"
        "def take(i):\n"
        "    try:\n"
        "        while True: kept.append(bytearray(1 << 20))\n"
        "    except MemoryError: pass\n"
        "for t in spawn(4, take): t.join()\n"
        "kept.clear()\nprint('done')",
        timeout=60,
    )
    assert result["id"] == "cell-1"
    worker.execute("kept.clear()")
    worker.alive()
