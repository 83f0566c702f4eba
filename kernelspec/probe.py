# Run by `einkorn install` and `einkorn doctor` in the Python that is meant. Prints
# one line, "einkorn-probe " and a JSON object. Python 2.7 can read it too, so
# that an old Python is refused by its version and not by a syntax error.

import json
import os
import sys
import sysconfig


def libpython():
    """The shared library that this very Python runs by; '' if it is all in the executable."""
    name = "/libpython%d.%d" % sys.version_info[:2]
    with open("/proc/self/maps") as maps:
        files = [file.rstrip("\n") for line in maps for file in line.split(None, 5)[5:]]
    return next((os.path.realpath(file) for file in files if name in file), "")


facts = {
    "implementation": getattr(getattr(sys, "implementation", None), "name", "cpython"),
    "version": "%d.%d.%d" % sys.version_info[:3],
    "executable": os.path.abspath(sys.executable),
    "prefix": sys.prefix,
    "base": getattr(sys, "base_prefix", sys.prefix),
    "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
    "libpython": "",
}
if sys.version_info >= (3, 11):
    facts["libpython"] = libpython()

sys.stdout.write("einkorn-probe " + json.dumps(facts) + "\n")
