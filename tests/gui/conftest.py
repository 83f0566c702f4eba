"""The kernels of tests/ipython, for a Python that has GUI toolkits (EINKORN_TEST_PYTHON)."""

import importlib.util
import pathlib
import sys

IPYTHON = pathlib.Path(__file__).resolve().parents[1] / "ipython"
sys.path.insert(0, str(IPYTHON))

_spec = importlib.util.spec_from_file_location("ipython_conftest", IPYTHON / "conftest.py")
_module = importlib.util.module_from_spec(_spec)
sys.modules["ipython_conftest"] = _module
_spec.loader.exec_module(_module)
globals().update({name: item for name, item in vars(_module).items() if not name.startswith("__")})
