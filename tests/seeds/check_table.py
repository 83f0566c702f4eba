"""
Checks TABLE.md: each row names a test of ours that exists.

    check_table.py TESTS-DIRECTORY
"""

import pathlib
import re
import sys

ROWS = 58  # tests in the documents' file

tests = pathlib.Path(sys.argv[1])
rows = [line.split("|")[1:4] for line in (tests / "seeds/TABLE.md").read_text().splitlines()
        if line.startswith("| ") and not line.startswith("| theirs")]
problems = []
if len({theirs for theirs, _, _ in rows}) != ROWS or len(rows) != ROWS:
    problems.append(f"{len(rows)} rows instead of {ROWS}, or one twice")
for theirs, ours, _ in rows:
    named = re.findall(r"`([\w/]+\.(?:c|py)): (\w+)`", ours)
    if not named:
        problems.append(f"{theirs.strip()}: none of ours")
    for file, name in named:
        path = tests / file
        definition = rf"^def {name}\(" if file.endswith(".py") else rf"^(Parameterized)?Test\(\w+,\s*{name}\b"
        if not path.is_file() or not re.search(definition, path.read_text(), re.MULTILINE):
            problems.append(f"{theirs.strip()}: {file} has no {name}")
print("\n".join(problems) or f"{ROWS} tests, each with ours")
sys.exit(bool(problems))
