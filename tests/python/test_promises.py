"""docs/promises.md names a test for each promise; each of them exists."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]

# `tests/e2e/test_08_life.py::test_shutdown`, `tests/unit/test_stop.c::name_in_its_suite`
NAMED = re.compile(r"`(tests/[\w/]+\.(?:py|c))::(\w+)`")


def promises():
    """(promise, named tests) of each row of the page's tables."""
    rows = []
    for line in (ROOT / "docs" / "promises.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and cells[0] != "Promise" and cells[0].strip("- "):
            rows.append((cells[0], NAMED.findall(cells[1])))
    return rows


def exists(path, name):
    form = rf"^ *(def|class) {name}\(" if path.endswith(".py") else rf"^Test\(\w+, {name}[,)]"
    return bool(re.search(form, (ROOT / path).read_text(), re.MULTILINE))


def test_every_promise_names_a_test():
    rows = promises()
    assert len(rows) > 20
    assert [promise for promise, tests in rows if not tests] == []


def test_every_test_that_is_named_exists():
    named = [test for _, tests in promises() for test in tests]
    assert [f"{path}::{name}" for path, name in named if not exists(path, name)] == []
