"""inspect_variables as its protocol tells it, written in plain Python for the tests to compare with."""

import hashlib
import json
import math

HALF = 32768
SCALARS = {type(None), bool, int, float, str, bytes}
BRACKETS = {list: "[]", tuple: "()", dict: "{}", set: "{}"}


def entry(name, value):
    kind = type(value)
    found = {"name": name[:160], "type": kind.__name__[:160]}
    if kind in SCALARS:
        found["kind"] = {str: "text", bytes: "bytes"}.get(kind, "scalar")
        if kind in (str, bytes):
            found["length"] = len(value)
        return {**found, "preview": preview(value), "fingerprint": digest(token(value))}
    if kind not in BRACKETS and kind is not frozenset:
        return found
    members = list(value.items() if kind is dict else value)[:12]
    plain = [part for member in members for part in (member if kind is dict else [member])]
    found["length"] = len(value)
    if any(type(part) not in SCALARS for part in plain):
        return {**found, "kind": "container"}
    found["kind"] = {list: "sequence", tuple: "sequence", dict: "mapping"}.get(kind, "set")
    return {**found, **summary(kind, members, len(value))}


def summary(kind, members, length):
    if kind is dict:
        tokens = [token(k) + b"=>" + token(v) for k, v in members]
        texts = [f"{text(k)}: {text(v)}" for k, v in members]
    else:
        tokens, texts = [token(member) for member in members], [text(member) for member in members]
    if kind in (set, frozenset):
        tokens, texts = sorted(tokens), sorted(texts)
    opening, closing = ("frozenset({", "})") if kind is frozenset else BRACKETS[kind]
    shown = opening + ", ".join(texts) + (", …" if length > 12 else "") + closing
    whole = f"{kind.__name__}:{length}:".encode() + b"|".join(tokens)
    return {"preview": shown[:240], "fingerprint": digest(whole)}


def digest(data):
    return hashlib.sha256(data).hexdigest()


def text(value):
    return json.dumps(preview(value), ensure_ascii=False)


def preview(value):
    if type(value) is int and value.bit_length() > 4096:
        return f"<integer {value.bit_length()} bits>"
    if type(value) is float and not math.isfinite(value):
        return "NaN" if value != value else "+Infinity" if value > 0 else "-Infinity"
    if type(value) is str and len(value) > 240:
        return value[:239] + "…"
    if type(value) is bytes:
        return "0x" + value[:48].hex() + ("…" if len(value) > 48 else "")
    return value


def token(value):
    if value is None:
        return b"none"
    if type(value) is bool:
        return b"bool:%d" % value
    if type(value) is int and value.bit_length() > 4096:
        sign = "negative" if value < 0 else "positive"
        return f"int-bounded:{value.bit_length()}:{value % 2**256}:{sign}".encode()
    if type(value) is int:
        return b"int:%d" % value
    if type(value) is float:
        special = {"NaN": "nan", "+Infinity": "+inf", "-Infinity": "-inf"}
        shown = preview(value)
        return b"float:" + (special[shown] if type(shown) is str else value.hex()).encode()
    if type(value) is bytes:
        return b"bytes:" + bounded(value)
    if len(value) <= 2 * HALF:
        return b"str:" + bounded(utf8(value))
    cut = utf8(value[:HALF]) + b"<...>" + utf8(value[-HALF:]) + str(len(value)).encode()
    return b"str:" + bounded(cut)


def utf8(value):
    return value.encode("utf-8", "surrogatepass")


def bounded(data):
    if len(data) <= 2 * HALF:
        return data
    return data[:HALF] + b"<...>" + data[-HALF:] + str(len(data)).encode()
