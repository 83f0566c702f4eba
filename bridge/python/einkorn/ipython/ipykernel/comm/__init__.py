"""Comms under the name that they had before the package ``comm`` came up."""

from .comm import BaseComm, Comm
from .manager import CommManager

__all__ = ["BaseComm", "Comm", "CommManager"]
