"""
What a program may leave to the end of Python to do for it: name -> cells, separated by SEPARATOR.
Each leads to the word "done" in the file `mark`; `note` is a function that writes it there and
needs no other name.
"""

import glob
import resource

SEPARATOR = "# ---\n"

BEGIN = """
import io
def note(word="done", open=io.open, path={mark!r}):  # not IPython's own open()
    with open(path, "a") as file:
        file.write(word + "\\n")
class Noting:
    def __init__(self, note=note):
        self.note = note
    def __del__(self):
        self.note()
mark = {mark!r}
"""

MODULE = """
class Holder:
    pass
def function():
    pass
"""  # mine.py: a module of the user's own

CELLS = {
    "atexit handler": """
import atexit
_ = atexit.register(note)""",

    "atexit handler that collects": """
import atexit, gc
thing = Noting()
thing.itself = thing
_ = atexit.register(gc.collect)""",

    "object": """
thing = Noting()""",

    "object with a hidden name": """
_thing = Noting()""",

    "object in a cycle": """
thing = Noting()
thing.itself = thing""",

    "object where the collector is off": """
import gc
gc.disable()
thing = Noting()
thing.itself = thing""",

    "object of a class": """
class Holder:
    thing = Noting()""",

    "object of a closure": """
def outer():
    thing = Noting()
    def inner():
        return thing, inner
    return inner
inner = outer()""",

    "result": """
Noting()""",

    "result of long ago": """
Noting()
# ---
1
# ---
2
# ---
3
# ---
4""",

    "local of the last error": """
def fail():
    thing = Noting()
    1 / 0
fail()""",

    "local of the last error, in a cycle": """
def fail():
    thing = Noting()
    thing.itself = thing
    1 / 0
fail()""",

    "weakref.finalize": """
import weakref
class Thing:
    pass
thing = Thing()
_ = weakref.finalize(thing, note)""",

    "weakref callback": """
import weakref
class Thing:
    pass
thing = Thing()
watch = [weakref.ref(thing, lambda _, note=note: note())]
import json
json.watch = watch""",

    "generator": """
def generate(note=note):
    try:
        yield
    finally:
        note()
generator = generate()
next(generator)""",

    "file": """
file = open(mark, "w")
_ = file.write("done\\n")""",

    "file of a class": """
class Holder:
    file = open(mark, "w")
_ = Holder.file.write("done\\n")""",

    "file in a cycle": """
holder = [open(mark, "w")]
holder.append(holder)
_ = holder[0].write("done\\n")""",

    "log": """
import logging
logging.basicConfig(filename=mark, format="%(message)s")
logging.warning("done")""",

    "archive": """
import zipfile
archive = zipfile.ZipFile(mark, "w")
archive.writestr("done", "")""",

    "thread": """
import threading, time
threading.Thread(target=lambda: (time.sleep(0.1), note())).start()""",

    "pool": """
import time
from concurrent.futures import ThreadPoolExecutor
pool = ThreadPoolExecutor(1)
_ = pool.submit(lambda: (time.sleep(0.1), note()))""",

    "object in a module": """
import mine
mine.thing = Noting()""",

    "object in a cycle in a module": """
import mine
mine.thing = Noting()
mine.thing.itself = mine.thing""",

    "object of a class in a module": """
import mine
mine.Holder.thing = Noting()""",

    "file in a module": """
import mine
mine.file = open(mark, "w")
_ = mine.file.write("done\\n")""",

    "object in a module of a library": """
import json
json.thing = Noting()""",

    "file in a module of a library": """
import json
json.file = open(mark, "w")
_ = json.file.write("done\\n")""",
}

# Where the shell is IPython's, which deletes all names before, a finalizer does not see these.
WITH_MODULES = {
    "object that needs a module": """
import os
class Renaming:
    path = mark + "-"
    def __del__(self):
        os.rename(self.path, self.path[:-1])
open(Renaming.path, "w").write("done")
thing = Renaming()""",

    "object in a cycle that needs a module": """
import os
class Renaming:
    def __init__(self, path):
        self.path, self.itself = path, self
    def __del__(self):
        os.rename(self.path, self.path[:-1])
with open(mark + "-", "w") as file:
    file.write("done")
thing = Renaming(mark + "-")""",
}


def ends_with_all_done(start, directory, cell, **options):
    """Runs a cell of those in a session of its own, and looks at what has been done."""
    mark = directory / "mark"
    (directory / "mine.py").write_text(MODULE)
    kernel = start(cwd=directory, env={"PYTHONPATH": str(directory)}, **options)
    for code in [BEGIN.format(mark=str(mark)), *cell.split(SEPARATOR)]:
        kernel.execute(code)
    kernel.stop()
    assert mark.exists() and mark.read_bytes().count(b"done") == (2 if cell == CELLS["archive"] else 1)


def cost_of_end(kernel):
    """Seconds of CPU of a kernel and its Python from now to their end."""
    begin = sum(spent(pid) for pid in (kernel.pid, kernel.worker))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    kernel.stop()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime - begin


def spent(pid):
    files = glob.glob(f"/proc/{pid}/task/*/schedstat")
    return sum(int(open(file).read().split()[0]) for file in files) / 1e9
