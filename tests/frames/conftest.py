"""`start` makes workers and ends them; `worker` is one for the tests of a module that spoil nothing.

Each worker that a passed test leaves must end with status 0 when it is told
to. What the workers wrote to stderr is shown with a failed test.
"""

import pytest

from client import SANITIZED, Worker

# Of memory a sanitized build says nothing; Python, numpy and ctypes leave some of theirs behind.
SANITIZED_WITHOUT = ["test_09_memory.py", "test_12_guards.py", "test_13_provenance.py"]
LEAVE_MEMORY = ("test_what_cannot_be_had_fails_closed_and_the_worker_lives_on",
                "test_a_thread_that_waits_for_ever_holds_up_only_other_calls",
                "test_memory_that_threads_take", "test_cells_leave_nothing_behind")

collect_ignore = SANITIZED_WITHOUT if SANITIZED else []
shared = {}  # module name -> Worker


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="test_17_chaos.py in its long form")


def pytest_collection_modifyitems(config, items):
    if SANITIZED:
        other = [item for item in items if item.name in LEAVE_MEMORY]
        items[:] = [item for item in items if item not in other]
        config.hook.pytest_deselected(items=other)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    setattr(item, f"report_{report.when}", report)
    if report.failed:
        for worker in getattr(item, "workers", []):
            if not worker.stderr_file.closed:
                report.sections.append((f"stderr of worker {worker.pid}", worker.stderr() or "-"))
    return report


def passed(item):
    return getattr(item, "report_call", None) is not None and item.report_call.passed


@pytest.fixture
def start(request):
    """A function that starts workers, as client.Worker. They are ended behind the test."""
    request.node.workers = workers = []

    def start_worker(**options):
        worker = Worker(**options)
        workers.append(worker)
        return worker

    yield start_worker
    try:
        for worker in workers:
            if passed(request.node) and worker.process.poll() is None:
                worker.shut_down()
    finally:
        for worker in workers:
            worker.close()


@pytest.fixture(scope="module")
def module_worker(request):
    name = request.module.__name__
    yield name
    worker = shared.pop(name, None)
    if worker is not None:
        try:
            worker.alive()
            worker.shut_down()
        finally:
            worker.close()


@pytest.fixture
def worker(request, module_worker):
    if module_worker not in shared:
        shared[module_worker] = Worker()
    worker = shared[module_worker]
    request.node.workers = [worker]
    yield worker
    if not passed(request.node):
        shared.pop(module_worker).close()
