"""docs/promises.md and docs/frames-promises.md name a test for each promise; each of them exists."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ["promises.md", "frames-promises.md"]

# `tests/e2e/test_08_life.py::test_shutdown`, `tests/unit/test_stop.c::name_in_its_suite`; a file that is one test has no name
NAMED = re.compile(r"`(tests/[\w/]+\.(?:py|c|sh))(?:::(\w+))?`")


def promises(page):
    """(promise, named tests) of each row of the page's tables."""
    rows = []
    for line in (ROOT / "docs" / page).read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and cells[0] != "Promise" and cells[0].strip("- "):
            rows.append((cells[0], NAMED.findall(cells[1])))
    return rows


def exists(path, name):
    if not (ROOT / path).is_file():
        return False
    text = (ROOT / path).read_text()
    if not name:  # one with tests in it has to be named with one of them
        return not re.search(r"^(Test\(| *def test_)", text, re.MULTILINE)
    form = rf"^ *(def|class) {name}\(" if path.endswith(".py") else rf"^Test\(\w+, {name}[,)]"
    return bool(re.search(form, text, re.MULTILINE))


@pytest.mark.parametrize("page", PAGES)
def test_every_promise_names_a_test(page):
    rows = promises(page)
    assert len(rows) > 20
    assert [promise for promise, tests in rows if not tests] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_test_that_is_named_exists(page):
    named = [test for _, tests in promises(page) for test in tests]
    assert [f"{path}::{name}" for path, name in named if not exists(path, name)] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_name_of_a_row_is_understood(page):
    """What looks like a test and is not found by NAMED would not be looked for."""
    text = (ROOT / "docs" / page).read_text()
    quoted = re.findall(r"`(tests/[^`]*)`", "\n".join(line for line in text.splitlines() if line.startswith("| ")))
    assert [test for test in quoted if not NAMED.fullmatch(f"`{test}`")] == []
