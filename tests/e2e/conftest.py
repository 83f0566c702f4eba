"""
Fixtures: kernels for the tests of this directory.

`kernel`        one kernel for the tests of a module, where they leave no state that matters.
                A test that fails costs the next one a fresh kernel, not its result.
`fresh`         a kernel for this test alone.
`start`         makes kernels with options.

After each test nothing may be left that no one asked for; after the last one
the kernel must end with status 0 and leave no process, port or line behind.
What the kernels wrote on stderr is shown with a failed test.
"""

import os

import pytest

import ipython_differences
from client import IPYTHON, SANITIZED, Kernel

# The addresses that a sanitized build takes for itself are more than any limit.
collect_ignore = ["test_16_memory_limit.py"] if SANITIZED else []

shared = {}  # module name -> Kernel


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="the tests of chaos/ in their long form")


def pytest_collection_modifyitems(config, items):
    """
    All cells through IPython: without the tests of what only the plain shell does. A sanitized
    process gives no memory back, so that its peak says nothing.
    """
    other = [item for item in items if (IPYTHON and ipython_differences.reason(item.name))
             or (SANITIZED and item.name == "test_the_peak_is_the_cells")]
    if other:
        items[:] = [item for item in items if item not in other]
        config.hook.pytest_deselected(items=other)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    setattr(item, f"report_{report.when}", report)
    if report.failed:
        for kernel in getattr(item, "kernels", []):
            if kernel.directory.exists():
                report.sections.append((f"stderr of kernel {kernel.pid}", kernel.stderr() or "-"))
                report.sections.append((f"messages of kernel {kernel.pid}", kernel.report()))
    return report


@pytest.fixture(scope="session", autouse=True)
def profile(tmp_path_factory):
    """Kernels that are not started by Kernel do not write into the developer's history either."""
    os.environ["IPYTHONDIR"] = str(tmp_path_factory.mktemp("ipython"))


def passed(item):
    return getattr(item, "report_call", None) is not None and item.report_call.passed


@pytest.fixture
def start(request):
    """A function that starts kernels. They are stopped and checked at the end of the test."""
    request.node.kernels = kernels = getattr(request.node, "kernels", [])
    mine = []

    def start_kernel(**options):
        kernel = Kernel(**options)
        mine.append(kernel)
        kernels.append(kernel)
        return kernel

    yield start_kernel
    try:
        if passed(request.node):
            for kernel in mine:
                if not kernel.stopped:
                    assert kernel.leftovers() == []
                    kernel.stop()
    except BaseException as error:
        text = "\n".join(f"stderr of {k.pid}: {k.stderr()}" for k in mine)
        error.add_note(text)
        raise
    finally:
        for kernel in mine:
            kernel.close()


@pytest.fixture
def fresh(start):
    return start()


def retire(name, check):
    kernel = shared.pop(name, None)
    if kernel is not None:
        try:
            if check:
                kernel.stop()
        finally:
            kernel.close()


@pytest.fixture(scope="module")
def module_kernel(request):
    name = request.module.__name__
    yield name
    retire(name, check=True)


@pytest.fixture
def kernel(request, module_kernel):
    if module_kernel not in shared:
        shared[module_kernel] = Kernel()
    kernel = shared[module_kernel]
    request.node.kernels = [kernel]
    yield kernel
    good = passed(request.node)
    try:
        if good:
            good = False
            assert kernel.leftovers() == []
            good = True
    finally:
        if not good:
            retire(module_kernel, check=False)
