"""The class of ``get_ipython().displayhook``."""

from einkorn.ipython import loading

loading.shell()  # before its parts: they import one another

from einkorn.ipython.displaying import ZMQShellDisplayHook

__all__ = ["ZMQShellDisplayHook"]
