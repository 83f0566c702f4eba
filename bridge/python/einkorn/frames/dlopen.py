"""No native library from a place that a cell can write to: ``ctypes.dlopen`` is refused there.

What lies under the interpreter, its packages and the system is always allowed.  The roots and the
functions of ``os`` are taken at the start: a cell that replaces those changes nothing here.
"""

import os
import site
import sys

_OFF = ("0", "false", "no", "off")


def install(listen):
    """Arm the rule, by ``listen(event, listener)``, unless OPENAI4S_SAFETY_AUDIT_HOOK turns it off."""
    if os.environ.get("OPENAI4S_SAFETY_AUDIT_HOOK", "1").strip().lower() in _OFF:
        return
    listen("ctypes.dlopen", _rule(_real(_refused()), _real(trusted())))


def _refused():
    chosen = os.environ.get("OPENAI4S_DLOPEN_BLOCK_ROOTS")
    if chosen:
        return [root.strip() for root in chosen.split(os.pathsep)]
    data = os.environ.get("OPENAI4S_DATA_DIR") or os.path.expanduser("~/.openai4s")
    workspace, scratch = os.environ.get("OPENAI4S_WORKSPACE"), os.environ.get("TMPDIR")
    return [os.getcwd(), workspace, os.path.join(data, "artifacts"), "/tmp", scratch]


def trusted():
    """Return the directories that nobody but an administrator or an installer fills."""
    own = [sys.prefix, sys.base_prefix, sys.exec_prefix, os.environ.get("CONDA_PREFIX")]
    packages = [*site.getsitepackages(), site.getusersitepackages()]
    return [*own, *packages, "/usr/lib", "/usr/local/lib", "/lib", "/lib64"]


def _real(roots):
    return tuple({os.path.realpath(root) for root in roots if root})


def _rule(refused, allowed):
    realpath, normpath, fsdecode = os.path.realpath, os.path.normpath, os.fsdecode
    getcwd, lstat = sys.modules["posix"].getcwd, sys.modules["posix"].lstat

    def check(path):
        if below(path, refused) and not below(path, allowed):
            raise PermissionError(
                f"Refusing to dlopen shared library from a writable path: {path}. Load native "
                "libraries from the conda environment / site-packages, not the workspace."
            )

    def below(path, roots):
        for root in roots:
            if path == root or path.startswith(root.rstrip("/") + "/"):
                return True
        return False

    def exists(path):
        try:
            lstat(path)
            return True
        except OSError:
            return False

    def on_dlopen(name=None, *_):
        if not isinstance(name, (str, bytes)) or not name:
            return
        name = fsdecode(name)
        literal = normpath(name if name.startswith("/") else getcwd() + "/" + name)
        if "/" not in name and not exists(literal):
            return  # the loader's own search: a file of that name in a workspace would be here
        check(literal)
        try:
            real = realpath(literal)
        except Exception:  # a cell has replaced what it stands on
            return
        check(real)

    return on_dlopen
