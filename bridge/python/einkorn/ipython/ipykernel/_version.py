"""The version of the ipykernel whose surface this is."""

from ipykernel import (
    __version__,
    kernel_protocol_version,
    kernel_protocol_version_info,
    version_info,
)

__all__ = ["__version__", "kernel_protocol_version", "kernel_protocol_version_info", "version_info"]
