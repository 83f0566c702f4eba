"""Comms: channels between objects here and objects in a client (messaging spec, "Custom messages").

``Comm`` and ``CommManager`` have the surface of those in the package ``comm``, on which widget
libraries build.  When that package is imported, its two entry points are led here; without it
``from einkorn.comms import create_comm, get_comm_manager`` gives the same things.
"""

import os
import sys
import time

import _einkorn

from . import errors
from .ipython import loading


_HEAD_START = 0.05  # seconds
_has_captured = False  # an output widget, since the last cell's end


class Comm:
    """One end of a channel.  Made by ``create_comm``, or by the manager when a client opens one.

    data, metadata  dicts for the client's end, sent with comm_open
    buffers         bytes-like objects that go with them
    comm_id         str; made up if not given
    primary         True: this end opens the channel
    Other keywords of the package ``comm`` are accepted and mean nothing.
    """

    def __init__(
        self, target_name="comm", data=None, metadata=None, buffers=None, comm_id=None,
        primary=True, target_module=None, topic=None, _open_data=None, _close_data=None, **_other,
    ):  # fmt: skip
        self.comm_id = comm_id or os.urandom(16).hex()
        self.target_name, self.target_module = target_name, target_module
        self.primary = primary
        self.topic = topic or f"comm-{self.comm_id}".encode("ascii", "replace")
        self._open_data, self._close_data = _open_data or {}, _close_data or {}
        self._msg_callback = self._close_callback = None
        self._closed = primary
        if primary:
            self.open(data, metadata, buffers)

    def __del__(self):
        """Close the client's end when nobody holds this one any more."""
        if not getattr(self, "_closed", True) and not sys.is_finalizing():
            try:
                self.close(deleting=True)
            except Exception:
                pass  # nobody is there to hear of it

    def publish_msg(self, msg_type, data=None, metadata=None, buffers=None, **keys):
        """Send one message; ``keys`` are further members of its content."""
        content = {"comm_id": self.comm_id, "data": {} if data is None else data, **keys}
        _einkorn.publish(msg_type, content, metadata, buffers)
        _note_capture(data)

    def open(self, data=None, metadata=None, buffers=None):
        """Open the client's end (again)."""
        _manager.register_comm(self)
        try:
            self.publish_msg(
                "comm_open",
                self._open_data if data is None else data,
                metadata,
                buffers,
                target_name=self.target_name,
                target_module=self.target_module,
            )
        except BaseException:
            _manager.comms.pop(self.comm_id, None)
            raise
        self._closed = False

    def send(self, data=None, metadata=None, buffers=None):
        """Send a message to the client's end."""
        self.publish_msg("comm_msg", data, metadata, buffers)

    def close(self, data=None, metadata=None, buffers=None, deleting=False):
        """Close the client's end; does nothing the second time."""
        if self._closed:
            return
        self._closed = True
        if not deleting:
            _manager.comms.pop(self.comm_id, None)
        data = self._close_data if data is None else data
        self.publish_msg("comm_close", data, metadata, buffers)

    def on_msg(self, callback):
        """Call ``callback(message)`` for every comm_msg from the client; None: nothing."""
        self._msg_callback = callback

    def on_close(self, callback):
        """Call ``callback(message)`` when the client closes the channel; None: nothing."""
        self._close_callback = callback

    def handle_msg(self, msg):
        """Take a comm_msg.  IPython's events fire around the handler, as around a cell."""
        if self._msg_callback is not None:
            loading.trigger("pre_execute")
            self._msg_callback(msg)
            loading.trigger("post_execute")

    def handle_close(self, msg):
        """Take a comm_close."""
        if self._close_callback is not None:
            self._close_callback(msg)


class CommManager:
    """The open comms, and the targets that a client can open comms to.

    comms    comm_id -> Comm
    targets  name -> callable(comm, message)
    Keywords of ipykernel's class are accepted and mean nothing.
    """

    def __init__(self, **_other):
        self.comms, self.targets = {}, {}

    def register_target(self, target_name, f):
        """Call ``f(comm, message)`` whenever a client opens a comm to this target.

        ``f`` is a callable or a string that tells where to import one ("package.module.name").
        """
        if isinstance(f, str):
            from importlib import import_module

            module, _, name = f.rpartition(".")
            try:
                f = getattr(import_module(module), name) if module else import_module(name)
            except AttributeError as error:
                raise ImportError(f"No module named {name}") from error
        self.targets[target_name] = f

    def unregister_target(self, target_name, f=None):
        """Forget a target and return its callable.  Raises KeyError if there is none."""
        return self.targets.pop(target_name)

    def register_comm(self, comm):
        """Note an open comm; return its id."""
        self.comms[comm.comm_id] = comm
        return comm.comm_id

    def unregister_comm(self, comm):
        """Forget a comm.  Raises KeyError if it is not known."""
        del self.comms[comm.comm_id]

    def get_comm(self, comm_id):
        """Return the comm of this id, None if there is none."""
        return self.comms.get(comm_id)

    # What came from a client; the first two arguments exist for the sake of the package ``comm``.

    def comm_open(self, stream, ident, msg):
        """Open a comm to a target; one that there is not, or that fails, is closed again."""
        content = msg["content"]
        name = content.get("target_name")
        comm = create_comm(comm_id=content["comm_id"], primary=False, target_name=name)
        self.register_comm(comm)
        target, opened = self.targets.get(name), False
        try:
            opened = target is not None and _told(target, comm, msg)
        finally:
            if not opened:
                comm.close()

    def comm_msg(self, stream, ident, msg):
        """Hand a message to its comm."""
        comm = self.get_comm(msg["content"]["comm_id"])
        if comm is not None:
            _told(comm.handle_msg, msg)

    def comm_close(self, stream, ident, msg):
        """Forget a comm that the client closed, and tell it."""
        comm = self.comms.pop(msg["content"]["comm_id"], None)
        if comm is not None:
            comm._closed = True
            _told(comm.handle_close, msg)


def _told(handler, *arguments):
    """Call a handler; return whether it came to its end.  Its exception is shown on stderr.

    KeyboardInterrupt goes on from here: it may have been meant for the cell that runs meanwhile.
    """
    try:
        handler(*arguments)
    except BaseException as error:
        traceback = errors.describe(error)[2]
        _einkorn.stderr.write("\n".join(traceback) + "\n")
        if isinstance(error, KeyboardInterrupt):
            raise
        return False
    return True


_manager = CommManager()
_class = Comm


def settle():
    """Let a client take up what an output widget has captured before the cell's reply comes.

    nbclient sends the widget's new state on shell, past asyncio; a reply that has come there just
    before goes unnoticed until the cell's time limit, or for good if there is none.
    """
    global _has_captured
    if _has_captured:
        _has_captured = False
        time.sleep(_HEAD_START)


def _note_capture(data):
    global _has_captured
    state = data.get("state") if type(data) is dict else None
    if type(state) is dict and "msg_id" in state:
        _has_captured = True


def create_comm(*arguments, **keywords):
    """Return a new Comm; for the arguments see there."""
    return _class(*arguments, **keywords)


def comm_class():
    """Return the class of the comms: a BaseComm if the package ``comm`` was imported."""
    return _class


def get_comm_manager():
    """Return the one CommManager."""
    return _manager


def receive(msg_type, message):
    """Take a comm_open, comm_msg or comm_close from a client.

    ``message`` is a dict with "header", "parent_header", "metadata", "content", "buffers".
    """
    getattr(_manager, msg_type)(None, None, message)


def patch_comm(module):
    """Lead the package ``comm`` here (an action for imports.after_import)."""
    global _class
    if not hasattr(module, "create_comm") or not hasattr(module, "get_comm_manager"):
        return  # a module of the user's that happens to have this name
    module.create_comm, module.get_comm_manager = create_comm, get_comm_manager
    base = getattr(sys.modules.get("comm.base_comm"), "BaseComm", None)
    if isinstance(base, type) and not issubclass(_class, base):
        _class = type("Comm", (Comm, base), {"__doc__": Comm.__doc__})  # for isinstance
