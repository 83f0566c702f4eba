"""The application ``IPKernelApp``: what the kernel was started with."""

import os

from traitlets import Any, Unicode
from traitlets.config import SingletonConfigurable

from .. import settings


class IPKernelApp(SingletonConfigurable):
    """There is one, and it runs: it cannot be initialised or started again."""

    name = "ipython-kernel"
    connection_file = Unicode(settings.CONNECTION_FILE)
    kernel_class = Any()
    kernel = Any()
    shell = Any()

    def _load_config(self, cfg, section_names=None, traits=None):
        """Take nothing from it: who reads the profile has; of most options this class would warn."""

    @property
    def abs_connection_file(self):
        """The path of the connection file."""
        return os.path.abspath(self.connection_file)

    @property
    def connection_dir(self):
        """The directory that it lies in."""
        return os.path.dirname(self.abs_connection_file)

    def initialize(self, argv=None):
        """Raise RuntimeError."""
        raise RuntimeError(
            "a kernel runs in this process already; start another one in a process of its own, "
            "as jupyter_client does"
        )

    start = initialize

    @classmethod
    def launch_instance(cls, argv=None, **_keywords):
        """Raise RuntimeError."""
        cls.instance().initialize(argv)


IPKernelApp.__module__ = "ipykernel.kernelapp"
