"""``get_ipython().kernel``: what libraries and clients' hidden cells ask a kernel for in-process.

The kernel itself is another process.  This object has ipykernel's names for what can be asked of
it from here: completion, inspection, history, comms, the parent message.
"""

import sys

import _einkorn

from .. import __version__
from . import parents


class Kernel:
    """The one kernel object.  All methods may be called from any thread."""

    implementation = "einkorn"
    implementation_version = __version__
    language = "python"
    language_version = sys.version.split()[0]
    language_info = {
        "name": "python",
        "version": language_version,
        "mimetype": "text/x-python",
        "codemirror_mode": {"name": "ipython", "version": 3},
        "pygments_lexer": "ipython3",
        "nbconvert_exporter": "python",
        "file_extension": ".py",
    }
    eventloop = None

    def __init__(self, shell):
        self.shell = shell

    @property
    def user_ns(self):
        """The cells' namespace."""
        return self.shell.user_ns

    @property
    def execution_count(self):
        """The number of the next cell."""
        return self.shell.execution_count

    @property
    def comm_manager(self):
        """The manager of the open comms."""
        from ..comms import get_comm_manager

        return get_comm_manager()

    @property
    def _parent_header(self):
        return self.get_parent()

    def get_parent(self, channel=None):
        """Return the whole message in whose name the caller speaks."""
        return parents.current()

    def do_complete(self, code, cursor_pos):
        """Return the content of a complete_reply; at once, from any thread."""
        from .. import hooks

        return hooks.complete(code, cursor_pos)

    def do_inspect(self, code, cursor_pos, detail_level=0, omit_sections=()):
        """Return the content of an inspect_reply; at once, from any thread."""
        from .. import hooks

        return hooks.inspect(code, cursor_pos, detail_level)

    def do_is_complete(self, code):
        """Return the content of an is_complete_reply."""
        from .. import hooks

        return hooks.is_complete(code)
