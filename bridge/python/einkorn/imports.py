"""Do something right after a named module was imported.

Some modules need a small adjustment in a kernel (``asyncio`` a loop, ``linecache`` the text of the
cells).  Importing them just for that would cost start-up time and memory, so the adjustment waits:
one finder at the front of ``sys.meta_path`` knows a handful of names, costs a dictionary look-up
for every other import, and leaves no trace in the modules it let through (their ``__spec__`` and
``__loader__`` are the real ones when their code runs).
"""

import sys

import _einkorn

_actions = {}


def after_import(name, action):
    """Call ``action(module)`` whenever module ``name`` has just been executed.

    ``name`` is a dotted module name.  If the module is there already, ``action`` is called at
    once.  After ``importlib.reload`` it is called again, so it has to bear that.  An exception out
    of ``action`` comes out of the import.
    """
    _actions[name] = action
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)
    module = sys.modules.get(name)
    if module is not None:
        action(module)


class _Finder:
    """A meta path finder (importlib.abc.MetaPathFinder) that only wraps what others find."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        """Return the real spec of ``name`` with its loader wrapped, None for names unknown here."""
        if name not in _actions:
            return None
        for finder in sys.meta_path:
            find_spec = None if finder is _Finder else getattr(finder, "find_spec", None)
            spec = find_spec and find_spec(name, path, target)
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader)
                return spec
        return None


class _Loader:
    """Stands in for ``real`` until the module is about to run; then steps aside."""

    def __init__(self, real):
        self._real = real

    def __getattr__(self, name):
        return getattr(self._real, name)

    def create_module(self, spec):
        """See importlib.abc.Loader.create_module."""
        create = getattr(self._real, "create_module", None)
        return create(spec) if create else None

    def exec_module(self, module):
        """Run the module with its own loader in place, then the action that waits for it."""
        spec = module.__spec__
        spec.loader = module.__loader__ = self._real
        self._real.exec_module(module)
        _einkorn.hold_interrupts(_actions[spec.name], module)  # all of it or nothing
