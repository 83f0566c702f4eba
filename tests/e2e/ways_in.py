"""
The two ways into a Python (bridge/launcher_target.c), and what a sanitized build needs for them:
the sanitizer's library must come before all else, which the stock interpreter has not; and it
loses memory of its own, so that leaks can only be looked for by the way of the shared library.
tests/kernelspec and tests/frames use this, too.
"""

import functools
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
EINKORN = os.environ.get("EINKORN", str(ROOT / "build" / "dev" / "bin" / "einkorn"))
SANITIZED = b"libasan" in pathlib.Path(EINKORN).read_bytes()

LIBRARY = """
import os, sys, sysconfig
name, libdir, multiarch = map(sysconfig.get_config_var, ("INSTSONAME", "LIBDIR", "MULTIARCH"))
places = [libdir or "", sys.base_prefix + "/lib", "/usr/lib/" + (multiarch or "")]
files = [os.path.join(place, name or "") for place in places]
print(next((file for file in files if ".so" in file and os.path.isfile(file)), ""))
"""


@functools.cache
def library_beside(python):
    """The shared library that was built with a Python, whether it runs by it or not; or ""."""
    try:
        done = subprocess.run([python, "-I", "-S", "-c", LIBRARY], capture_output=True, text=True,
                              timeout=60)
    except OSError:
        return ""
    return done.stdout.strip()


@functools.cache
def preload():
    """The environment of a stock interpreter that a sanitized runner is imported into."""
    linked = subprocess.run(["ldd", EINKORN], text=True, capture_output=True).stdout
    found = re.findall(r"libasan\S* => (\S+)", linked)
    return {"LD_PRELOAD": found[0], "ASAN_OPTIONS": "detect_leaks=0:handle_segv=0"} if found else {}


def chosen(python):
    """Arguments for a kernel that a test starts by itself."""
    library = library_beside(python) if SANITIZED else ""
    return ["--python", python, *(["--libpython", library] if library else [])]


def choose(python, arguments, env):
    """-> the arguments and the environment for a kernel of this build, from those of a test."""
    if not SANITIZED:
        return arguments, env
    if "--libpython" in arguments:
        library = arguments[list(arguments).index("--libpython") + 1]
    else:
        library = library_beside(python) if python else ""
        arguments = [*arguments, "--libpython", library] if library else arguments
    return arguments, env if library else {**preload(), **env}
