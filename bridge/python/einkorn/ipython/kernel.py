"""``get_ipython().kernel``: what libraries and clients' hidden cells ask a kernel for in-process.

The kernel itself is another process.  These objects have ipykernel's names for what can be asked of
it from here: completion, inspection, history, cells, comms, the parent message, input.  All methods
may be called from any thread and answer at once.
"""

import os
import sys

import _einkorn

from traitlets import Any, Bool, Dict, Float, Instance, Integer, List, Unicode, default
from traitlets.config import SingletonConfigurable

from .. import __version__, parents, tasks
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
    help_links = ({"text": "Python Reference", "url": "https://docs.python.org/3"},)
    msg_types = (
        "execute_request", "complete_request", "inspect_request", "history_request",
        "comm_info_request", "kernel_info_request", "connect_request", "shutdown_request",
        "is_complete_request", "interrupt_request", "comm_open", "comm_msg", "comm_close",
    )  # fmt: skip

    session = Any(SESSION, allow_none=True)
    iopub_socket = Any(PUB_SOCKET, allow_none=True)
    iopub_thread = shell_stream = control_stream = stdin_socket = None
    shell_streams = List()
    processes = Dict()
    stop_on_error_timeout = Float(0.0)
    int_id = Integer(-1)
    eventloop = Any(None, allow_none=True)
    ident = Unicode()

    def __init__(self, **traits):
        super().__init__(**traits)
        self.shell_handlers = Handlers()
        self.control_handlers = Handlers()

    @default("ident")
    def _make_ident(self):
        return os.urandom(16).hex()

    @property
    def banner(self):
        """What a console shows at the top."""
        return f"Python {self.language_version}\nEinkorn {__version__}"

    @property
    def kernel_info(self):
        """The content of a kernel_info_reply."""
        return {
            "protocol_version": "5.5",
            "implementation": self.implementation,
            "implementation_version": self.implementation_version,
            "language_info": self.language_info,
            "banner": self.banner,
            "help_links": list(self.help_links),
            "debugger": False,
            "supported_features": [],
        }

    @property
    def io_loop(self):
        """tornado's IOLoop of the one asyncio loop; it turns between cells and while one awaits."""
        return tasks.io_loop()

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
    use_experimental_completions = Bool(True)

    def __init__(self, **traits):
        super().__init__(**traits)
        for name in ("comm_open", "comm_msg", "comm_close"):
            dict.__setitem__(self.shell_handlers, name, getattr(self.comm_manager, name))

    @property
    def shell_class(self):
        """The class of the shell."""
        return type(self.shell)

    @property
    def compiler_class(self):
        """The class of what compiles cells."""
        return self.shell.compiler_class

    @property
    def profile_dir(self):
        """The user's profile."""
        return self.shell.profile_dir

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
        from . import inspecting

        return inspecting.complete(self.shell, code, cursor_pos)

    def do_inspect(self, code, cursor_pos, detail_level=0, omit_sections=()):
        """Return the content of an inspect_reply; at once, from any thread."""
        from . import inspecting

        return inspecting.inspect(self.shell, code, cursor_pos, detail_level, omit_sections)

    def do_is_complete(self, code):
        """Return the content of an is_complete_reply."""
        from . import inspecting

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


class Handlers(dict):
    """What handles messages, by their types: only comms' do, the kernel process does the rest.

    ipykernel calls what is put here; who does that is told that nothing will come of it.
    """

    def __setitem__(self, name, handler):
        import warnings

        told = f"Einkorn answers {name!r} outside of Python: this handler is never called"
        warnings.warn(told, RuntimeWarning, stacklevel=2)
        super().__setitem__(name, handler)


class Done(dict):
    """A result that is there; ``await`` of it, as ipykernel's coroutines want, gives it as well."""

    def __await__(self):
        return self
        yield


for _class, _module in ((Kernel, "ipykernel.kernelbase"), (IPythonKernel, "ipykernel.ipkernel")):
    _class.__module__ = _module
