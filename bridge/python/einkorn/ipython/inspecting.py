"""Completion, inspection and completeness as ipykernel answers them: IPython's, with its metadata.

A cursor counts code points; beyond the end of the code, and negative, it means the end.  All may be
called from any thread, as VS Code does: IPython's completer keeps the request in itself and changes
the warning filters meanwhile, so one is done after the other.  Both run code of the user's objects;
the kernel interrupts them when their time is over, and the completer answers with what it has.
It has the names of the session from jedi; where that takes too long, they are looked up without.
"""

import contextlib
import re
import threading

from IPython.core.completer import Completion, provisionalcompleter, rectify_completions
from IPython.utils.tokenutil import token_at_cursor

_lock = threading.RLock()


def complete(shell, code, cursor):
    """Return the content of a complete_reply (messaging spec, "Completion")."""
    cursor = _inside(code, cursor)
    interrupts, answers = [], []
    with _lock, provisionalcompleter(), _noting(shell.Completer, interrupts, answers):
        every = list(shell.Completer.completions(code, cursor))
        if interrupts:
            every += _names(shell.Completer, code, cursor)
        elif not every and not answers and not _is_in_string(code, cursor):
            every = _without_jedi(shell.Completer, code, cursor)
        found = list(rectify_completions(code, every))
    types = [
        {
            "start": item.start,
            "end": item.end,
            "text": item.text,
            "type": item.type,
            "signature": item.signature,
        }
        for item in found
    ]
    return {
        "status": "ok",
        "matches": [item.text for item in found],
        "cursor_start": found[0].start if found else cursor,
        "cursor_end": found[0].end if found else cursor,
        "metadata": {"_jupyter_types_experimental": types},
    }


@contextlib.contextmanager
def _noting(completer, interrupts, answers):
    """Note interrupts of jedi and of what comes after it: the completer keeps them for itself.

    Note also that jedi answered: where it was not asked, or has failed, it returns an empty list.
    """
    jedi, rest = completer._jedi_matches, completer._completions

    def jedi_matches(*args, **kwargs):
        try:
            found = jedi(*args, **kwargs)
        except KeyboardInterrupt as error:
            interrupts.append(error)
            raise
        if not isinstance(found, _NOTHING):
            answers.append(found)
        return found

    def completions(*args, **kwargs):
        try:
            yield from rest(*args, **kwargs)
        except KeyboardInterrupt as error:
            interrupts.append(error)
            raise

    vars(completer).update(_jedi_matches=jedi_matches, _completions=completions)
    try:
        yield
    finally:
        del completer._jedi_matches, completer._completions


_NOTHING = type(iter([]))


def _is_in_string(code, cursor):
    """Whether an odd number of quotes stands before the cursor in its line: jedi is not asked there."""
    line = code[:cursor].rpartition("\n")[2]
    return any(line.count(quote) % 2 for quote in "'\"")


def _without_jedi(completer, code, cursor):
    """Return completions that jedi has no part in.  It gives none where it cannot write its cache."""
    if not completer.use_jedi:
        return []
    completer.use_jedi = False
    try:
        return list(completer.completions(code, cursor))
    finally:
        completer.use_jedi = True


def _names(completer, code, cursor):
    """Return completions of a plain name, which ask no object anything."""
    word = re.search(r"(?<![\w.])\w+$", code[:cursor])
    names = completer.global_matches(word[0]) if word else ()
    return [Completion(word.start(), cursor, name, type="<unknown>") for name in dict.fromkeys(names)]


def inspect(shell, code, cursor, detail_level=0, omit_sections=()):
    """Return the content of an inspect_reply (messaging spec, "Introspection")."""
    name = token_at_cursor(code, _inside(code, cursor))
    try:
        data = dict(shell.object_inspect_mime(name, detail_level, omit_sections))
    except KeyError:
        data = {}
    found = bool(data)
    if not shell.enable_html_pager:
        data.pop("text/html", None)
    return {"status": "ok", "found": found, "data": data, "metadata": {}}


def is_complete(shell, code):
    """Return the content of an is_complete_reply (messaging spec, "Code completeness")."""
    status, indent = shell.input_transformer_manager.check_complete(code)
    if status == "incomplete":
        return {"status": status, "indent": " " * (indent or 0)}
    return {"status": status}


def _inside(code, cursor):
    return cursor if cursor is not None and 0 <= cursor <= len(code) else len(code)
