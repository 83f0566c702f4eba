"""The readers and writers of other modules: what is read is tagged, what is written is told.

``WRAPPERS`` says per module what is replaced in it, right after it was imported.
"""

import os
from functools import wraps

from . import lineage, lineage_files, provenance


def _source_tags(source):
    if lineage.is_path(source):
        return lineage.resolve(source) if lineage.is_on() else frozenset()
    return provenance.get_tags(source)


def _reader(plain, *names):
    """Wrap a function whose first argument, or one of ``names``, is what it reads."""

    @wraps(plain)
    def read(*args, **kwargs):
        source = args[0] if args else next((kwargs[name] for name in names if name in kwargs), None)
        tags = _source_tags(source)
        if not lineage.is_path(source):
            result = plain(*args, **kwargs)
        else:
            with lineage.quiet():
                result = plain(*args, **kwargs)
        return provenance.set_tags(result, tags) if tags else result

    return read


def _writer(plain, *names, of=0, target=1, suffix=None):
    """Wrap a function that writes its argument ``of`` into its argument ``target``, or ``names``."""

    @wraps(plain)
    def write(*args, **kwargs):
        tags = provenance.get_tags(args[of]) if len(args) > of else frozenset()
        path = args[target] if len(args) > target else next(
            (kwargs[name] for name in names if name in kwargs), None
        )
        if not tags or not lineage.is_on():
            return plain(*args, **kwargs)
        with lineage.quiet():
            result = plain(*args, **kwargs)
        if isinstance(path, lineage_files._Lineage):
            path.take(tags)
        elif lineage.is_path(path):
            lineage.record(suffix(path, kwargs) if suffix else path, tags)
        return result

    return write


def _keeper(plain):
    """Wrap a method whose result comes from the object itself."""

    @wraps(plain)
    def method(self, *args, **kwargs):
        result = plain(self, *args, **kwargs)
        tags = provenance.get_tags(self)
        return provenance.set_tags(result, tags) if tags else result

    return method


def _replace(owner, name, wrapper, *args, **kwargs):
    plain = getattr(owner, name, None)
    if plain is not None:
        setattr(owner, name, wrapper(plain, *args, **kwargs))


def _wrap_json(json):
    plain = json.loads

    @wraps(plain)
    def loads(text, **kwargs):
        result = plain(text, **kwargs)
        tags = provenance.get_tags(text)
        return _spread(result, tags) if tags else result

    json.loads = loads


def _spread(value, tags):
    if type(value) is dict:
        value = {name: _spread(item, tags) for name, item in value.items()}
    elif type(value) is list:
        value = [_spread(item, tags) for item in value]
    return provenance.set_tags(value, tags)


def _wrap_pandas(pandas):
    for name in ("read_csv", "read_parquet", "read_json", "read_pickle", "read_excel"):
        _replace(pandas, name, _reader, "filepath_or_buffer", "path", "path_or_buf", "io")
    for kind in (pandas.DataFrame, pandas.Series):
        _replace(kind, "__getitem__", _keeper)
        for name in ("to_csv", "to_parquet", "to_json", "to_pickle"):
            _replace(kind, name, _writer, "path_or_buf", "path")


def _wrap_numpy(numpy):
    _replace(numpy, "load", _reader, "file")
    _replace(numpy, "save", _writer, "file", of=1, target=0, suffix=_npy)


def _npy(path, kwargs):
    path = os.fsdecode(path)
    return path if path.endswith(".npy") else path + ".npy"


def _wrap_figure(module):
    _replace(module.Figure, "savefig", _writer, "fname", suffix=_with_format)


def _with_format(path, kwargs):
    path = os.fsdecode(path)
    if os.path.splitext(path)[1]:
        return path
    from matplotlib import rcParams

    return path + "." + (kwargs.get("format") or rcParams["savefig.format"])


WRAPPERS = {
    "json": _wrap_json,
    "pandas": _wrap_pandas,
    "numpy": _wrap_numpy,
    "matplotlib.figure": _wrap_figure,
}
