"""
Fixtures for figures: a kernel on a Python that has matplotlib and no IPython, and ipykernel to
compare with. The client is that of tests/e2e.
"""

import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

from client import Kernel  # noqa: E402

# Taking matplotlib down costs Python a quarter of a second of the processor: under load that is
# more than the 2 s that a worker has for its end, which is not the matter here.
SLOW_END = "einkorn: Python does not end: killed"
PYTHON = str(ROOT / "build" / "plot-venv" / "bin" / "python")


@pytest.fixture
def start(tmp_path):
    """A function that starts kernels; they are stopped and checked at the end of the test."""
    kernels = []

    def start_kernel(env=None, **options):
        environment = {"MPLCONFIGDIR": str(tmp_path), "MPLBACKEND": "", **(env or {})}
        kernels.append(Kernel(python=PYTHON, env=environment, **options))
        kernels[-1].expect_log(SLOW_END)
        return kernels[-1]

    yield start_kernel
    try:
        for kernel in kernels:
            assert kernel.leftovers() == []
            kernel.stop()
    finally:
        for kernel in kernels:
            kernel.close()


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    """One kernel for the tests of a module, with pyplot imported."""
    made = Kernel(python=PYTHON, env={"MPLBACKEND": ""})
    made.expect_log(SLOW_END)
    try:
        made.run("import matplotlib.pyplot as plt")
        yield made
        assert made.leftovers() == []
        made.stop()
    finally:
        made.close()
