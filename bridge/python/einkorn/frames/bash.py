"""``host.bash``: a shell command, run in the kernel by leave of the host.

The command itself never goes through ``host_call``: the host gives leave for exactly this command,
in this directory, to this worker, once and for a short time; the worker looks whether that is what
it asked for, has the leave marked as used, and only then starts the shell.  In the end it tells the
host what came of it.  Every doubt is a RuntimeError, and the command does not run.
"""

import hashlib
import math
import os
import time

from . import bash_rules

VERSION = "openai4s-bash-capability-v1"
DEFAULT_TIMEOUT = 120
MIN_TOKEN_CHARS = 24
MAX_LIFE_MS = 60_000
MAX_AHEAD_MS = 5_000  # how far the host's clock may be ahead
MAX_TOKENS = 1024

_tokens = {}  # the last tokens that were used -> the call that used it


def run(call, generation, command, timeout, workdir):
    """Run a command; return what ``host.bash`` returns.

    ``call(method, args)`` calls the host; ``generation`` is what the host calls this worker.
    """
    timeout = _check(command, timeout)
    _check_domains(call, command)
    cwd = _directory(workdir)
    asked = {
        "command_sha256": hashlib.sha256(command.encode("utf-8", "surrogatepass")).hexdigest(),
        "cwd": cwd,
        "generation": generation,
        "challenge": os.urandom(24).hex(),
    }
    workspace = os.environ.get("OPENAI4S_WORKSPACE") or None
    given = _asking(
        "host authorization unavailable", call, "authorize_bash",
        {**asked, "command": command, "workspace": workspace, "timeout": timeout},
    )  # fmt: skip
    verify(given, {**asked, "workspace": workspace}, time.time() * 1000)
    binding = {"token": given["token"], **asked}
    _use_token(given["token"])
    answer = _asking(
        "host capability could not be consumed", call, "consume_bash_authorization", binding
    )
    if not isinstance(answer, dict) or not answer.get("ok"):
        raise RuntimeError(
            _error(answer) or "bash: host capability was not consumed; command was not executed"
        )
    return _run_allowed(call, binding, command, timeout, os.path.realpath(given["workspace"]))


def _check(command, timeout):
    """Raise RuntimeError if a command is not even asked for; return the timeout as a float."""
    if not isinstance(command, str) or not command.strip():
        raise RuntimeError("bash: empty command")
    if "\0" in command:
        raise RuntimeError("bash: command contains a NUL byte")
    try:
        timeout = float(DEFAULT_TIMEOUT if timeout is None else timeout)
    except (TypeError, ValueError, OverflowError) as error:
        raise RuntimeError("bash: timeout must be a number") from error
    if not math.isfinite(timeout) or timeout <= 0:
        raise RuntimeError("bash: timeout must be finite and positive")
    reason = bash_rules.refusal(command)
    if reason:
        raise RuntimeError(f"bash: blocked by static safety precheck: {reason}")
    return timeout


def _check_domains(call, command):
    """Raise RuntimeError if the host does not want this command's addresses to be reached."""
    names = bash_rules.domains(command)
    if not names:
        return
    try:
        verdict = call("egress_check", [{"domains": names}])
    except Exception:
        verdict = None  # an older host; it looks once more when it is asked for leave
    if isinstance(verdict, dict) and verdict.get("blocked"):
        raise RuntimeError(
            verdict.get("message")
            or f"bash: domain {verdict['blocked']} is outside the egress allowlist"
        )
    blocked = bash_rules.blocked_domain(names) if verdict is None else None
    if blocked:
        raise RuntimeError(
            f"proxy 403: outbound network access to {blocked!r} is blocked by the egress allowlist "
            f"(OPENAI4S_EGRESS=allowlist). host.request_network_access(domain={blocked!r}) asks "
            "the user to allow it."
        )


def _directory(workdir):
    """Return the directory to run in, with no links in its path."""
    workdir = workdir or "."
    try:
        directory = os.path.realpath(os.path.expanduser(os.fsdecode(workdir)), strict=True)
    except (OSError, TypeError, ValueError) as error:
        raise RuntimeError(f"bash: workdir not found: {workdir}") from error
    if not os.path.isdir(directory):
        raise RuntimeError(f"bash: workdir not found: {workdir}")
    return directory


def _asking(what, call, method, spec):
    """Call the host; a call that fails is a refusal, for the reason that the host gave."""
    try:
        return call(method, [spec])
    except Exception as error:
        raise RuntimeError(f"bash: {what}; command was not executed: {error}") from error


def _error(answer):
    error = answer.get("error") if isinstance(answer, dict) else None
    return str(error) if error else None


def _use_token(token):
    if _tokens.setdefault(token, mine := object()) is not mine:
        raise RuntimeError("bash: host capability token replayed")
    while len(_tokens) > MAX_TOKENS:
        _tokens.pop(next(iter(_tokens)), None)


# ---- what the host answers, looked at field by field ---------------------------------------------

_FIELDS = (
    "version", "token", "command_sha256", "cwd", "workspace", "allowed_root", "generation",
    "challenge", "issued_at_ms", "expires_at_ms",
)  # fmt: skip
_BOUND = ("command_sha256", "cwd", "generation", "challenge")
_PATHS = ("workspace", "allowed_root")
_TIMES = ("issued_at_ms", "expires_at_ms")


def _is_time(value):
    return type(value) in (int, float) and math.isfinite(value)


def _within(path, root):
    root = os.path.realpath(root)
    return os.path.commonpath([path, root]) == root


# (what must hold of the capability, of what was asked for and of the time, the text if it does not)
_RULES = (
    (lambda given, asked, now: given["version"] == VERSION,
     "unsupported host capability version"),
    (lambda given, asked, now: isinstance(given["token"], str)
     and len(given["token"]) >= MIN_TOKEN_CHARS,
     "host authorization returned an invalid token"),
    *((lambda given, asked, now, name=name: given[name] == asked[name],
       f"host capability binding mismatch ({name})") for name in _BOUND),
    (lambda given, asked, now: all(
        isinstance(given[name], str) and os.path.exists(given[name]) for name in _PATHS),
     "host capability contains an invalid path"),
    (lambda given, asked, now: all(os.path.isdir(given[name]) for name in _PATHS),
     "host capability path is not a directory"),
    (lambda given, asked, now: asked["workspace"] is None
     or os.path.realpath(given["workspace"]) == os.path.realpath(asked["workspace"]),
     "host capability binding mismatch (workspace)"),
    (lambda given, asked, now: _within(asked["cwd"], given["allowed_root"]),
     "host capability does not contain the workdir"),
    (lambda given, asked, now: all(_is_time(given[name]) for name in _TIMES),
     "host capability has an invalid expiry"),
    (lambda given, asked, now: given["expires_at_ms"] > now,
     "host capability expired before execution"),
    (lambda given, asked, now: given["issued_at_ms"] <= now + MAX_AHEAD_MS
     and 0 < given["expires_at_ms"] - given["issued_at_ms"] <= MAX_LIFE_MS,
     "host capability expiry is outside policy"),
)  # fmt: skip


def verify(given, asked, now):
    """Raise RuntimeError unless ``given``, the host's answer, is leave for what was ``asked``.

    ``now`` is the time in milliseconds.
    """
    if not isinstance(given, dict):
        raise RuntimeError("bash: host authorization returned an invalid capability")
    if _error(given):
        raise RuntimeError(_error(given))
    missing = sorted(set(_FIELDS) - set(given))
    if missing:
        raise RuntimeError(
            "bash: host authorization omitted capability fields: " + ", ".join(missing)
        )
    for holds, text in _RULES:
        if not holds(given, asked, now):
            raise RuntimeError(f"bash: {text}")


# ---- the command ---------------------------------------------------------------------------------


def _run_allowed(call, binding, command, timeout, workspace):
    """Run the command, tell the host, return what ``host.bash`` returns."""
    from .bash_process import Command
    from .bash_workspace import Snapshot, difference

    before = Snapshot(workspace)
    done = Command(command, binding["cwd"], timeout)
    result = {
        "exit_code": done.code,
        "stdout": done.stdout.text,
        "stderr": done.stderr.text,
        **_counts("stdout", done.stdout),
        **_counts("stderr", done.stderr),
        "duration_ms": done.duration_ms,
        "workspace_diff": difference(before, Snapshot(workspace)),
    }
    try:
        answer = call("record_bash_result", [{**binding, "status": done.status, **result}])
        recorded = isinstance(answer, dict) and bool(answer.get("ok"))
    except Exception:
        recorded = False  # what was done is done; the cell is told
    if done.status == "timed_out":
        raise RuntimeError(f"bash: timed out after {timeout:g}s")
    if done.status == "launch_failed":
        raise RuntimeError(f"bash: failed to launch command: {done.error}") from done.error
    return {**result, "workdir": binding["cwd"], "audit_recorded": recorded}


def _counts(name, tail):
    kept = len(tail.text)
    return {
        f"{name}_seen_chars": tail.seen,
        f"{name}_retained_chars": kept,
        f"{name}_dropped_chars": tail.seen - kept,
        f"{name}_truncated": tail.seen > kept,
    }
