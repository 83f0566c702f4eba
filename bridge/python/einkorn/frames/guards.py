"""What a cell has left changed in the process, in words: see bridge/guards.c, which finds out.

A look is (environment, filters, figures): a dict of bytes, a list, and the sorted numbers of
pyplot's figures, None where pyplot is not loaded.
"""

import os

from _operator import is_  # `operator` may not be loaded, and `id` is an audit event

MAX_CHARACTERS = 40_000  # names and values of all changed variables; what is over is left out
MAX_VALUE = 1_000  # of one of them


def figures(managers):
    """Return the numbers of the figures that matplotlib._pylab_helpers has, oldest first."""
    try:
        return sorted(managers.Gcf.figs)
    except Exception:  # not there, or not yet
        return []


def report(before, now):
    """Return what differs between two looks; {} where nothing does."""
    isolation, told = {}, {}
    if before[0] != now[0]:
        isolation["environ"] = _environment_changes(before[0], now[0])
    if len(before[1]) != len(now[1]) or not all(map(is_, before[1], now[1])):
        isolation["warnings_filters"] = "mutated"
    old, new = before[2] or [], now[2] or []
    if old != new:
        told["matplotlib"] = {
            "leaked": [number for number in new if number not in old],
            "closed": [number for number in old if number not in new],
        }
    if isolation:
        told["isolation"] = isolation
    return told


def _environment_changes(before, now):
    room = MAX_CHARACTERS
    added, removed = {}, []
    for name, value in now.items():
        if before.get(name) != value:
            name, value = os.fsdecode(name), _cut(os.fsdecode(value))
            room -= len(name) + len(value)
            if room >= 0:
                added[name] = value
    for name in before:
        if name not in now:
            name = os.fsdecode(name)
            room -= len(name)
            if room >= 0:
                removed.append(name)
    return {"added_or_changed": added, "removed": removed}


def _cut(value):
    return value if len(value) <= MAX_VALUE else value[: MAX_VALUE - 1] + "…"
