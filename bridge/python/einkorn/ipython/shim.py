"""The package ``ipykernel``, in memory: what libraries look for to learn that this is a notebook.

``ipykernel`` itself is a small package; ``ipykernel.zmqshell`` is a stand-in that loads the shell.
"""

import sys
from _frozen_importlib import ModuleSpec

from . import stand_in

VERSION = (7, 4, 0)


def put_up(load):
    """Put the package and the stand-in of ``ipykernel.zmqshell`` into ``sys.modules``."""
    package = type(sys)("ipykernel", "What Einkorn offers under ipykernel's name.")
    package.__spec__ = ModuleSpec("ipykernel", None, is_package=True)
    package.__path__ = []
    package.__package__ = "ipykernel"
    package.__version__ = ".".join(map(str, VERSION))
    package.version_info = VERSION
    sys.modules["ipykernel"] = package
    stand_in.put("ipykernel.zmqshell", ModuleSpec("ipykernel.zmqshell", None), load)


def fill_zmqshell(**names):
    """Give the stand-in of ``ipykernel.zmqshell`` its names."""
    module = sys.modules.get("ipykernel.zmqshell")
    if module is not None:
        module.__dict__.pop("__getattr__", None)
        module.__dict__.update(names)
