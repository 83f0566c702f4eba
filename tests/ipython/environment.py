"""What the kernel's Python has installed, which is not always the one that runs the tests."""

import functools
import json
import subprocess

from client import PYTHON


@functools.cache
def has(*modules):
    """Whether all these top-level modules can be imported there."""
    code = ("import importlib.util, json, sys\n"
            "print(json.dumps(all(importlib.util.find_spec(m) for m in sys.argv[1:])))")
    done = subprocess.run([PYTHON, "-c", code, *modules], stdin=subprocess.DEVNULL, text=True,
                          capture_output=True, timeout=60, check=True)
    return json.loads(done.stdout)


def rows_for(table, needs):
    """The rows of a table whose libraries are there; `needs(row)` names them."""
    return [row for row in table if has(*needs(row))]
