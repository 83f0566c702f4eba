"""What the shell shows: results and displays as messages of the cell they belong to.

Both classes have the names, the configuration and the hooks of ipykernel's.  A hook gets the whole
message and returns it, changed or not, or None: then it is not sent.  Hooks are those of a thread.
"""

import threading

import _einkorn

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from traitlets import Any, Bool, CBytes

from .. import parents
from .session import PUB_SOCKET, SESSION, message


class _Publishes(parents.Speaks):
    """What both have in common: hooks, and the message that they speak in answer to."""

    @property
    def parent_header(self):
        """The header of the request in whose name this thread or task speaks."""
        return parents.get_parent().get("header", {})

    def __init__(self, *arguments, **keywords):
        self._thread_local = threading.local()
        super().__init__(*arguments, **keywords)

    @property
    def _hooks(self):
        return self._thread_local.__dict__.setdefault("hooks", [])

    def register_hook(self, hook):
        """Have ``hook(message)`` see what this thread sends."""
        self._hooks.append(hook)

    def unregister_hook(self, hook):
        """Take a hook back; return whether it was there."""
        try:
            self._hooks.remove(hook)
        except ValueError:
            return False
        return True

    def _send(self, msg_type, content):
        if self._hooks:
            made = message(msg_type, content)
            for hook in self._hooks:
                made = hook(made)
                if made is None:
                    return
            msg_type, content = made["msg_type"], made["content"]
        _einkorn.publish(msg_type, content)


class ZMQDisplayPublisher(_Publishes, DisplayPublisher):
    """Publishes ``display_data``, ``update_display_data`` and ``clear_output``."""

    session = Any(SESSION, allow_none=True)
    pub_socket = Any(PUB_SOCKET, allow_none=True)
    topic = CBytes(b"display_data")
    store_display_history = Bool(
        False, help="If set to True, store display outputs in the history manager."
    ).tag(config=True)

    def publish(self, data, metadata=None, *, transient=None, update=False, **kwargs):
        """Send finished representations: a dict keyed by MIME type, and its metadata."""
        self._validate_data(data, {} if metadata is None else metadata)
        if self.store_display_history:
            self._store(data)
        content = {"data": data, "metadata": metadata or {}, "transient": transient or {}}
        self._send("update_display_data" if update else "display_data", content)

    def _store(self, data):
        try:
            from IPython.core.history import HistoryOutput
        except ImportError:  # before IPython 9
            return
        self.shell.history_manager.shown.add_streams()
        outputs = self.shell.history_manager.outputs
        outputs[self.shell.cell_count].append(HistoryOutput("display_data", data))

    def clear_output(self, wait=False):
        """Clear the cell's output; with ``wait`` only when there is something new to show."""
        self._send("clear_output", {"wait": bool(wait)})


class ZMQShellDisplayHook(_Publishes, DisplayHook):
    """Publishes results as ``execute_result``."""

    topic = None
    session = Any(SESSION, allow_none=True)
    pub_socket = Any(PUB_SOCKET, allow_none=True)
    msg = None  # while a result is formatted: what will be sent

    @property
    def prompt_count(self):
        """The number of the cell whose result this is."""
        return self.shell.cell_count

    def quiet(self):
        """Is the cell silenced by a semicolon?  Of a plain cell the runner has seen to it."""
        return not self.shell.in_plain_cell and super().quiet()

    @staticmethod
    def semicolon_at_end_of_expression(expression):
        """Return whether the last token is a semicolon, without looking at all if there is none."""
        return ";" in expression and DisplayHook.semicolon_at_end_of_expression(expression)

    def update_user_ns(self, result):
        """Note a result as ``_`` and, if its cell is stored, as ``_N`` and ``Out[N]``.

        ipykernel puts that of a hidden cell in the place of the last one's.
        """
        kept = self.do_full_cache
        self.do_full_cache = kept and self.shell.cell_is_stored
        try:
            super().update_user_ns(result)
        finally:
            self.do_full_cache = kept

    def start_displayhook(self):
        """Begin a result."""
        self._is_active = True
        self.msg = {"execution_count": self.prompt_count, "data": {}, "metadata": {}}

    def write_output_prompt(self):
        """Nothing: the message carries the number."""

    def write_format_data(self, format_dict, md_dict=None):
        """Take the representations."""
        self.msg.update(data=format_dict, metadata=md_dict or {})

    def log_output(self, format_dict):
        """Note it for %notebook, after what the cell has written."""
        self.shell.history_manager.shown.add_streams()
        super().log_output(format_dict)

    def finish_displayhook(self):
        """Send it, if there is anything to show."""
        content, self.msg = self.msg, None
        self._is_active = False
        if content and content["data"]:
            self._send("execute_result", {**content, "transient": {}})
