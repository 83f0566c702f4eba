"""The application that runs.  Importing this makes it, with its kernel and its shell."""

from einkorn.ipython import loading

loading.shell()  # before its parts: they import one another

from einkorn.ipython.app import IPKernelApp

__all__ = ["IPKernelApp", "launch_new_instance"]

launch_new_instance = IPKernelApp.launch_instance
