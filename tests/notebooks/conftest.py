"""
The notebooks of other projects, in Einkorn and in the real ipykernel.  --sources DIRECTORY is where
their releases (sources.txt) are unpacked, see tests/run.sh.
"""

import pathlib
import subprocess
import sys

import pytest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "e2e"), str(TESTS / "ipython")]  # client.py, differential.py


def pytest_addoption(parser):
    parser.addoption("--sources", type=pathlib.Path,
                     default=TESTS.parent / "build" / "sources")


@pytest.fixture(scope="session")
def sources(pytestconfig):
    """The directory of the unpacked releases; matplotlib has found its fonts, and is silent."""
    subprocess.run([sys.executable, "-c", "import matplotlib.font_manager"], check=True,
                   capture_output=True, timeout=100)
    return pytestconfig.getoption("sources")
