"""What the command line of the kernel says to the Python half (kernel/worker_settings.c).

SHELL            "auto", "plain" or "ipython"
SHIM             whether ``import ipykernel`` finds the in-memory one
FACTS            whether replies tell what cells read and left changed
CONNECTION_FILE  as the client gave it; "" if it gave none
HISTORY          the absolute path of the history's file; "" if there shall be none
HISTORY_CHOSEN   whether the command line names it, whatever a profile says
IPYTHON_DIR, PROFILE, PROFILE_DIR    as the command line says; "" if it does not
TRAITS           the ``--Class.trait=value`` arguments that the kernel itself has no use for
"""

import os.path

import _einkorn

_pairs = [line.partition("=")[::2] for line in _einkorn.settings.splitlines()]
_values = dict(_pairs)

SHELL = _values.get("shell", "auto")
SHIM = _values.get("ipykernel") != "no"
FACTS = _values.get("facts") == "yes"
CONNECTION_FILE = _values.get("connection_file", "")
HISTORY = os.path.abspath(_values["history"]) if "history" in _values else ""
HISTORY_CHOSEN = "history_chosen" in _values
IPYTHON_DIR = _values.get("ipython_dir", "")
PROFILE = _values.get("profile", "")
PROFILE_DIR = _values.get("profile_dir", "")
TRAITS = [value for name, value in _pairs if name == "trait"]
