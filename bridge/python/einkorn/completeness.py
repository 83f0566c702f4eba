"""Whether a client may run what was typed so far (messaging spec, "Code completeness").

The compiler itself tells: with ALLOW_INCOMPLETE it says whether an error is only that the text
ends too early.  On top of that comes the rule of interactive interpreters that an indented block
goes on until a blank line.
"""

import re

from .completion_scan import Scan

_TOP_LEVEL_AWAIT, _ONLY_AST, _ALLOW_INCOMPLETE = 0x2000, 0x400, 0x4000

# IPython's commands.  They are no Python, but complete: running them gives the better message.
_COMMAND = re.compile(r"^([ \t]*)(?:(?:[!?]|%%?[^\W\d]).*|[%*\w.]+\?\??[ \t]*)$", re.MULTILINE)


def is_complete(code):
    """Return the content of an is_complete_reply for ``code`` (str): a dict; runs nothing."""
    code = code.replace("\r\n", "\n").replace("\r", "\n")
    closed = "\n" in code and not code.rpartition("\n")[2].strip()
    if code.startswith("%%"):
        return {"status": "complete"} if closed else {"status": "incomplete", "indent": ""}
    status = _status(code, closed)
    if status == "invalid" and _COMMAND.search(code):
        status = _status(_COMMAND.sub(r"\1pass", code), closed)
    if status == "incomplete":
        return {"status": status, "indent": " " * _indent(code)}
    return {"status": status}


def _status(code, closed):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            flags = _TOP_LEVEL_AWAIT | _ALLOW_INCOMPLETE
            tree = compile(code, "<input>", "exec", flags | _ONLY_AST, True)
            compile(tree, "<input>", "exec", flags, True)  # finds what the parser does not
        except SyntaxError as error:
            return "incomplete" if error.msg == "incomplete input" else "invalid"
        except (ValueError, OverflowError, RecursionError, MemoryError):
            return "invalid"
    return "incomplete" if not closed and _ends_in_block(tree, code) else "complete"


def _ends_in_block(tree, code):
    """Does the last line of the code belong to an indented block?"""
    last = _last(tree)
    while (inner := _last(last)) is not None:
        last = inner
    if last is None:
        return False
    return code.split("\n")[last.lineno - 1][:1] in (" ", "\t", "\f")


def _last(node):
    """Return the last statement (or handler, or case) directly within ``node``, or None."""
    for field in ("finalbody", "orelse", "handlers", "cases", "body"):
        inner = getattr(node, field, None)
        if isinstance(inner, list) and inner:
            return inner[-1]
    return None


def _indent(code):
    """Return by how many spaces the next line should be indented (a tab counts 4)."""
    scan = Scan(code)
    tokens = scan.tokens
    while tokens and tokens[-1].kind == "newline":
        tokens.pop()
    if tokens and tokens[-1].text == ":" and not scan.brackets and scan.string is None:
        start = len(tokens) - 1
        while start > 0 and tokens[start - 1].kind != "newline":
            start -= 1
        line = code.rfind("\n", 0, tokens[start].start) + 1
        return _width(code[line : tokens[start].start]) + 4
    lines = [line for line in code.split("\n") if line.strip()]
    return _width(lines[-1]) if lines else 0


def _width(line):
    return len(line[: len(line) - len(line.lstrip(" \t\f"))].replace("\t", "    "))
