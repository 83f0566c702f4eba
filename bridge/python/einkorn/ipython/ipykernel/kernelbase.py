"""The class of all kernels.  Importing it makes the one that runs: ``Kernel.instance()``."""

from einkorn.ipython import loading

loading.shell()  # before its parts: they import one another

from einkorn.ipython.kernel import Kernel

__all__ = ["Kernel"]
