"""The object ``host`` of a cell: by it a cell calls the program that drives the worker.

A method is made of its row in ``host_methods`` when it is first asked for; a cell that does not
use ``host`` pays for an empty object only.
"""

import _einkorn

# What a kernel of each mode does not have.  The handles of host.compute are not made here at all.
_NEVER = frozenset({"compute"})
_CONTROL = _NEVER | {
    "frames", "query", "mcp", "delegate", "children", "collect", "stop_child", "send_message",
    "delegation_stats",
}  # fmt: skip
_ABSENT = {"repl": _NEVER, **dict.fromkeys(("python", "analysis", "r", "R"), _CONTROL)}


def build(mode, generation):
    """Return the ``host`` of a kernel of this mode.

    ``generation`` (str) is what the host calls this worker, and authorizes commands for.  Raises
    ValueError if there is no such mode.
    """
    if mode not in _ABSENT:
        raise ValueError(f"build_host: unknown kernel mode {mode!r}")
    return _Host(_ABSENT[mode], generation)


_encode = None  # host_values.encode, from the first call on


class _Methods:
    """The methods of one group of rows: ``host`` itself, or a namespace such as "host.skills"."""

    def __init__(self, group):
        self._group = group

    def __getattr__(self, name):
        if name.startswith("_") or name not in _table()[self._group]:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return self._method(name)

    def __dir__(self):
        rows = (name for name in _table()[self._group] if name[0] != "_")
        return sorted({*super().__dir__(), *rows})

    def _method(self, name):
        method = self.__dict__.get(name)
        if method is None:
            from .host_values import make_method

            method = self.__dict__[name] = make_method(_call, self._group, name)
        return method


class _Query(_Methods):
    """Read-only SQL over the host's data: ``host.query(sql)``, ``host.query.schema()``."""

    def __call__(self, *arguments, **keywords):
        return self._method("__call__")(*arguments, **keywords)


class _Lineage(_Methods):
    """Where versions come from: ``host.lineage[version_id]``, ``host.lineage.graph(...)``."""

    def __getitem__(self, version_id):
        return self._method("__getitem__")(version_id)


class _Credentials(_Methods):
    """Secrets: ``host.credentials.get(name)``, and the two steps that it is made of."""

    def get(self, name):
        """The secret of this name."""
        return self.redeem(self.issue(name)["token"])["value"]


_CLASSES = {"query": _Query, "lineage": _Lineage, "credentials": _Credentials}


class _Host(_Methods):
    """Calls to the program that drives this kernel; ``dir(host)`` lists them."""

    def __init__(self, absent, generation):
        super().__init__("host")
        self._absent, self._generation = absent, generation

    def __getattr__(self, name):
        if not name.startswith("_"):
            if name in self._absent:
                raise AttributeError(
                    f"'_Host' object has no attribute {name!r} (not available in this kernel)"
                )
            group = f"host.{name}"
            if group in _table():
                found = self.__dict__[name] = _CLASSES.get(name, _Methods)(group)
                return found
        return super().__getattr__(name)

    def __dir__(self):
        namespaces = (group.removeprefix("host.") for group in _table() if group != "host")
        return sorted({*super().__dir__(), *namespaces} - self._absent)

    def _call(self, method, args):
        """Call any method of the host.  Raises RuntimeError with what the host answered."""
        return _call(method, args)

    def bash(self, command, timeout=120, workdir=None):
        """Run a shell command here, in the kernel, if the host allows it.

        Returns a dict: exit_code, stdout and stderr (their ends, and counts of what was dropped),
        workdir, duration_ms, workspace_diff, audit_recorded.  The command has ``timeout`` seconds
        for itself and all that it starts.
        """
        from .bash import run

        return run(_call, self._generation, command, timeout, workdir)


def _call(method, args):
    global _encode
    if _encode is None:
        from .host_values import encode as _encode
    return _einkorn.host_call(method, _encode(args))


def _table():
    from .host_methods import METHODS

    return METHODS
