"""The class of the kernel that runs.  Unlike ipykernel's, this module leaves comms where they are."""

from einkorn.ipython import loading

loading.shell()  # before its parts: they import one another

from einkorn.ipython.kernel import IPythonKernel

__all__ = ["IPythonKernel", "Kernel"]

Kernel = IPythonKernel  # its old name
