"""``get_ipython().kernel``: what libraries and clients' hidden cells ask a kernel for in-process.

The kernel itself is another process.  These objects have ipykernel's names for what can be asked of
it from here: completion, inspection, history, cells, comms, the parent message, input.  All methods
may be called from any thread and answer at once.
"""

import os
import sys

import _einkorn

from traitlets import Any, Dict, Instance, Unicode, default
from traitlets.config import SingletonConfigurable

from .. import __version__, parents
from . import inspecting
from .session import PUB_SOCKET, SESSION


class Kernel(SingletonConfigurable):
    """What every kernel has: a session to send by, the request it works for, input."""

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
    help_links = ()

    session = Any(SESSION, allow_none=True)
    iopub_socket = Any(PUB_SOCKET, allow_none=True)
    iopub_thread = shell_stream = control_stream = stdin_socket = None
    eventloop = Any(None, allow_none=True)
    ident = Unicode()
    # Of other handlers than these nothing comes: the kernel process answers what it does not know.
    shell_handlers = Dict()
    control_handlers = Dict()

    @default("ident")
    def _make_ident(self):
        return os.urandom(16).hex()

    @property
    def banner(self):
        """What a console shows at the top."""
        return f"Einkorn {__version__} with Python {self.language_version}\n"

    # The request.

    def get_parent(self, channel=None):
        """Return the whole message in whose name the caller speaks, an empty dict for none.

        With ``channel`` "control": the last one that came there, of which the header is known.
        """
        return parents.get_parent(channel)

    def set_parent(self, ident, parent, channel="shell"):
        """Have this thread speak for another request (dict, a whole message) from now on."""
        parents.set_parent(parent)

    @property
    def _parent_header(self):
        return self.get_parent()

    @property
    def _parent_ident(self):
        return {channel: parents.get_ident(channel) for channel in ("shell", "control")}

    # What goes out.

    def send_response(
        self, stream, msg_or_type, content=None, ident=None, buffers=None,
        track=False, header=None, metadata=None, channel=None,
    ):  # fmt: skip
        """Send a message in answer to the caller's request, see session.Session.send."""
        parent = self.get_parent(channel)
        return self.session.send(
            stream, msg_or_type, content, parent, ident, buffers, track, header, metadata
        )

    def raw_input(self, prompt=""):
        """Ask the client's user for a line; as ``input``."""
        return _einkorn.ask(str(prompt), False)

    def getpass(self, prompt="", stream=None, **_other):
        """Ask the client's user for a secret; as ``getpass.getpass``."""
        return _einkorn.ask(str(prompt), True)

    def do_one_iteration(self):
        """Handle what has come for comms while this cell runs.  May be awaited, need not be."""
        import einkorn

        return Done(count=einkorn.process_messages())


class IPythonKernel(Kernel):
    """The kernel of this process, of which there is one."""

    shell = Instance("IPython.core.interactiveshell.InteractiveShellABC", allow_none=True)

    def __init__(self, **traits):
        super().__init__(**traits)
        manager = self.comm_manager
        names = ("comm_open", "comm_msg", "comm_close")
        self.shell_handlers.update((name, getattr(manager, name)) for name in names)

    @property
    def user_ns(self):
        """The cells' namespace."""
        return self.shell.user_ns

    @property
    def user_module(self):
        """The module whose namespace that is."""
        return self.shell.user_module

    @property
    def execution_count(self):
        """The number of the next cell."""
        return self.shell.execution_count

    @property
    def comm_manager(self):
        """The manager of the open comms."""
        from ..comms import get_comm_manager

        return get_comm_manager()

    def do_execute(
        self, code, silent, store_history=True, user_expressions=None, allow_stdin=False, **_other
    ):
        """Run a cell here and now; return the content of an execute_reply.  May be awaited."""
        from .. import hooks

        shell = self.shell
        shell._last_traceback = None
        result = shell.run_cell(code, store_history=store_history, silent=silent)
        error = result.error_before_exec or result.error_in_exec
        reply = Done(status="ok" if error is None else "error")
        reply["execution_count"] = shell.execution_count - (1 if store_history else 0)
        if error is None:
            reply["user_expressions"] = hooks.expressions(user_expressions or {})
        else:
            traceback = list(shell._last_traceback or [])
            reply.update(ename=type(error).__name__, evalue=str(error), traceback=traceback)
        reply["payload"] = []  # what there is goes with the reply of the caller's cell
        return reply

    def do_complete(self, code, cursor_pos):
        """Return the content of a complete_reply; at once, from any thread."""
        return inspecting.complete(self.shell, code, cursor_pos)

    def do_inspect(self, code, cursor_pos, detail_level=0, omit_sections=()):
        """Return the content of an inspect_reply; at once, from any thread."""
        return inspecting.inspect(self.shell, code, cursor_pos, detail_level, omit_sections)

    def do_is_complete(self, code):
        """Return the content of an is_complete_reply."""
        return inspecting.is_complete(self.shell, code)

    def do_history(
        self, hist_access_type, output, raw, session=0, start=1, stop=None,
        n=None, pattern="*", unique=False,
    ):  # fmt: skip
        """Return the content of a history_reply."""
        history = self.shell.history_manager
        found = ()
        if hist_access_type == "tail":
            found = history.get_tail(n, raw=raw, output=output, include_latest=True)
        elif hist_access_type == "range":
            found = history.get_range(session, start, stop, raw=raw, output=output)
        elif hist_access_type == "search":
            found = history.search(pattern, raw=raw, output=output, n=n, unique=unique)
        return {"status": "ok", "history": list(found)}

    def do_shutdown(self, restart):
        """Ask the client to end the kernel; return the content of a shutdown_reply."""
        self.shell.ask_exit()
        return {"status": "ok", "restart": restart}

    def do_clear(self):
        """Forget the names of the cells."""
        self.shell.reset(False)
        return {"status": "ok"}


class Done(dict):
    """A result that is there; ``await`` of it, as ipykernel's coroutines want, gives it as well."""

    def __await__(self):
        return self
        yield


for _class, _module in ((Kernel, "ipykernel.kernelbase"), (IPythonKernel, "ipykernel.ipkernel")):
    _class.__module__ = _module
