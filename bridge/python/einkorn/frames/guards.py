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
    environment = _environment()
    _before = None if _off(environment) else (dict(environment), list(_filters()), _figures())


def after_cell():
    """Return what the cell has changed; {} if nothing, or nobody wants to know."""
    global _before
    before, _before = _before, None
    environment = _environment()
    if before is None or _off(environment):
        return {}
    filters, figures = _filters(), _figures()
    same_filters = list(map(id, before[1])) == list(map(id, filters))
    if before[0] == environment and same_filters and before[2] == figures:
        return {}  # as nearly always
    return _report(before, dict(environment), same_filters, figures)


def _report(before, environment, same_filters, figures):
    isolation, report = {}, {}
    if before[0] != environment:
        isolation["environ"] = _environment_changes(before[0], environment)
    if not same_filters:
        isolation["warnings_filters"] = "mutated"
    if before[2] != figures:
        report["matplotlib"] = {
            "leaked": [number for number in figures if number not in before[2]],
            "closed": [number for number in before[2] if number not in figures],
        }
    if isolation:
        report["isolation"] = isolation
    return report


def _environment():
    """Return the dict behind the environment, of bytes: decoding all of it takes longer."""
    found = getattr(getattr(os, "environ", None), "_data", None)
    return found if type(found) is dict else {}  # a cell may have put something else there


def _off(environment):
    return environment.get(b"OPENAI4S_GUARDS_OFF") == b"1"


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


def _filters():
    """Return the list that is in force, which is C's until ``warnings`` is imported.

    It is compared by identity: filters hold classes, whose ``==`` may be a cell's.
    """
    found = getattr(sys.modules.get("warnings", _warnings), "filters", None)
    return found if type(found) is list else []


def _figures():
    """Return the numbers of pyplot's figures, oldest first."""
    managers = sys.modules.get("matplotlib._pylab_helpers")
    if managers is None:
        return []
    try:
        return sorted(managers.Gcf.figs)
    except Exception:  # not there, or not yet
        return []
