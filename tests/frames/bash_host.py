"""A host that authorizes shell commands, as the program that drives a worker does.

    host = BashHost(workspace)
    worker.execute("host.bash('true')", host=host)

It gives leave for one command at a time, for as long as it says, and once.  A test can have it
misbehave: ``change`` (what to put into its answers, a dict of fields or None to leave one out),
``answers`` (method -> what is answered instead; an exception is raised), ``generation`` (the only
one that it gives leave to).  What it was asked is in ``calls``, what it was told in ``records``.
"""

import hashlib
import os
import secrets
import time

BINDING = ("command_sha256", "cwd", "generation", "challenge")
DROP = object()  # a value for `change`: leave the field out


def snake(spec):
    return {"".join(f"_{c.lower()}" if c.isupper() else c for c in key): spec[key] for key in spec}


class BashHost:
    def __init__(self, workspace, *, generation=None, allowed_root=None, change=None, answers=None,
                 life_ms=15_000):  # fmt: skip
        self.workspace = os.path.realpath(workspace)
        self.allowed_root = os.path.realpath(allowed_root or workspace)
        self.generation, self.life_ms = generation, life_ms
        self.change, self.answers = change or {}, answers or {}
        self.issued, self.calls, self.records = {}, [], []

    def __call__(self, method, args):
        self.calls.append((method, args))
        if method in self.answers:
            answer = self.answers[method]
            if isinstance(answer, Exception):
                raise answer
            return answer
        if method == "bash":
            raise AssertionError("host.bash must not reach the host")
        act = getattr(self, f"on_{method}", None)
        if act is None:
            raise ValueError(f"unknown method {method}")
        (spec,) = args
        return act(snake(spec))

    def on_authorize_bash(self, spec):
        digest = hashlib.sha256(spec["command"].encode("utf-8", "surrogatepass")).hexdigest()
        if spec["command_sha256"] != digest:
            return {"error": "bash authorization: command digest mismatch"}
        if self.generation not in (None, spec["generation"]):
            return {"error": "bash authorization: not the active generation"}
        now = int(time.time() * 1000)
        token = secrets.token_urlsafe(32)
        binding = {name: spec[name] for name in BINDING}
        self.issued[token] = {**binding, "state": "issued", "until": now + self.life_ms}
        capability = {
            "version": "openai4s-bash-capability-v1", "token": token, **binding,
            "workspace": self.workspace, "allowed_root": self.allowed_root, "frame_id": None,
            "issued_at_ms": now, "expires_at_ms": now + self.life_ms, **self.change,
        }  # fmt: skip
        return {name: value for name, value in capability.items() if value is not DROP}

    def on_consume_bash_authorization(self, spec):
        issued = self.issued.get(spec.pop("token"), {})
        if issued.get("state") != "issued" or issued["until"] <= time.time() * 1000:
            return {"error": "bash authorization: no such token, or no longer"}
        if {name: issued[name] for name in spec} != spec:
            return {"error": "bash authorization: not what leave was given for"}
        issued["state"] = "consumed"
        return {"ok": True}

    def on_record_bash_result(self, spec):
        issued = self.issued.get(spec["token"], {})
        if issued.get("state") != "consumed":
            return {"error": "bash authorization: unknown token"}
        issued["state"] = "recorded"
        self.records.append(spec)
        return {"ok": True}

    def methods(self):
        """What it was asked, without the calls that are not about commands."""
        return [method for method, _ in self.calls if not method.startswith("prov_")]
