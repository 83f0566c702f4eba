"""One allocation of Python's fails, any of those between two cells: the host gets its answers.

What failed is up to chance; that each request is answered under its own name, in the type that
its sender waits for, and that the worker lives on, is not.
"""

import collections

import pytest

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


def test_a_failure_that_lasts_for_a_while_is_answered(failing):
    """So many at once that no frame can be made of Python's objects."""
    for span in (2, 5, 10, 15):
        for n in range(1, 8):
            cell = failing.start(f"set_nomemory({n}, {n + span})")
            inspections = inspected(failing, INSPECTIONS)
            next(inspections)
            assert failing.finish(cell)["id"] == cell
            list(inspections)
            failing.execute("remove_mem_hooks()")
    failing.alive()
