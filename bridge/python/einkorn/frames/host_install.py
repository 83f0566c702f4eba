"""Put ``host`` into the namespace of the cells.

Apart from ``host`` itself, so that a worker whose ``host`` cannot be imported or built can say so.
"""

import os
import sys

import _einkorn

_host = None  # the one of this worker, or what stands in for it
_tried = False


def install(namespace, mode):
    """Bind ``host``, and ``openai4s`` to the same object; before a cell, as long as it is missing.

    ``mode`` is the kernel's, as it was at the start of the process: any but "jupyter".  What cannot
    be built is told to the driver in a log frame, once.
    """
    global _host, _tried
    if not _tried:
        _tried = True
        _host = _build(mode)
    if _host is not None:
        namespace["host"] = namespace["openai4s"] = _host


def _build(mode):
    try:
        from .host import build

        return build(mode, _generation())
    except Exception as error:
        _einkorn.write_frame({"type": "log", "msg": f"host sdk unavailable: {error}"})
        # A local worker is without a host then, as one of mode jupyter is; its driver has the log.
        # Of a remote one nobody sees the log, so the name has to speak for itself.
        remote = os.environ.get("OPENAI4S_WORKER_CONNECT", "").strip()
        return _HostUnavailable(error) if remote else None


def _generation():
    """What the driver calls this worker: a remote one is told when it dials."""
    return (
        getattr(sys, "_openai4s_remote_generation", None)
        or os.environ.get("OPENAI4S_KERNEL_GENERATION")
        or f"worker:{os.getpid()}"
    )


class _HostUnavailable:
    """Raises RuntimeError whatever is done with it."""

    def __init__(self, error):
        self.__dict__["error"] = (
            f"the host SDK could not be imported in this worker ({error}). "
            "Install all of Einkorn on the machine where it runs."
        )

    def __getattr__(self, name):
        raise RuntimeError(self.__dict__["error"])

    def __call__(self, *arguments, **keywords):
        raise RuntimeError(self.__dict__["error"])
