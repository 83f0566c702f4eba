"""Stand-ins for IPython's and ipykernel's modules, until somebody needs the real ones.

Much code looks at ``sys.modules["IPython"]`` or ``"ipykernel.zmqshell"`` without importing them
(tqdm, transformers, matplotlib), so both are there from the start, as module objects that weigh
nothing.  What a finder knows of a module they carry (``__spec__``, ``__file__``, ``__path__``), and
the version; any other name with two underscores on both sides is missing, for that is what inspect,
doctest and unittest ask every module for, and so is a name that the real module cannot have: pickle
looks for a function whose module it does not know in every one.  Any other attribute loads the real
thing, *into the same module object*, and is then found there.
"""

import sys


def put(name, spec, load, extra=None, offers=None):
    """Put a stand-in for the module ``name`` into ``sys.modules`` and return it.

    spec   its real ModuleSpec (or one of ours)
    load   function that makes the module the real one; it calls ``become`` or fills it itself.
           A thread waits in it while another one does that; in the course of it, it does nothing
    extra  name -> function that gives the value of an attribute which loads nothing
    offers function that says whether the real module may have an attribute; None: any
    """
    module = type(sys)(name)
    space = module.__dict__
    space["__spec__"], space["__loader__"] = spec, spec.loader
    space["__package__"] = name if spec.submodule_search_locations is not None else spec.parent
    if spec.has_location:
        space["__file__"] = spec.origin
    if spec.submodule_search_locations is not None:
        space["__path__"] = spec.submodule_search_locations

    def __getattr__(attribute):
        if extra and attribute in extra:
            return extra[attribute]()
        if attribute[:2] == "__" == attribute[-2:] or (offers and not offers(attribute)):
            raise AttributeError(f"module {name!r} has no attribute {attribute!r}")
        load()
        if space.get("__getattr__") is __getattr__:  # being loaded right now, further up
            raise AttributeError(f"module {name!r} has no attribute {attribute!r} yet")
        return getattr(module, attribute)

    space["__getattr__"] = __getattr__
    sys.modules[name] = module
    parent, _, child = name.rpartition(".")
    if parent in sys.modules:
        sys.modules[parent].__dict__[child] = module
    return module


def become(module):
    """Run the real module's code in its stand-in.  What it raises leaves the stand-in as it was.

    Until it has run, other threads that ask for an attribute still come to the stand-in, and wait.
    """
    space = module.__dict__
    before = dict(space)
    try:
        module.__spec__.loader.exec_module(module)
    except BaseException:
        space.clear()
        space.update(before)
        raise
    if space.get("__getattr__") is before["__getattr__"]:
        del space["__getattr__"]


class LoadFirst:
    """A meta path finder that loads something before certain modules are imported.

    It stands at the front of ``sys.meta_path`` until then.  Loading may import that very module;
    then it is handed out as it is, not run again.
    """

    def __init__(self, concerns, load):
        self._concerns, self._load = concerns, load

    def find_spec(self, name, path=None, target=None):
        """See importlib.abc.MetaPathFinder; None for all modules that it does not concern."""
        if not self._concerns(name):
            return None
        self._load()
        module = sys.modules.get(name)
        return None if module is None else type(module.__spec__)(name, _Loaded(module))


class _Loaded:
    """The loader of a module that is there already."""

    def __init__(self, module):
        self._module, self._spec = module, module.__spec__

    def create_module(self, spec):
        """Return the module (importlib.abc.Loader)."""
        return self._module

    def exec_module(self, module):
        """Give it back its own spec, which the import system has just replaced."""
        module.__spec__ = self._spec
