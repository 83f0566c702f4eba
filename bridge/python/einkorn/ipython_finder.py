"""``IPython.display`` where IPython is not installed.

Much code for notebooks imports ``display``, ``HTML`` or ``clear_output`` from there and needs
nothing else of IPython.  A finder at the *end* of ``sys.meta_path`` serves that one module and a
bare package around it whose ``get_ipython()`` returns None, so libraries that ask for IPython's
shell learn that there is none.  A real IPython, or a user's own ``IPython.py``, is found first.
"""

import sys

_NAMES = ("IPython", "IPython.display")


def install():
    """Append the finder to ``sys.meta_path`` (once)."""
    if _Finder not in sys.meta_path:
        sys.meta_path.append(_Finder)


class _Finder:
    """Finder and loader (importlib.abc.MetaPathFinder, Loader) of the two modules."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        """Return a spec for IPython and IPython.display, None for names outside of IPython.

        Raises ModuleNotFoundError for any other module of IPython, with the reason.
        """
        if not name.startswith("IPython"):
            return None
        if name in _NAMES:
            from importlib.machinery import ModuleSpec

            return ModuleSpec(name, _Finder, is_package=name == "IPython")
        if name.startswith("IPython.") and _is_ours(sys.modules.get("IPython")):
            raise ModuleNotFoundError(
                f"No module named {name!r}: IPython is not installed here, "
                "the kernel itself provides only IPython.display",
                name=name,
            )
        return None

    @staticmethod
    def create_module(spec):
        """Let the import system make the module."""

    @staticmethod
    def exec_module(module):
        """Fill the module."""
        if module.__name__ == "IPython":
            _fill_package(vars(module))
        else:
            _fill_display(vars(module))


def _is_ours(module):
    return getattr(getattr(module, "__spec__", None), "loader", None) is _Finder


def _fill_package(space):
    def get_ipython():
        """Return None: there is no IPython shell."""

    def __getattr__(name):
        if name == "display":
            import importlib

            return importlib.import_module("IPython.display")
        raise AttributeError(f"module 'IPython' has no attribute {name!r}")

    get_ipython.__module__ = "IPython"
    space["__doc__"] = "A stand-in for IPython, which is not installed: only IPython.display."
    space.update(get_ipython=get_ipython, __getattr__=__getattr__)


def _fill_display(space):
    from . import display, display_media, display_objects

    own = ("display", "update_display", "clear_output", "publish_display_data", "DisplayHandle")
    found = {name: getattr(display, name) for name in own}
    for module in (display_objects, display_media):
        found.update((name, getattr(module, name)) for name in module.__all__)
    for item in found.values():
        if item.__module__ != display.__name__:
            item.__module__ = "IPython.display"  # so that pickles name a module that can be found
    space["__doc__"] = "Tools to show things in notebooks, with IPython's names and signatures."
    space["__all__"] = sorted(found)
    space.update(found)
