"""The connection file of the kernel that runs, and a console for it."""

import json
import os
import sys

from einkorn import settings

__all__ = [
    "connect_qtconsole",
    "get_connection_file",
    "get_connection_info",
    "write_connection_file",
]


def get_connection_file(app=None):
    """Return the path of the connection file: of an application, or of the kernel that runs."""
    name = app.connection_file if app is not None else settings.CONNECTION_FILE
    if not name:
        raise RuntimeError("this kernel was started without a connection file")
    return os.path.abspath(name)


def _find(connection_file):
    if connection_file is None:
        return get_connection_file()
    if os.path.exists(connection_file):
        return os.path.abspath(connection_file)
    from jupyter_client import find_connection_file

    return find_connection_file(connection_file)


def get_connection_info(connection_file=None, unpack=False):
    """Return the text of a connection file (None: of the kernel that runs).

    With ``unpack`` a dict of it, with the key as bytes.
    """
    with open(_find(connection_file), encoding="utf-8") as file:
        text = file.read()
    if not unpack:
        return text
    info = json.loads(text)
    info["key"] = info.get("key", "").encode()
    return info


def connect_qtconsole(connection_file=None, argv=None):
    """Start a Qt console (package ``qtconsole``) for a kernel; return its subprocess.Popen."""
    from subprocess import PIPE, Popen

    code = "from qtconsole import qtconsoleapp; qtconsoleapp.main()"
    command = [sys.executable, "-c", code, "--existing", _find(connection_file), *(argv or [])]
    return Popen(command, stdout=PIPE, stderr=PIPE, start_new_session=True)


def __getattr__(name):
    if name == "write_connection_file":  # jupyter_client's own
        from jupyter_client import write_connection_file

        return write_connection_file
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
