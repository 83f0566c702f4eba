"""What can follow in ``import`` and ``from ... import``, without running what would be imported.

Modules are those loaded, those built in, and those that files on ``sys.path`` promise.  Of a module
that is not loaded the names are read off its source text.  Python's own modules in C have none:
they are loaded for a look, past everything that a user can have put into the import system.
"""

import os
import sys

from . import completion_lookup as lookup

MAX_SOURCE = 300_000  # bytes of a module's text that is worth parsing
NOT_FOR_A_LOOK = {"readline"}  # to load it changes the terminal


def modules(prefix, deadline):
    """Return the sorted names of top-level modules that begin with ``prefix``."""
    found = {name for name in list(sys.modules) if type(name) is str and "." not in name}
    found.update(sys.builtin_module_names)
    found = {name for name in found if name.startswith(prefix)}
    found |= _listed(_search_path(), prefix, deadline)
    return _shown(found, prefix)


def submodules(package, prefix, deadline):
    """Return the sorted names of the modules directly in ``package`` that begin with ``prefix``."""
    head = package + "."
    start = len(head)
    loaded = [name[start:] for name in list(sys.modules) if str(name).startswith(head)]
    found = {name for name in loaded if name.startswith(prefix)}
    found |= _listed(_directories(package), prefix, deadline)
    return _shown(found, prefix)


def members(module, prefix, deadline):
    """Return the sorted names that ``from module import`` can take; submodules among them."""
    found = set(submodules(module, prefix, deadline))
    loaded = sys.modules.get(module)
    if loaded is None:
        names = _written(module) or _compiled(module)
    else:
        names = lookup.attributes(loaded)
    found.update(name for name in names if name.startswith(prefix) and name != "*")
    return _shown(found, prefix)


def _shown(names, prefix):
    """Sort; leave out private names that nobody began to type, and what is no identifier."""
    return sorted(
        name for name in names
        if name.isidentifier() and (prefix.startswith("_") or not name.startswith("_"))
    )  # fmt: skip


def _search_path():
    return [entry or "." for entry in list(sys.path) if type(entry) is str]


def _directories(package):
    """Return the directories that hold the submodules of a package, loaded or not."""
    loaded = sys.modules.get(package)
    if loaded is not None:
        try:
            return [entry for entry in lookup.attribute(loaded, "__path__") if type(entry) is str]
        except Exception:
            return []  # no package
    parent, _, name = package.rpartition(".")
    places = _directories(parent) if parent else _search_path()
    return [place for place in (os.path.join(entry, name) for entry in places) if _is_dir(place)]


def _is_dir(path):
    try:
        return os.path.isdir(path)
    except ValueError:  # a null character in it
        return False


def _listed(directories, prefix, deadline):
    """Return the modules that files in the directories promise."""
    from importlib.machinery import all_suffixes

    suffixes = tuple(all_suffixes())
    found = set()
    for directory in directories:
        for name in _names(directory):
            if not name.startswith(prefix):
                continue
            stem = name.partition(".")[0]
            if stem == name:
                if name.isidentifier() and _is_package(os.path.join(directory, name), suffixes):
                    found.add(name)
            elif stem != "__init__" and name[len(stem) :] in suffixes:
                found.add(stem)
            if deadline.over():
                return found
    return found


def _names(directory):
    try:
        return os.listdir(directory)
    except (OSError, ValueError):
        return []


def _is_package(path, suffixes):
    """Does this directory hold a module, or a package in it (a namespace package)?"""
    names = _names(path)
    if any(name.endswith(suffixes) for name in names):
        return True
    inner = [os.path.join(path, name, "__init__.py") for name in names if name.isidentifier()]
    return any(os.path.exists(name) for name in inner[:20])


def _written(module):
    """Return the names that the source text of a module that is not loaded binds."""
    parent, _, name = module.rpartition(".")
    for directory in _directories(parent) if parent else _search_path():
        for path in (os.path.join(directory, name, "__init__.py"), f"{directory}/{name}.py"):
            try:
                with open(path, "rb") as file:
                    text = file.read(MAX_SOURCE + 1)
                tree = compile(text, path, "exec", 0x400, True)  # AST only
            except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
                continue
            return list(_bound(tree.body))
    return []


def _compiled(module):
    """Return the names in a module of Python's own that is written in C and not loaded."""
    if module not in sys.stdlib_module_names or module in NOT_FOR_A_LOOK:
        return []
    from importlib import machinery, util

    places = [entry for entry in _search_path() if os.path.basename(entry) == "lib-dynload"
              and entry.startswith(sys.base_exec_prefix + os.sep)]  # fmt: skip
    kinds = (machinery.ExtensionFileLoader, machinery.EXTENSION_SUFFIXES)
    finders = [machinery.BuiltinImporter, *(machinery.FileFinder(each, kinds) for each in places)]
    for finder in finders:
        spec = finder.find_spec(module)
        if spec is not None:
            try:
                seen = util.module_from_spec(spec)
                spec.loader.exec_module(seen)
            except ImportError:
                break
            return [name for name in vars(seen) if type(name) is str]
    return []


def _bound(body):
    """Yield the names that statements bind, also those within if, try and with."""
    import ast

    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for item in node.names:
                yield item.asname or item.name.partition(".")[0]
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            for target in getattr(node, "targets", None) or [node.target]:
                yield from (item.id for item in ast.walk(target) if isinstance(item, ast.Name))
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            for field in ("body", "handlers", "orelse", "finalbody"):
                for item in getattr(node, field, ()):
                    yield from _bound(getattr(item, "body", ()) if field == "handlers" else [item])
