"""One allocation of Python's fails, any of those between two cells: the host gets its answers.

What failed is up to chance; that each request is answered under its own name, in the type that
its sender waits for, and that the worker lives on, is not.
"""

import collections

import pytest

from client import RESPONSE_KEYS

INSPECTIONS = 4


@pytest.fixture
def failing(start):
    worker = start()
    result = worker.execute("from _testcapi import set_nomemory, remove_mem_hooks\ntext, number = 'x', 5")
    assert result["error"] is None
    return worker


def outcome(answer):
    return (answer.get("error") or "").partition(":")[0]


def inspected(worker, n):
    """Send inspections, in which what is to fail fails: Python's compiler does not survive it."""
    for k in range(n):
        worker.send({"type": "inspect_variables", "id": f"v{k}"})
    yield
    for k in range(n):
        answer = worker.read()
        while answer["type"] == "log":
            answer = worker.read()
        assert (answer["type"], answer["id"]) == ("variables_response", f"v{k}"), answer
        yield outcome(answer)


def test_whatever_fails_is_answered(failing):
    """The end of a cell, its response, the reading of requests, and inspections."""
    outcomes = collections.Counter()
    for n in range(1, 200):
        cell = failing.start(f"set_nomemory({n}, {n + 1})")
        inspections = inspected(failing, INSPECTIONS)
        next(inspections)
        outcomes[outcome(failing.finish(cell))] += 1
        outcomes.update(inspections)
        failing.execute("remove_mem_hooks()")
    assert outcomes["variable inspection failed closed"] > 0
    assert outcomes[""] > 0
    failing.alive()


@pytest.mark.parametrize("span, first, last", [(2, 1, 7), (5, 1, 7), (15, 1, 7), (60, 4, 15)])
def test_a_failure_that_lasts_for_a_while_is_answered(failing, span, first, last):
    """So many at once that no frame can be made, and no request read, by Python's objects."""
    for n in range(first, last + 1):
        cell = failing.start(f"set_nomemory({n}, {n + span})")
        inspections = inspected(failing, INSPECTIONS)
        next(inspections)
        assert failing.finish(cell)["id"] == cell
        list(inspections)
        failing.execute("remove_mem_hooks()")
    failing.alive()


def test_what_happened_is_said(failing):
    """Not even the exception can be made."""
    result = failing.execute("set_nomemory(1, 200)")
    assert result["error"] == "einkorn could not serve this request: MemoryError"
    assert set(result) == RESPONSE_KEYS
    failing.alive()


def test_an_answer_that_cannot_be_read_ends_its_call(failing):
    """A call that goes on waiting for an answer that has come would wait for ever."""
    failing.execute("import _einkorn\nargs = ['x' * 100]")
    outcomes = collections.Counter()
    for n in range(1, 40, 2):
        result = failing.execute(
            f"set_nomemory({n}, {n + 60})\ntry: answer = _einkorn.host_call('echo', args)\nfinally: remove_mem_hooks()"
        )
        assert result["error"] is None or "MemoryError" in result["error"]
        outcomes[result["error"] is None] += 1
    assert outcomes[False] > 0
    failing.alive()
