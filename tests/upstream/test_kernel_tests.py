"""
jupyter_kernel_test with everything that it can ask of a kernel, where IPython is installed: as
tests/clients/test_conformance.py, but by IPython's own ways.
"""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parents[1] / "clients"))
import test_conformance as plain  # noqa: E402


class TestConformance(plain.TestConformance):
    kernel_name = "python3"
    complete_code_samples = [*plain.TestConformance.complete_code_samples, "%timeit 1", "!ls"]
    incomplete_code_samples = [*plain.TestConformance.incomplete_code_samples, "%%bash"]
    code_page_something = "zip?"


class TestWelcome(plain.TestWelcome):
    kernel_name = "python3"
