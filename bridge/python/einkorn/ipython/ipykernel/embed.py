"""Starting a kernel within a program; here one runs already."""

__all__ = ["embed_kernel"]


def embed_kernel(module=None, local_ns=None, **kwargs):
    """Raise RuntimeError."""
    from .kernelapp import IPKernelApp

    IPKernelApp.launch_instance()
