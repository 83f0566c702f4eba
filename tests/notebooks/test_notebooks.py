"""
Issue 6, proof: real notebooks, from the source releases of other projects, show in Einkorn what they
show in ipykernel.  notebooks.table lists them.
"""

import pathlib
import re

import pytest

from running import run

TABLE = pathlib.Path(__file__).with_name("notebooks.table")


def rows():
    """The table as parameters: path and the numbers of the cells that differ for a reason."""
    found = []
    for line in TABLE.read_text().splitlines():
        if line and not line.startswith("#"):
            path, _, *excused = map(str.strip, line.split("|"))
            cells = [int(number) for each in excused for number in re.findall(r"(\d+):", each)]
            found.append(pytest.param(path, cells, id=pathlib.Path(path).stem))
    return found


@pytest.mark.parametrize("path, excused", rows())
def test_it_shows_what_it_shows_in_ipykernel(sources, tmp_path, path, excused):
    theirs = run("ipykernel", sources / path, tmp_path)
    ours = run("einkorn", sources / path, tmp_path)
    different = [n for n, (a, b) in enumerate(zip(ours["cells"], theirs["cells"]), 1) if a != b]
    assert set(excused) <= set(different), "these are excused, and the same"
    for number in set(different) - set(excused):
        assert ours["cells"][number - 1] == theirs["cells"][number - 1], f"cell {number}"
    assert len(ours["cells"]) == len(theirs["cells"])
    assert ours["widgets"] == theirs["widgets"]
    assert any(cell["count"] for cell in ours["cells"]), "nothing was run"
