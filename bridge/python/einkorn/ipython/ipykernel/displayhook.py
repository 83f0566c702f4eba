"""The class of ``get_ipython().displayhook``."""

from einkorn.ipython.displaying import ZMQShellDisplayHook

__all__ = ["ZMQShellDisplayHook"]
