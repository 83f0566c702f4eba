"""Fixtures: einkorn, run in a home of its own."""

import os
import subprocess

import pytest

from running import EINKORN, FOR_STOCK


@pytest.fixture
def einkorn(tmp_path):
    """Runs einkorn in a home of its own."""

    def run(*arguments, **env):
        passed_on = {name: os.environ[name] for name in ("ASAN_OPTIONS", "PYTHONMALLOC")
                     if name in os.environ}
        env = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"], **passed_on, **FOR_STOCK,
               **env}
        return subprocess.run([EINKORN, *map(str, arguments)], env=env, text=True,
                              capture_output=True, stdin=subprocess.DEVNULL, cwd=tmp_path,
                              timeout=100)

    return run


@pytest.fixture
def install(einkorn):

    def run(*arguments, **env):
        return einkorn("install", *arguments, **env)

    return run
