"""``openai4s.kernel.provenance`` for cells, wherever they run.

A real ``openai4s`` keeps its packages: those here are bare ones for where there is none.  The module
``provenance`` is always ours, since it is our ``open`` and our ``savefig`` that it has to know.
"""

import sys

MODULE = "openai4s.kernel.provenance"
_PACKAGES = ("openai4s", "openai4s.kernel")


def install():
    """Put the two finders into ``sys.meta_path`` (once)."""
    if _ModuleFinder not in sys.meta_path:
        sys.meta_path.insert(0, _ModuleFinder)
        sys.meta_path.append(_PackageFinder)


class _ModuleFinder:
    """Finder and loader (importlib.abc.MetaPathFinder, Loader) of the module; asked first."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        """Return a spec for the module, None for any other name."""
        return _spec(name, _ModuleFinder) if name == MODULE else None

    @staticmethod
    def create_module(spec):
        """Let the import system make the module."""

    @staticmethod
    def exec_module(module):
        """Fill the module."""
        from . import provenance

        for name in provenance.__all__:
            setattr(module, name, getattr(provenance, name))
        module.__doc__ = provenance.__doc__
        module.__all__ = provenance.__all__


class _PackageFinder:
    """Finder and loader of the packages around it; asked last."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        """Return a spec for one of the packages, None for any other name."""
        return _spec(name, _PackageFinder) if name in _PACKAGES else None

    @staticmethod
    def create_module(spec):
        """Let the import system make the module."""

    @staticmethod
    def exec_module(module):
        """Leave it empty."""
        module.__doc__ = f"The part of {module.__name__} that Einkorn brings."


def _spec(name, loader):
    from importlib.machinery import ModuleSpec

    return ModuleSpec(name, loader, is_package=loader is _PackageFinder)
