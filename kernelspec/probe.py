# Run by `einkorn install` and `einkorn doctor` in the Python that is meant. Prints
# one line, "einkorn-probe " and a JSON object. Python 2.7 can read it too, so
# that an old Python is refused by its version and not by a syntax error.

import json
import os
import sys
import sysconfig


def libpython():
    """The shared libpython that this very Python was built with, or ''."""
    name = "libpython%d.%d.so.1.0" % sys.version_info[:2]
    names = [sysconfig.get_config_var("INSTSONAME") or name, name]
    libdir = sysconfig.get_config_var("LIBDIR") or ""
    folders = [
        libdir,
        os.path.join(libdir, sysconfig.get_config_var("MULTIARCH") or ""),
        os.path.join(sys.base_prefix, "lib"),  # a tree that was moved after its build
    ]
    for folder in folders:
        for file in names:
            path = os.path.join(folder, file)
            if ".so" in file and os.path.isfile(path) and is_ours(path):
                return os.path.realpath(path)
    return ""


def is_ours(path):
    """A library of the same name can be another build's: compare what both say of themselves."""
    try:
        import ctypes

        version = ctypes.CDLL(path).Py_GetVersion
        version.restype = ctypes.c_char_p
        return version().decode() == sys.version
    except ImportError:  # a Python without ctypes: trust the name
        return True
    except (OSError, AttributeError):
        return False


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
