"""What the command line of the kernel says to the Python half (kernel/worker_settings.c).

SHELL            "auto", "plain" or "ipython"
SHIM             whether ``import ipykernel`` finds the in-memory one
CONNECTION_FILE  as the client gave it; "" if it gave none
TRAITS           the ``--Class.trait=value`` arguments that the kernel itself has no use for
"""

import _einkorn

_pairs = [line.partition("=")[::2] for line in _einkorn.settings.splitlines()]
_values = dict(_pairs)

SHELL = _values.get("shell", "auto")
SHIM = _values.get("ipykernel") != "no"
CONNECTION_FILE = _values.get("connection_file", "")
TRAITS = [value for name, value in _pairs if name == "trait"]
