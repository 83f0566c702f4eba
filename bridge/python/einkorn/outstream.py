"""What ``sys.stdout`` and ``sys.stderr`` of ipykernel have that those of Python have not.

The streams' type asks here for the names that it lists (bridge/outstream.h).
"""

import os

import _einkorn

from . import parents

_master = os.getpid()


class _Thread:
    """ipykernel's thread that publishes: it is asked for whether it lives, and to do things."""

    name = "IOPub"
    daemon = True
    ident = native_id = None

    def is_alive(self):
        return True

    def schedule(self, function):
        function()

    def flush(self, timeout=None):
        pass

    @property
    def thread(self):
        return self


_hooks = []


def _is_master_process():
    """Whether this is the process that the streams belong to, and no child of it."""
    return os.getpid() == _master


def _register_hook(hook):
    """Accept a hook.  ipykernel's are thread-local, so that those of user code never run."""
    _hooks.append(hook)


def _unregister_hook(hook):
    """Forget a hook.  -> whether it was known"""
    if hook in _hooks:
        _hooks.remove(hook)
        return True
    return False


_values = {
    "_is_master_process": _is_master_process,
    "echo": None,
    "flush_interval": 0.2,
    "pub_thread": _Thread(),
    "register_hook": _register_hook,
    "reset_thread_parent": parents.reset_thread_parent,
    "session": None,
    "set_parent": parents.set_parent,
    "set_thread_parent": parents.set_thread_parent,
    "unregister_hook": _unregister_hook,
}
_put = {}  # (stream, name) -> what user code has put there


def get(stream, name):
    """Return the value of an attribute of one of the streams."""
    if (stream, name) in _put:
        return _put[stream, name]
    if name == "parent_header":
        return _einkorn.parent().get("header", {})
    if name == "topic":
        return b"stream." + stream.name.strip("<>").encode()
    return _values[name]


def set(stream, name, value):
    """Set one.  As in ipykernel, a parent_header changes in whose name is spoken."""
    if name == "parent_header":
        parents.set_parent(value)
    else:
        _put[stream, name] = value


def delete(stream, name):
    """Undo a set()."""
    if _put.pop((stream, name), _put) is _put:
        raise AttributeError(name)
