"""The functions that the runner calls in a worker of ``einkorn frames``.

C looks them up once by name (bridge/frames_half.c) and says in bridge/frames_cell.c when it calls
which.  All run on the main thread unless said otherwise, and with interrupts held or owed, but for
``describe``.  What a hook raises is never the cell's error: it goes into a ``log`` frame, or the
request is refused.  Those that other modules of this package fill:

initialize(key)               32 bytes, once, before the first cell: arm the audit hooks
install_host(namespace, mode) put ``host`` and ``openai4s`` there; called before a cell as long as
                              there is no ``host``, and never in the mode "jupyter"
recover()                     before a cell of the origin "sidecar_recovery"
after_cell()                  when a cell is over; returns what the response says beside (dict)

They find the cell by ``_einkorn.cell_id()`` and ``_einkorn.cell_origin()``, the namespace in
``NAMESPACE``, the mode in ``MODE``; they call the host by ``_einkorn.host_call(method, args)``.
"""

import sys

import _einkorn

from . import dlopen, guards, lineage, requests, skills, sources

__all__ = [
    "after_cell",
    "begin",
    "call",
    "describe",
    "figures",
    "finish",
    "handshake",
    "install_host",
    "recover",
    "report",
    "report_changes",
    "scan",
    "start",
]

NAMESPACE = {}  # of the cells
MODE = "repl"  # OPENAI4S_KERNEL_MODE as it was when the process began

scan = requests.scan
call = requests.call
figures = guards.figures
report_changes = guards.report
recover = skills.recover


def start(namespace, mode):
    """Take over the cells' ``namespace`` (dict) and the ``mode`` of the kernel."""
    global NAMESPACE, MODE
    NAMESPACE, MODE = namespace, mode
    sys.excepthook = _tell_error
    sources.install()
    if mode != "jupyter":
        _install_lineage()


def _tell_error(*error):
    """Do as Python does with an error in a callback; with Python's own hook PyQt would abort."""
    sys.__excepthook__(*error)


def _install_lineage():
    try:
        lineage.install()
    except Exception as error:
        _einkorn.write_frame({"type": "log", "msg": f"provenance unavailable: {error}"})


def handshake(request):
    """Return whether the first request (None: it is no object) is good, and the answer to it."""
    request = request if type(request) is dict else {}
    identity = request.get("id", "unknown")
    key = request.get("skill_attestation_key")
    if request.get("type") != "initialize" or type(key) is not str:
        return False, _refusal(identity, "missing manager attestation handshake")
    try:
        key = bytes.fromhex(key)
    except ValueError:
        key = b""
    if len(key) != 32 or not _initialize(key):
        return False, _refusal(identity, "invalid manager attestation handshake")
    return True, {"type": "initialized", "id": identity}


def _refusal(identity, text):
    return {"type": "initialization_error", "id": identity, "error": text}


def _initialize(key):
    try:
        initialize(key)
        return True
    except Exception as error:
        _einkorn.write_frame({"type": "log", "msg": f"audit hook unavailable: {error}"})
        return False


def initialize(key):
    """Arm the audit hook: the rule for native libraries, and the skill events signed with ``key``."""
    dlopen.install(_einkorn.listen)
    skills.install(key)


def install_host(namespace, mode):
    """Put the host object into ``namespace``, under both of its names."""
    from . import host_install

    host_install.install(namespace, mode)


def after_cell():
    """Return what the response says beside of the cell that is over."""
    lineage.flush()
    return skills.after_cell(NAMESPACE)


def begin(file, code):
    """Begin the cell with the text ``code``, which is compiled as ``file``."""
    sources.add(file, code)
    if getattr(sys.stdin, "closed", True):  # exit() closes it; the next cell finds its end again
        sys.stdin = open(0, closefd=False)


def describe(error, file):
    """Return (text, error_lineno, error_call) of what the cell compiled as ``file`` has raised."""
    from . import errors  # traceback is not loaded at start

    return errors.describe(error, file)


def report(error):
    """Return (class name, text, lines) of what ended a forked child."""
    from . import errors

    text = errors.describe(error, "")[0]
    return type(error).__name__, "", text.rstrip("\n").split("\n")


def finish():
    """End the session: what follows is the interpreter's own end, with the atexit handlers."""
    if "threading" in sys.modules:
        from ..ending import join_threads

        join_threads(sys.modules["threading"])
