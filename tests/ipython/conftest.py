"""
The kernels of tests/e2e for a Python that has IPython: the one that runs the tests, or
EINKORN_TEST_PYTHON. Their profile (IPYTHONDIR) is an empty directory.
"""

import importlib.util
import pathlib
import sys

E2E = pathlib.Path(__file__).resolve().parents[1] / "e2e"
sys.path.insert(0, str(E2E))

_spec = importlib.util.spec_from_file_location("e2e_conftest", E2E / "conftest.py")
_module = importlib.util.module_from_spec(_spec)
sys.modules["e2e_conftest"] = _module
_spec.loader.exec_module(_module)


class Kernel(_module.Kernel):
    """
    Taking IPython down, and what jedi has read, costs Python half a second of the processor: under
    load that is more than the 2 s that a worker has for its end, which is not the matter here.
    """

    def __init__(self, **options):
        super().__init__(**options)
        self.expect_log("einkorn: Python does not end: killed")


_module.Kernel = Kernel  # for the fixtures
globals().update({name: item for name, item in vars(_module).items() if not name.startswith("__")})

import ipython8  # noqa: E402
import pytest  # noqa: E402

pytest.register_assert_rewrite("differential")
from differential import Pair  # noqa: E402


@pytest.fixture(scope="module")
def pair():
    """Einkorn and the real ipykernel, for the tests of a module."""
    both = Pair()
    yield both
    both.close()


def pytest_collection_modifyitems(config, items):
    """Without the tests of what IPython 8 does otherwise, where it is the kernel's."""
    if ipython8.is_it():
        other = [item for item in items if item.name in ipython8.DIFFERENCES]
        items[:] = [item for item in items if item not in other]
        config.hook.pytest_deselected(items=other)
