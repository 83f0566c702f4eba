"""
Issue 5, "Ending": Python comes to its own end, with all that a program may leave to it, and is not
held up by the memory that goes with the process anyway.
"""

import glob

import pytest

from client import SANITIZED, within
from finalizers import CELLS, WITH_MODULES, cost_of_end, ends_with_all_done


@pytest.mark.parametrize("name", [*CELLS, *WITH_MODULES])
def test_what_is_left_to_the_end_is_done(start, tmp_path, name):
    ends_with_all_done(start, tmp_path, {**CELLS, **WITH_MODULES}[name])


def test_threads_keep_the_names_as_long_as_they_run(start, tmp_path):
    """A thread that is left while the atexit handlers run meets no name that is None."""
    kernel = start()
    mark = tmp_path / "mark"
    kernel.run(f"""
import atexit, threading, time
failed = []
threading.excepthook = lambda arguments, open=open: open({str(mark)!r}, "w").write(str(arguments))
def work():
    while True:
        time.sleep(0.001)
        failed.clear()
threading.Thread(target=work, daemon=True).start()
_ = atexit.register(time.sleep, 0.1)""")
    kernel.stop()
    assert not mark.exists(), mark.read_text()


def test_temporary_files_and_shared_memory_go(start, tmp_path):
    kernel = start()
    name = kernel.execute(f"""
import tempfile
from multiprocessing.shared_memory import SharedMemory
here = tempfile.TemporaryDirectory(dir={str(tmp_path)!r})
shared = SharedMemory(create=True, size=4096)
print(shared.name)""").stdout.strip()
    assert list(tmp_path.iterdir()) and glob.glob(f"/dev/shm/{name}")
    kernel.stop()
    assert not list(tmp_path.iterdir()) and not glob.glob(f"/dev/shm/{name}")


def test_the_end_looks_for_garbage_once(start):
    """Of a library with millions of objects, it costs what one collection does, not four."""
    kernel = start()
    objects = 300_000 if SANITIZED else 3_000_000  # all has to be over within 2 s
    once = float(kernel.execute(f"""
import gc, json, time
json.stash = [[] for _ in range({objects})]
json.stash.append(json.stash)
gc.collect()
begin = time.process_time()
_ = gc.collect()
print(time.process_time() - begin)""").stdout)
    assert cost_of_end(kernel) < within(2.5 * once + 0.2)
