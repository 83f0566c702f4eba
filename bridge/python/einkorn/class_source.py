"""``inspect.getsource`` for classes that were defined in cells.

A class carries no file name of its own; inspect asks its module, and ``__main__`` has no file in a
kernel.  Where the cell can be told with certainty inspect gets it from here, else it raises
OSError as it does in an interpreter.  Certain is: a method of the class was compiled in that cell
inside a class statement of that name; or, for a class without methods, all kept cells hold exactly
one class statement of that name (on 3.13+ also: on the line that the class remembers).
"""

import sys

from . import sources

# cell file name -> (its text, [(qualified name, first line, last line)]), lines from 1
_definitions = {}


def patch_inspect(module):
    """Teach ``inspect`` about the cells' classes (an action for imports.after_import)."""
    if not hasattr(module.getfile, "__wrapped__"):
        module.getfile = _getfile(module.getfile)
        module.findsource = _findsource(module.findsource)
        module.getabsfile = _getabsfile(module.getabsfile)


def _getfile(original):
    from functools import wraps

    @wraps(original)
    def getfile(object):
        if isinstance(object, type) and object.__module__ == "__main__":
            return _locate(object)[0]
        return original(object)

    return getfile


def _findsource(original):
    from functools import wraps

    @wraps(original)
    def findsource(object):
        if isinstance(object, type) and object.__module__ == "__main__":
            name, line = _locate(object)
            return sources.lines(name), line - 1
        return original(object)

    return findsource


def _getabsfile(original):
    from functools import wraps

    @wraps(original)
    def getabsfile(object, _filename=None):
        path = original(object, _filename)
        name = path.rpartition("/")[2]
        return path if sources.label(name) is None else name  # a cell's lies in no directory

    return getabsfile


def _locate(cls):
    """Return (cell file name, first line from 1) of a class; OSError where that is not certain."""
    found = _by_methods(cls) or _by_name(cls)
    if found is None:
        raise OSError("source code not available")
    return found


def _by_methods(cls):
    for name, value in list(vars(cls).items()):
        code = getattr(_function(value), "__code__", None)
        if code is None or code.co_qualname != f"{cls.__qualname__}.{code.co_name}":
            continue
        for qualname, first, last in _classes(code.co_filename):
            if qualname == cls.__qualname__ and first <= code.co_firstlineno <= last:
                return code.co_filename, first
    return None


def _by_name(cls):
    if not sources.complete():
        return None
    line = vars(cls).get("__firstlineno__")
    found = [
        (name, first)
        for name in sources.names()
        for qualname, first, _ in _classes(name)
        if qualname == cls.__qualname__ and line in (None, first)
    ]
    return found[0] if len(found) == 1 else None


def _function(value):
    """Return the plain function inside a method, property or decorated function, if any."""
    for attribute in ("__func__", "fget", "func"):
        value = getattr(value, attribute, None) or value
    inspect = sys.modules["inspect"]
    try:
        return inspect.unwrap(value)
    except ValueError:  # a cycle of __wrapped__
        return None


def _classes(name):
    """Return the class statements of a kept cell; [] for any other file."""
    text = sources.text(name)
    if text is None:
        _definitions.pop(name, None)
        return []
    if _definitions.get(name, (None,))[0] is not text:
        _definitions[name] = text, list(_walk(_parse("".join(sources.lines(name))), ""))
    return _definitions[name][1]


def _parse(text):
    try:
        return compile(text, "<class>", "exec", 0x400 | 0x2000, True)  # AST only, top-level await
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _walk(node, prefix):
    import ast

    if node is None:
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            first = min([child.lineno] + [item.lineno for item in child.decorator_list])
            yield prefix + child.name, first, child.end_lineno
            yield from _walk(child, f"{prefix}{child.name}.")
        elif isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _walk(child, f"{prefix}{child.name}.<locals>.")
        else:
            yield from _walk(child, prefix)
