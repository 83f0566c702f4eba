"""The words behind `einkorn`: what becomes Python, what is told, what is refused; the manual."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

from running import EINKORN, ROOT, fake_python

TELL = "import sys; print([sys.executable, sys.argv, sys.flags.isolated])"


def told(done):
    assert (done.returncode, done.stderr) == (0, "")
    return eval(done.stdout)


def test_it_becomes_the_named_python(einkorn, tmp_path):
    assert told(einkorn("--python", sys.executable, "-c", TELL, "-f", "--help")) == [
        sys.executable, ["-c", "-f", "--help"], 0]
    assert told(einkorn(f"--python={sys.executable}", "-I", "-c", TELL)) == [
        sys.executable, ["-c"], 1]
    script = tmp_path / "a script.py"
    script.write_text(TELL)
    assert told(einkorn("--python", sys.executable, script, "kernel")) == [
        sys.executable, [str(script), "kernel"], 0]
    (tmp_path / "mod.py").write_text(TELL)
    assert told(einkorn("--python", sys.executable, "-m", "mod", "x"))[1][1:] == ["x"]


def test_status_stdin_and_environment_are_pythons_own(tmp_path):
    done = subprocess.run([EINKORN, "--python", sys.executable, "-c",
                           "import os, sys; print(sys.stdin.read(), os.environ.get('TERM'));"
                           "sys.exit(7)"], input="text", capture_output=True, text=True,
                          env={**os.environ, "TERM": "vt52"}, timeout=60)
    assert (done.returncode, done.stdout) == (7, "text vt52\n")


def test_nothing_named_it_is_the_environments_then_python3_on_path(einkorn, tmp_path):
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    assert told(einkorn("-c", TELL, VIRTUAL_ENV=str(venv)))[0] == str(venv / "bin/python")
    fake_python(tmp_path / "python3", f'exec {sys.executable} "$@"\n')
    assert told(einkorn("-c", TELL, PATH=f"{tmp_path}:/usr/bin:/bin"))[0] == sys.executable


def test_a_python_that_is_not_there_ends_at_once(einkorn, tmp_path):
    done = einkorn("--python", tmp_path / "none", "-c", "1")
    assert (done.returncode, done.stdout) == (127, "")
    assert done.stderr == (f"einkorn: cannot start {tmp_path}/none: No such file or directory; "
                           "name a Python with --python PATH\n")


@pytest.mark.parametrize("words", [["instal"], ["--nonsense"], ["-i"], ["kernel", "x.py"], ["-"],
                                   ["doctor", "--user"], ["install"], ["uninstall"],
                                   ["-f", "c.json", "-c", "1"]])
def test_what_makes_no_sense_is_status_2_and_one_line(einkorn, words):
    done = einkorn(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("einkorn: ") and done.stderr.count("\n") == 1


def test_version_is_that_of_the_project(einkorn):
    project = re.search(r"project\(einkorn VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())
    done = einkorn("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"einkorn {project[1]}\n", "")


@pytest.mark.parametrize("words", [["--help"], ["-h"], [], ["kernel", "--help"],
                                   ["install", "--help"], ["doctor", "--help"]])
def test_help_goes_to_stdout(einkorn, words):
    done = einkorn(*words)
    assert (done.returncode, done.stderr) == (0, "")
    for command in "kernel", "install", "uninstall", "doctor":
        assert f"einkorn {command}" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


# ---- the manual ------------------------------------------------------------------------

MANUAL = ROOT / "docs/einkorn.1"


def names_in(path):
    """Every option and every variable of ours that a file speaks of."""
    text = path.read_text().replace("\\-", "-")
    return set(re.findall(r"--[a-z][a-z0-9-]+", text)) | set(re.findall(r"EINKORN_[A-Z_]+", text))


def test_manual_and_help_name_the_same_options(einkorn):
    table = (ROOT / "kernel/option_table.c").read_text()
    known = {f"--{name}" for name in re.findall(
        r'^    \{"([a-z0-9-]{2,})", (?:IN_[A-Z]+|ANYWHERE), ', table, re.MULTILINE)}
    assert len(known) > 15
    said = set(re.findall(r"--[a-z][a-z0-9-]+", einkorn("--help").stdout))
    # --connection-file is another spelling of -f.
    assert known - said == {"--connection-file"}
    assert known <= names_in(MANUAL)
    assert "EINKORN_MAX_OUTPUT" in names_in(MANUAL)


def test_manual_has_no_mistakes():
    man = pathlib.Path("/usr/bin/man")
    groff = pathlib.Path("/usr/bin/groff")
    text = MANUAL.read_text()
    for section in "NAME", "SYNOPSIS", "DESCRIPTION", "FILES", "ENVIRONMENT", "EXIT STATUS":
        assert re.search(rf'^\.SH "?{section}"?$', text, re.MULTILINE)
    assert all(len(line) < 100 for line in text.splitlines())
    if groff.exists():
        done = subprocess.run([groff, "-man", "-ww", "-Tutf8", MANUAL], capture_output=True,
                              text=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, "")
    elif man.exists():
        done = subprocess.run([man, "--warnings", "-l", MANUAL], capture_output=True, text=True,
                              env={**os.environ, "PAGER": "cat", "LC_ALL": "C.UTF-8"}, timeout=60)
        assert (done.returncode, done.stderr) == (0, "")
