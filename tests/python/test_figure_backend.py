"""Who shows figures: what ``figures.install`` leaves in the environment.  No matplotlib is needed."""

import pytest

THEIRS = "module://matplotlib_inline.backend_inline"
SHOW = "import os; print(repr(os.environ.get('MPLBACKEND')))"
INSTALL = "from einkorn import figures; figures.install(ipython=True)"


@pytest.fixture
def path(tmp_path):
    """A directory with a package of that name, which says when it is imported."""
    package = tmp_path / "site" / "matplotlib_inline"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("print('imported')")
    return str(tmp_path / "site")


def test_the_variable_names_matplotlib_inline_where_ipython_can_be_had(shell, path):
    """Issue: by matplotlib_inline when installed, MPLBACKEND set; nothing is imported for it."""
    results = shell(INSTALL, SHOW, env={"PYTHONPATH": path, "MPLBACKEND": ""})
    assert [r.stdout for r in results] == ["", f"{THEIRS!r}\n"]
    results = shell(INSTALL, SHOW, env={"PYTHONPATH": path, "MPLBACKEND": THEIRS})
    assert [r.stdout for r in results] == ["", f"{THEIRS!r}\n"]


def test_what_the_user_set_stands(shell, path):
    """Issue: MPLBACKEND set unless the user did."""
    results = shell(SHOW, INSTALL, SHOW, env={"PYTHONPATH": path, "MPLBACKEND": "agg"})
    assert [r.stdout for r in results] == ["'agg'\n", "", "'agg'\n"]


def test_without_matplotlib_inline_no_variable_is_set(shell):
    """And one that another kernel has set for it, which this one inherits, is gone."""
    results = shell(SHOW, INSTALL, SHOW, env={"MPLBACKEND": THEIRS})
    assert [r.stdout for r in results] == ["None\n", "", "None\n"]


def test_without_ipython_it_is_ours(shell, path):
    """matplotlib_inline alone is of no use."""
    (results,) = shell(SHOW, env={"PYTHONPATH": path, "MPLBACKEND": THEIRS})
    assert results.stdout == "None\n"
