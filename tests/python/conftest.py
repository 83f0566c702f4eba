"""``shell(steps)`` runs cells in a fresh interpreter behind fake_runner and returns the results."""

import json
import os
import re
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))


class Result(dict):
    """What one step gave: the reply's fields and the messages in order."""

    def of(self, kind):
        """The messages of one type."""
        return [item for item in self["messages"] if item["type"] == kind]

    @property
    def stdout(self):
        return "".join(item["text"] for item in self.of("stream") if item["name"] == "stdout")

    @property
    def stderr(self):
        return "".join(item["text"] for item in self.of("stream") if item["name"] == "stderr")

    @property
    def text(self):
        """text/plain of the execute_result, None if there is none."""
        found = self.of("execute_result")
        return found[0]["data"].get("text/plain") if found else None

    @property
    def plain(self):
        """The traceback as one text without colours."""
        return re.sub(r"\x1b\[[\d;]*m", "", "\n".join(self["traceback"]))


def run(steps, *, cwd=None, check=True, env=None):
    """Run the steps; return their results, and what the process wrote to stderr as ``.stderr``."""
    code = f"import sys; sys.path.insert(0, {HERE!r}); import fake_runner; del sys.path[0], sys"
    done = subprocess.run(
        [sys.executable, "-B", "-c", code + "; fake_runner.main()"],
        input=json.dumps(steps),
        capture_output=True,
        text=True,
        timeout=60,
        cwd=cwd,
        env={**os.environ, **(env or {})},
    )
    assert done.returncode == 0, done.stderr
    if check:
        assert done.stderr == ""
    return [Result(item) for item in json.loads(done.stdout)]


@pytest.fixture
def shell(tmp_path):
    """Run steps in a directory of the test's own."""

    def start(*steps, **options):
        return run(list(steps), cwd=tmp_path, **options)

    return start
