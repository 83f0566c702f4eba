"""What a cell leaves changed in the process: reported, never reverted.

Environment, the filters of ``warnings``, and pyplot's figures.  Nothing is imported for that:
a process that has not loaded pyplot has no figures.  ``OPENAI4S_GUARDS_OFF=1`` turns it off, from
the next look on.
"""

import os
import sys

import _warnings

MAX_CHARACTERS = 40_000  # names and values of all changed variables; what is over is left out
MAX_VALUE = 1_000  # of one of them

_before = None  # what there was when the cell began: (environment, filters, figures)


def before_cell():
    """Remember how things stand."""
    global _before
    _before = None if _off() else (_environment(), _filters(), _figures())


def after_cell():
    """Return what the cell has changed; {} if nothing, or nobody wants to know."""
    global _before
    before, _before = _before, None
    if before is None or _off():
        return {}
    environment, filters, figures = before
    isolation, report = {}, {}
    changed = _environment_changes(environment, _environment())
    if changed:
        isolation["environ"] = changed
    if not _same_items(filters, _filters()):
        isolation["warnings_filters"] = "mutated"
    now = _figures()
    if now != figures:
        report["matplotlib"] = {
            "leaked": [number for number in now if number not in figures],
            "closed": [number for number in figures if number not in now],
        }
    if isolation:
        report["isolation"] = isolation
    return report


def _off():
    return os.environ.get("OPENAI4S_GUARDS_OFF") == "1"


def _environment():
    """Return a copy of the environment, as the bytes that it is kept in: decoding takes longer."""
    try:
        return dict(os.environ._data)
    except AttributeError:  # a cell has put something else there
        return {}


def _environment_changes(before, now):
    if now == before:
        return None
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


def _filters():
    """Return a copy of the list that is in force, which is C's until ``warnings`` is imported."""
    return list(getattr(sys.modules.get("warnings", _warnings), "filters", ()))


def _same_items(before, now):
    """Compare by identity: filters hold classes, whose ``==`` may be a cell's."""
    return len(before) == len(now) and all(map(_is, before, now))


def _is(one, other):
    return one is other


def _figures():
    """Return the numbers of pyplot's figures, oldest first."""
    managers = sys.modules.get("matplotlib._pylab_helpers")
    try:
        return sorted(managers.Gcf.figs)
    except Exception:  # not there, or not yet
        return []
