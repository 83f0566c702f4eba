"""Exceptions as the ``error`` message shows them: name, value, and a traceback in IPython's layout.

The traceback is a list of strings with ANSI colours (messaging spec, "Execution errors"): a rule
with the name of the exception, one item per frame, last ``name: value`` with its notes.  Causes and
contexts come before, oldest first, with CPython's sentences between them.

Exceptions are user code: their methods may fail, lie, or answer with gigabytes.  What is read of
them is read through ``BaseException``'s own descriptors where there is one, every text is cut to a
bound, and whatever still goes wrong ends in a shorter description.  Frames of this package, of the
``-c`` string that started the runner, and of IPython and the event loop above a cell are left out.
"""

import sys

from . import sources

MAX_VALUE = 100_000  # characters of evalue
MAX_LINE = 200  # characters of a source line
NO_MAGICS = "Magic commands (%, !, ?) are IPython's; this kernel runs plain Python."
MAX_FRAMES = 50  # frames shown per exception
MAX_CHAIN = 10  # exceptions shown of one chain
MAX_GROUP = 50_000  # characters of the members of an exception group
CONTEXT = 2  # source lines shown before and after the current one

RED, GREEN, CYAN, BOLD, OFF = "\x1b[31m", "\x1b[32m", "\x1b[36m", "\x1b[1;32m", "\x1b[0m"
WIDTH = 75

_CAUSE = "\nThe above exception was the direct cause of the following exception:\n"
_CONTEXT = "\nDuring handling of the above exception, another exception occurred:\n"

_OWN = __file__.rpartition("/")[0] + "/"


def describe(exception):
    """Return (ename, evalue, traceback) of an exception; traceback is a list of str.

    Never raises.  ename is the class's bare name, evalue ``str(exception)``, at most MAX_VALUE
    characters and a remark that tells how many are left out.
    """
    name = _name(exception)
    try:
        value = _value(exception)
    except BaseException:  # an interrupt of its __str__
        return name, "", [f"{RED}{name}{OFF}"]
    try:
        return name, value, _traceback(exception)
    except BaseException:
        return name, value, [f"{RED}{name}{OFF}: {value}"]


def value(exception):
    """Return ``str(exception)`` as an exact str, bounded; never raises an Exception."""
    try:
        return _bounded(str(exception))
    except Exception:
        return "<exception str() failed>"


def _traceback(exception):
    items = []
    chain = _chain(exception)
    for position, (link, sentence) in enumerate(chain):
        if len(chain) > MAX_CHAIN and position == MAX_CHAIN // 2:
            items.append(f"\n... ({len(chain) - MAX_CHAIN} exceptions skipped)\n")
        if MAX_CHAIN // 2 <= position < len(chain) - MAX_CHAIN // 2 and len(chain) > MAX_CHAIN:
            continue
        items += _one(link)
        if sentence:
            items.append(sentence)
    return items


def _chain(exception):
    """Return [(exception, sentence that follows it or None)], oldest first."""
    chain = [(exception, None)]
    seen = {id(exception)}
    while True:
        sentence = _CAUSE
        older = BaseException.__cause__.__get__(exception)
        if older is None and not BaseException.__suppress_context__.__get__(exception):
            sentence = _CONTEXT
            older = BaseException.__context__.__get__(exception)
        if older is None or id(older) in seen:
            return chain[::-1]
        seen.add(id(older))
        chain.append((older, sentence))
        exception = older


def _one(exception):
    """Return the items for one exception of the chain."""
    name = _name(exception)
    frames = _frames(BaseException.__traceback__.__get__(exception))
    syntax = _syntax(exception) if issubclass(type(exception), SyntaxError) else None
    items = []
    if frames or syntax is None:
        title = "Traceback (most recent call last)"
        space = " " * max(WIDTH - len(name) - len(title), 1)
        items += [f"{RED}{'-' * WIDTH}{OFF}", f"{RED}{name}{OFF}{space}{title}"]  # as IPython's
    items += _frame_items(frames)
    if syntax:
        items.append(syntax)
    value = _message(exception) if syntax else _value(exception)
    last = f"{RED}{name}{OFF}: {value}"
    for note in _notes(exception):
        last += f"\n{note}"
    if syntax and _is_magic(exception):
        last += f"\n{NO_MAGICS}"
    if issubclass(type(exception), BaseExceptionGroup):
        last += _members(exception)
    items.append(last)
    return items


# --- Frames -------------------------------------------------------------------------------------


def _frames(traceback):
    """Return [(frame, line number)] of a traceback, outermost first, without those of ours."""
    frames = []
    while traceback is not None:
        frames.append((traceback.tb_frame, traceback.tb_lineno))
        traceback = traceback.tb_next
    start = 0
    while start < len(frames) and _outer(frames[start][0].f_code.co_filename):
        start += 1
    return [item for item in frames[start:] if not item[0].f_code.co_filename.startswith(_OWN)]


def _outer(filename):
    """Is this a file that can stand between the runner and a cell?"""
    if filename.startswith(_OWN) or filename == "<string>":
        return True
    for name in ("asyncio", "IPython.core"):
        package = getattr(sys.modules.get(name), "__file__", None)
        if package is not None and filename.startswith(package.rpartition("/")[0] + "/"):
            return True
    return False


def _frame_items(frames):
    """Return one item per frame; repeated and superfluous ones are counted, not shown."""
    items = []
    previous, repeated = None, 0
    folded = []  # (frame, line, times it was repeated after the third)
    for frame, line in frames:
        here = (frame.f_code, line)
        repeated = repeated + 1 if here == previous else 0
        previous = here
        if repeated < 3:
            folded.append([frame, line, 0])
        else:
            folded[-1][2] += 1
    half = MAX_FRAMES // 2
    for position, (frame, line, times) in enumerate(folded):
        if half <= position < len(folded) - half:
            if position == half:
                items.append(f"... ({len(folded) - 2 * half} frames skipped)\n")
            continue
        text = _frame(frame, line)
        if times:
            text += f"  [Previous line repeated {times} more time{'s' if times > 1 else ''}]\n"
        items.append(text)
    return items


def _frame(frame, line):
    """Return the heading of a frame and the lines around its current one."""
    code = frame.f_code
    cell = sources.label(code.co_filename)
    if cell:
        place = f"{cell[:5]}{GREEN}{cell[5:]}, line {line}{OFF}"
        text = sources.lines(code.co_filename)
    else:
        place = f"File {GREEN}{_cut(code.co_filename)}:{line}{OFF}"
        text = _file_lines(code.co_filename, frame.f_globals)
    if code.co_name != "<module>":
        count = code.co_argcount + code.co_kwonlyargcount
        count += bool(code.co_flags & 4) + bool(code.co_flags & 8)  # *args, **kwargs
        arguments = ", ".join(code.co_varnames[:count])
        place += f", in {CYAN}{_cut(code.co_qualname)}({_cut(arguments)}){OFF}"
    return place + "\n" + _context(text, line)


def _file_lines(name, namespace):
    import linecache

    linecache.checkcache(name)
    return linecache.getlines(name, namespace)


def _context(text, line):
    """Return the lines around ``line`` (from 1) with their numbers and an arrow at it."""
    if line is None or not 1 <= line <= len(text):
        return ""
    shown = []
    for number in range(max(line - CONTEXT, 1), min(line + CONTEXT, len(text)) + 1):
        code = _cut(text[number - 1].rstrip())
        if number == line:
            arrow = "-" * max(5 - len(str(number)), 0) + "> "
            shown.append(f"{BOLD}{arrow}{number}{OFF} {code}\n")
        else:
            shown.append(f"{GREEN}{number:7}{OFF} {code}\n")
    return "".join(shown)


# --- Syntax errors ------------------------------------------------------------------------------


def _syntax(error):
    """Return place, line and caret of a SyntaxError; "" where it has no position.

    ``offset`` counts characters from 1 (CPython converts from bytes); it and its like may be
    anything at all where user code made the exception.
    """
    line = _whole(_read(error, SyntaxError.lineno))
    if line is None:
        return ""
    name = _read(error, SyntaxError.filename)
    name = name if isinstance(name, str) else "<string>"
    label = sources.label(name)
    if label:
        place = f"  {label[:5]}{GREEN}{label[5:]}, line {line}{OFF}"
    else:
        place = f"  File {GREEN}{_cut(name)}:{line}{OFF}"
    text = _read(error, SyntaxError.text)
    if not isinstance(text, str):
        known = sources.lines(name)
        text = known[line - 1] if 1 <= line <= len(known) else None
    if text is None:
        return place
    code = text.split("\n", 1)[0].rstrip()
    bare = code.lstrip(" \t\f")
    start = _whole(_read(error, SyntaxError.offset))
    if start is None or start < 1:
        return f"{place}\n    {_cut(bare)}"
    indent = len(code) - len(bare)
    start = min(max(start - 1 - indent, 0), len(bare))
    end = (_whole(_read(error, SyntaxError.end_offset)) or 0) - 1 - indent
    if _whole(_read(error, SyntaxError.end_lineno)) not in (None, line):
        end = len(bare)
    if len(bare) > MAX_LINE and start > MAX_LINE // 2:  # show the part around the place
        left_out = start - MAX_LINE // 2
        bare = "…" + bare[left_out + 1 :]
        start, end = start - left_out, end - left_out
    bare = _cut(bare)
    blank = "".join(c if c.isspace() else " " for c in bare[:start])
    carets = "^" * max(min(end, len(bare)) - start, 1)
    return f"{place}\n    {bare}\n    {blank}{RED}{carets}{OFF}"


def _is_magic(error):
    """Is the line of this SyntaxError a cell's, and what IPython would take for a magic command?"""
    name, line = _read(error, SyntaxError.filename), _whole(_read(error, SyntaxError.lineno))
    if not isinstance(name, str) or not line or not sources.label(name):
        return False
    known = sources.lines(name)
    text = known[line - 1].strip() if 1 <= line <= len(known) else ""
    magic = text.startswith("%") and (text[1:2].isalpha() or text[1:2] == "%")
    return magic or text.startswith("!") or text.endswith("?")


def _message(error):
    """Return a SyntaxError's message without the place that ``str`` adds to it."""
    message = _read(error, SyntaxError.msg)
    return _bounded(message) if isinstance(message, str) else _bounded(str(error))


def _read(exception, descriptor):
    return descriptor.__get__(exception)


def _whole(value):
    return value if type(value) is int else None


# --- Texts --------------------------------------------------------------------------------------


def _name(exception):
    return type.__dict__["__name__"].__get__(type(exception))


def _value(exception):
    """Return ``str(exception)``, bounded.

    A SyntaxError's has the file's name in it.  A cell's own name tells nothing but how often cells
    were run, and would make the same error of the same cell another one each time.
    """
    try:
        if issubclass(type(exception), SyntaxError):
            name, line = _read(exception, SyntaxError.filename), _read(exception, SyntaxError.lineno)
            if isinstance(name, str) and type(line) is int and sources.label(name):
                return f"{_message(exception)} (line {line})"
    except Exception:
        pass
    return value(exception)


def _bounded(text):
    """Return ``text`` as an exact str of at most MAX_VALUE characters and a remark."""
    text = str.__str__(text)
    if len(text) <= MAX_VALUE:
        return text
    return f"{text[:MAX_VALUE]}... ({len(text) - MAX_VALUE} characters left out)"


def _cut(text):
    return text if len(text) <= MAX_LINE else text[: MAX_LINE - 1] + "…"


def _notes(exception):
    """Return the exception's notes (PEP 678) as CPython prints them."""
    try:
        notes = getattr(exception, "__notes__", None)
        if notes is None:
            return []
        if not isinstance(notes, (list, tuple)):
            return [_bounded(repr(notes))]
        return [_bounded(note if isinstance(note, str) else str(note)) for note in notes[:100]]
    except Exception:
        return ["<__notes__ failed>"]


def _members(group):
    """Return the members of an exception group in CPython's layout, from its first border on."""
    import traceback

    try:
        described = traceback.TracebackException.from_exception(group)
        described.stack.clear()
        described.__cause__ = described.__context__ = described.__notes__ = None
        text = "".join(described.format())
    except Exception:
        members = BaseExceptionGroup.exceptions.__get__(group)
        names = ", ".join(_name(member) for member in members[:15])
        return f"\n  (members: {names})"
    text = "\n" + text[text.find("  +-+-") :].rstrip("\n")
    if len(text) > MAX_GROUP:
        text = f"{text[:MAX_GROUP]}\n  ... ({len(text) - MAX_GROUP} characters left out)"
    return text
