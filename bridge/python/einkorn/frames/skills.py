"""What a host learns of the skills' sidecars, pieces of code that its loaders run in the worker.

A *loader* is the code object that a cell of the host's own (origin ``system`` or ``recovery``) names
by the audit event ``openai4s.skill_loader_register``.  What it compiles is announced to the host
(``sidecar_capture_started``); if it then executes that and says so by ``openai4s.skill_sidecar_loaded``,
the host gets what it says.  Each event is signed with the key of the handshake.  That is a diagnosis,
no proof: cells run in the same process and can find the key.

In a cell of origin ``sidecar_recovery`` files and code from places that cells can change are refused.
"""

import os
import sys

import _einkorn

from . import dlopen

MAX_SOURCE = 2_666_672  # characters of base64
INVALID = "invalid_sidecar_event"
LOAD_EVENTS = "__openai4s_skill_load_events__"
_BLOCK = 64  # of SHA-256

_loaders = []  # code objects
_pending = {}  # frame of a loader -> _Capture
_sent = 0  # frames in this cell
_list = None  # the cells' own list of events, and how much of it is told
_told = 0


class _Capture:
    """One source that a loader has compiled."""

    def __init__(self, digest):
        self.identity, self.digest, self.executed = os.urandom(16).hex(), digest, False


def install(key):
    """Listen for the events; ``key`` (32 bytes) signs what is sent."""
    global _sign
    _sign = _signer(key)
    _einkorn.listen("openai4s.skill_loader_register", _on_register)
    _einkorn.listen("openai4s.skill_sidecar_loaded", _on_loaded)
    _trust()


def _signer(key):
    """Return a function that gives the HMAC-SHA256 (RFC 2104) of bytes as hex digits."""
    inner = bytes(byte ^ 0x36 for byte in key.ljust(_BLOCK, b"\0"))
    outer = bytes(byte ^ 0x5C for byte in key.ljust(_BLOCK, b"\0"))
    sha256 = _einkorn.sha256

    def sign(data):
        return sha256(outer + sha256(inner + data)).hex()

    return sign


# ---- the loader's events --------------------------------------------------------------------


def _on_register(code=None, *_):
    if _einkorn.cell_origin() not in ("system", "recovery") or type(code) is not _Code:
        return
    if not _is_loader(code):
        _loaders.append(code)
    _einkorn.listen("compile", _on_compile)
    _einkorn.listen("exec", _on_exec)


_Code = type(install.__code__)


def _is_loader(code):
    return any(code is loader for loader in _loaders)


def _on_compile(source=None, file=None, *_):
    """See what a loader has compiled; its frame is the one that calls ``compile``."""
    frame = sys._getframe(1)
    if _is_loader(frame.f_code) and isinstance(source, (str, bytes)):
        data = source.encode("utf-8", "surrogatepass") if isinstance(source, str) else source
        capture = _pending[frame] = _Capture(_einkorn.sha256(data).hex())
        _send(
            {
                "event": "sidecar_capture_started",
                "attestation_id": capture.identity,
                "sha256": capture.digest,
            }
        )
    elif _recovering:
        _check(file)


def _on_exec(code=None, *_):
    capture = _pending.get(sys._getframe(1))
    if capture is not None:
        capture.executed = True
    elif _recovering and type(code) is _Code:
        _check(code.co_filename)


def _on_loaded(event=None, *_):
    """A loader says that it has executed what it compiled."""
    frame = sys._getframe(1)
    if not _is_loader(frame.f_code):
        return
    capture = _pending.pop(frame, None)
    if capture is None or not capture.executed or not _is_of(event, capture):
        identity = "" if capture is None else capture.identity
        _send({"event": INVALID, "attestation_id": identity})
        return
    _send({**event, "attestation_id": capture.identity})


def _is_of(event, capture):
    return type(event) is dict and event.get("sha256") == capture.digest


def _send(event):
    global _sent
    try:
        event = {**event, "attestation_mac": _sign(_canonical(event))}
    except (TypeError, ValueError, RecursionError):  # it is no JSON
        event = {"event": INVALID, "attestation_id": event["attestation_id"]}
        event["attestation_mac"] = _sign(_canonical(event))
    if event.get("event") not in ("sidecar_capture_started", INVALID) and not _has_source(event):
        event = {"event": INVALID}
    _einkorn.write_frame(
        {"type": "skill_sidecar_load", "id": _einkorn.cell_id(), "event": event}
    )
    _sent += 1


def _has_source(event):
    source = event.get("source_b64")
    return type(source) is str and len(source) <= MAX_SOURCE


def _canonical(event):
    import json

    text = json.dumps(event, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")


# ---- cells ------------------------------------------------------------------------------------


def after_cell(namespace):
    """Return what the response says beside: {} or the events of the list in ``namespace``.

    What was compiled and is not yet executed is let go.
    """
    if _list is None and LOAD_EVENTS not in namespace and not (_sent or _pending or _recovering):
        return {}  # as nearly always
    _pending.clear()
    if _recovering:
        _look(False)
    events = _new_events(namespace)
    return {"skill_sidecar_loads": events} if events else {}


def _new_events(namespace):
    """Return the new entries of the list that loaders of an older kind keep, unless frames came."""
    global _sent, _list, _told
    sent, _sent = _sent, 0
    events = namespace.get(LOAD_EVENTS)
    if type(events) is not list:
        _list, _told = None, 0
        return []
    if events is not _list or _told > len(events):
        _list, _told = events, 0
    new, _told = events[_told:], len(events)
    found = [dict(event) for event in new if type(event) is dict]
    if len(found) < len(new):
        found.append({"event": INVALID})
    return [] if sent else found


# ---- recovery -----------------------------------------------------------------------------------

_recovering = False
_trusted = ()


def _trust():
    """Note the places from which a recovery may take files and code; our own is one."""
    global _trusted
    roots = [*dlopen.trusted(), os.path.dirname(os.path.dirname(__file__))]
    _trusted = tuple({os.path.realpath(root) for root in roots if root})


def recover():
    """Have files and code looked at until the end of the cell."""
    _look(True)


def _look(on):
    global _recovering
    _recovering = on
    _einkorn.listen("open", _check if on else None)
    _einkorn.listen("compile", _on_compile if on or _loaders else None)
    _einkorn.listen("exec", _on_exec if on or _loaders else None)


def _check(path=None, *_):
    """Raise PermissionError if the path is of a place that cells can change."""
    if not isinstance(path, (str, bytes)):
        return  # a descriptor, or no file at all
    path = os.fsdecode(path)
    if path.startswith("<") and path.endswith(">"):
        return  # the cell's own text, and what the interpreter has frozen
    real = os.path.realpath(path)
    for root in _trusted:
        if real == root or real.startswith(root + "/"):
            return
    raise PermissionError(
        f"Refusing mutable file/code access during frozen sidecar recovery: {path}"
    )
