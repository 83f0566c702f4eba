"""What the tests of the command line share: Pythons that pretend, and copies of our tree."""

import json
import pathlib
import shutil
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

from ways_in import EINKORN, ROOT, preload  # noqa: E402

VERSION = "%d.%d.%d" % sys.version_info[:3]
FOR_STOCK = preload()


def fake_python(path, text):
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path


def facts(**changes):
    values = {"implementation": "cpython", "version": "3.12.1", "executable": "/x/python",
              "prefix": "/x", "base": "/x", "free_threaded": False, "libpython": "", **changes}
    return "echo 'einkorn-probe %s'\n" % json.dumps(values)


def real_python(path, libpython, otherwise=f'exec {sys.executable} "$@"'):
    """A Python whose probe says what we want, and which is a real one for everything else."""
    answer = facts(executable=str(path), prefix=str(path.parent), libpython=libpython)
    return fake_python(path, f'case "$2" in\n*probe.py) {answer} ;;\n*) {otherwise} ;;\nesac\n')


def kernel_json(prefix, name="einkorn"):
    return json.loads((prefix / f"share/jupyter/kernels/{name}/kernel.json").read_text())


def copy_tree(target):
    """A copy of the tree that EINKORN is in, without bytecode."""
    tree = pathlib.Path(EINKORN).resolve().parents[1]
    for part in "bin", "lib":
        shutil.copytree(tree / part, target / part, ignore=shutil.ignore_patterns("__pycache__"))
    return target
