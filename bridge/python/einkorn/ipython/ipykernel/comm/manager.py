"""The class of the comms' manager; the one in use is ``get_ipython().kernel.comm_manager``."""

from einkorn.comms import CommManager

__all__ = ["CommManager"]
