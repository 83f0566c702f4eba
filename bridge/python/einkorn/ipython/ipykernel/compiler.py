"""The names of the files that cells are compiled under."""

from einkorn.ipython import loading

loading.shell()  # before its parts: they import one another

from einkorn.ipython import compiler

import _einkorn

__all__ = ["get_file_name", "get_tmp_directory", "get_tmp_hash_seed", "murmur2_x86"]

get_file_name = compiler.file_name
XCachingCompiler = compiler.Compiler


def murmur2_x86(data, seed):
    """Return the hash of a text."""
    return _einkorn.murmur2(data, seed)


def get_tmp_directory():
    """Return the directory that cells seem to lie in."""
    return compiler.directory().rstrip("/")


def get_tmp_hash_seed():
    """Return the seed of the hash in a file's name."""
    return compiler.SEED
