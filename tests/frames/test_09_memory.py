"""What a cell takes, and what it may not cost.  Not for sanitized builds, which take their own."""

import resource

from client import MARKER

LIMIT = 1_000_000


def test_the_peak_of_memory_is_each_cells_own(worker):
    large = worker.execute("x = bytearray(b'x') * 80_000_000\ndel x")["usage"]["peak_rss_kb"]
    small = worker.execute("pass")["usage"]["peak_rss_kb"]
    assert large - small > 60_000


def test_what_is_there_when_a_cell_begins_counts_for_it(worker):
    worker.execute("x = bytearray(b'x') * 80_000_000")
    large = worker.execute("pass")["usage"]["peak_rss_kb"]
    of_the_end = worker.execute("del x")["usage"]["peak_rss_kb"]
    small = worker.execute("pass")["usage"]["peak_rss_kb"]
    assert large - small > 60_000 and of_the_end - small > 60_000


def test_the_peak_is_found_whatever_a_cell_does_to_descriptors(start):
    worker = start()
    for spoil in ("os.close(fd)", "os.dup2(nothing, fd)"):
        worker.execute(
            "import os\nnothing = os.open('/dev/null', os.O_RDWR)\n"
            "for fd in map(int, os.listdir('/proc/self/fd')):\n"
            "    try:\n"
            f"        if os.readlink(f'/proc/self/fd/{{fd}}').startswith('/proc/'): {spoil}\n"
            "    except OSError: pass"
        )
        large = worker.execute("x = bytearray(b'x') * 80_000_000\ndel x")["usage"]["peak_rss_kb"]
        small = worker.execute("pass")["usage"]["peak_rss_kb"]
        assert large - small > 60_000


def test_what_is_over_the_bound_is_not_kept(worker):
    """200 MB through a cell that may take 30 MB more than it had."""
    before = worker.execute("pass")["usage"]["peak_rss_kb"]
    result = worker.execute(
        "import sys\nblock = 'x' * 1_000_000\n"
        "for _ in range(100): sys.stdout.write(block); sys.stderr.write(block)\n"
    )
    assert result["usage"]["peak_rss_kb"] - before < 30_000


def test_a_chain_of_large_errors_is_not_formatted_to_its_end(worker):
    before = worker.execute("pass")["usage"]["peak_rss_kb"]
    result = worker.execute(
        "text = 'm' * 1_000_000\n"
        "def fail(n):\n"
        "    if n:\n"
        "        try: fail(n - 1)\n"
        "        except ValueError as e: raise ValueError(text) from e\n"
        "    raise ValueError(text)\n"
        "fail(60)"
    )
    assert len(result["error"]) == LIMIT + len(MARKER)
    assert worker.execute("pass")["usage"]["peak_rss_kb"] - before < 30_000


def test_a_cell_that_exhausts_memory_is_told_so(start):
    limit = 400 << 20
    worker = start(before=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    result = worker.execute("x = []\nwhile True: x.append(bytearray(1 << 20))")
    assert "MemoryError" in result["error"]
    result = worker.execute("kept = len(x)\ndel x\nprint(kept > 100)")
    assert result["stdout"] == "True\n", dict(result)
    result = worker.execute("x = {}\nwhile True: x[len(x)] = str(len(x)) * 50")
    assert "MemoryError" in result["error"]
    worker.execute("del x")
    worker.alive()


def test_a_worker_without_memory_answers_and_recovers(start):
    """The cell keeps all that there is; requests are answered with whatever can be said."""
    limit = 400 << 20
    worker = start(before=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    worker.execute("kept = []\nwhile True: kept.append(bytearray(4096))")
    for n in range(5):
        worker.send({"id": f"n{n}", "code": "print('x' * 300_000)"})
        while worker.read()["type"] != "response":
            pass
    worker.execute("del kept")
    worker.alive()
