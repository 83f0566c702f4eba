"""The package ``ipykernel``, in memory: what libraries look for to learn that this is a notebook.

The real one would take over the comms and start sockets of its own.  So ``import ipykernel`` finds
this one: an empty package from the start, whose modules, made when they are first imported, are the
files of the directory ``ipykernel`` here.  Modules that are not there come from the real ipykernel
if it is installed, behind it on ``__path__``; they find ours where they import one another.
``ipykernel.zmqshell`` alone is there from the start: a stand-in that loads the shell.

The version is that of the ipykernel whose surface this is, whatever is installed: what is installed
is told by importlib.metadata, as everywhere.
"""

import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import PathFinder

from . import stand_in

VERSION = (7, 4, 0)
_HERE = __file__.rpartition("/")[0] + "/ipykernel"
_OF_CONNECT = frozenset(
    {"connect_qtconsole", "get_connection_file", "get_connection_info", "write_connection_file"}
)
_OF_ZMQSHELL = frozenset(
    {"InteractiveShell", "InteractiveShellABC", "KernelMagics"}
    | {"ZMQDisplayPublisher", "ZMQExitAutocall", "ZMQInteractiveShell"}
)


def put_up(load):
    """Put the package and the stand-in of ``ipykernel.zmqshell`` into ``sys.modules``."""
    real = PathFinder.find_spec("ipykernel")
    package = type(sys)("ipykernel", "What Einkorn offers under ipykernel's name.")
    package.__path__ = [_HERE, *(real and real.submodule_search_locations or ())]
    package.__spec__ = ModuleSpec("ipykernel", None, is_package=True)
    package.__spec__.submodule_search_locations = package.__path__
    package.__package__ = "ipykernel"
    package.__version__ = ".".join(map(str, VERSION))
    package.version_info = VERSION
    package.kernel_protocol_version_info, package.kernel_protocol_version = (5, 3), "5.3"
    package.__getattr__ = _member
    sys.modules["ipykernel"] = package
    spec = ModuleSpec("ipykernel.zmqshell", None)
    stand_in.put("ipykernel.zmqshell", spec, load, offers=_OF_ZMQSHELL.__contains__)
    sys.meta_path.append(_Reason)


def _member(name):
    """An attribute of the package that is not there yet: a module, or something of ``connect``."""
    from importlib import import_module

    if name in _OF_CONNECT:
        return getattr(import_module("ipykernel.connect"), name)
    if name[:1] != "_" and PathFinder.find_spec(f"ipykernel.{name}", [_HERE]) is not None:
        return import_module(f"ipykernel.{name}")
    raise AttributeError(f"module 'ipykernel' has no attribute {name!r}")


class _Reason:
    """The last meta path finder: says why there is no such module of ours."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        """Raise ModuleNotFoundError for a module of the package; None for all others."""
        if name.startswith("ipykernel.") and _HERE in getattr(
            sys.modules.get("ipykernel"), "__path__", ()
        ):
            raise ModuleNotFoundError(
                f"No module named {name!r}: Einkorn has no use for one, and there is none in an "
                "installed ipykernel either",
                name=name,
            )
        return None


def fill_zmqshell(space):
    """Give the stand-in of ``ipykernel.zmqshell`` its names, out of the shell's module."""
    module = sys.modules.get("ipykernel.zmqshell")
    if getattr(module, "__spec__", None) is not None and module.__spec__.loader is None:
        module.__dict__.pop("__getattr__", None)
        module.__dict__.update((name, space[name]) for name in _OF_ZMQSHELL if name in space)
        module.__file__ = space["__file__"]  # where inspect finds the source
