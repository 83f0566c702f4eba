"""
Issue 7, "Facts per cell" in Jupyter mode: usage is in metadata.einkorn of every execute_reply, with
--facts also the files that the cell read, what it left changed, and its own peak of memory.
"""

import pytest

FACTS = {"waited_us", "ran_us", "usage", "files_read", "guards"}


def facts_of(kernel, code):
    return kernel.execute(code).reply.metadata["einkorn"]


@pytest.fixture
def watched(start, tmp_path):
    (tmp_path / "a.txt").write_text("text")
    (tmp_path / "b.txt").write_text("text")
    kernel = start(args=["--facts"], cwd=tmp_path)
    return kernel


def test_usage_is_told_of_every_cell(kernel):
    for code in ("sum(range(1000))", "1 / 0", "", "1 +"):
        facts = facts_of(kernel, code)
        assert set(facts) == {"waited_us", "ran_us", "usage"}
        assert set(facts["usage"]) == {"wall_s", "cpu_s", "peak_rss_kb"}
        assert facts["usage"]["peak_rss_kb"] > 1000
    busy = facts_of(kernel, "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass")
    assert busy["usage"]["cpu_s"] >= 0.3 and busy["usage"]["wall_s"] >= 0.3
    child = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import time\\nwhile time.process_time() < 0.4: pass'])"
    assert facts_of(kernel, child)["usage"]["cpu_s"] >= 0.4, "children count"


def test_without_facts_no_audit_hook_is_there(kernel):
    assert "files_read" not in facts_of(kernel, "open('/dev/null').read()")


def test_files_are_told_of_good_and_of_failed_cells(watched):
    assert facts_of(watched, "x = 1") .keys() == FACTS
    facts = facts_of(watched, "open('b.txt'); open('a.txt'); open('/dev/null'); open('new', 'w')")
    assert (facts["files_read"], facts["guards"]) == (["b.txt", "a.txt"], {})
    assert facts_of(watched, "open('a.txt')\n1 / 0")["files_read"] == ["a.txt"]
    assert facts_of(watched, "y = 2")["files_read"] == []


def test_a_cell_that_awaits_tells_its_files(watched):
    assert facts_of(watched, "import asyncio\nawait asyncio.sleep(0)\nopen('a.txt').close()")["files_read"] == ["a.txt"]


def test_guards_are_told(watched):
    watched.execute("pass")  # the first one may load IPython, which changes some, too
    facts = facts_of(watched, "import os\nos.environ['NEW'] = '1'")
    assert facts["guards"] == {"isolation": {"environ": {"added_or_changed": {"NEW": "1"}, "removed": []}}}
    assert facts_of(watched, "x = 1")["guards"] == {}


def test_the_peak_is_the_cells(watched):
    large = facts_of(watched, "x = bytearray(200_000_000)\ndel x")["usage"]["peak_rss_kb"]
    small = facts_of(watched, "x = 1")["usage"]["peak_rss_kb"]
    assert large > 200_000 and small < 150_000


@pytest.mark.parametrize("args", [[], ["--facts"]])
def test_there_is_no_host(start, args):
    """No name of one, no call of one, and no descriptor to call it by."""
    watched = start(args=args)
    result = watched.execute("import sys, os, _einkorn\nprint([n for n in ('host', 'openai4s') if n in globals()], "
                             "[n for n in vars(sys) if n.startswith('_openai4s')], "
                             "[n for n in ('host_call', 'write_frame') if hasattr(_einkorn, n)], "
                             "[n for n in sys.modules if n.startswith(('einkorn.frames.h', 'openai4s'))])")
    assert [item[-1] for item in result.outputs] == ["[] [] [] []\n"]
    assert watched.fail("import openai4s.kernel.provenance").error[0] == "ModuleNotFoundError"
