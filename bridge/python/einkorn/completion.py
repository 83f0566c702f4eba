"""What can stand at a position in a cell (messaging spec, "Completion").

Offered are: names of the namespace, builtins and keywords; attributes of dotted names; modules and
their members in import statements; keyword arguments within a call; keys in subscripts; and paths
in strings.  Nothing is called and nothing of the user's imported; see completion_lookup for what
user code can run all the same.
"""

import builtins
import sys
from keyword import kwlist

from . import completion_lookup as lookup
from . import completion_modules, completion_strings
from .completion_lookup import MISSING, Deadline
from .completion_scan import NAME, Scan, chain, ends_operand

SECONDS = 0.5  # for all of one request; what is not known by then is left out
MAX_MATCHES = 1000

_SOFT_KEYWORDS = ("case", "match", "type")
_IN_EXPRESSION = ("False", "None", "True", "await", "lambda", "not", "yield")
_AFTER_OPERAND = ("and", "as", "else", "for", "from", "if", "import", "in", "is", "not", "or")
_AFTER = {"not": ("in",), "yield": ("from",), "async": ("def", "for", "with")}
_NEW_NAME = ("def", "class", "as")  # after these a name is made up


class _Match:
    """One proposal: its text, its type, or how to find (``find()``) the object it stands for."""

    def __init__(self, text, kind=None, find=None, bound=False):
        self.text, self.kind, self.find, self.bound = text, kind, find, bound

    def described(self, deadline):
        """Return (type, signature), as far as there is time for it."""
        if self.kind is not None:
            return self.kind, ""
        if deadline.over():
            return "<unknown>", ""
        try:
            value = self.find()
            return lookup.kind(value), lookup.brief(value, self.bound)
        except Exception:  # an object that fights back costs its own type, not the others'
            return "<unknown>", ""


def complete(code, cursor, namespace):
    """Return the content of a complete_reply (a dict).

    ``cursor`` counts code points; beyond the end, and negative, it means the end.  ``namespace``
    is the dict of the user's names.
    """
    import warnings

    if not 0 <= cursor <= len(code):
        cursor = len(code)
    request = _Request(code, cursor, namespace)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what is deprecated nobody made use
        start, matches = request.matches()
        del matches[MAX_MATCHES:]
        types = []
        for match in matches:
            kind, signature = match.described(request.deadline)
            types.append(
                {"start": start, "end": cursor, "text": match.text, "type": kind,
                 "signature": signature}
            )  # fmt: skip
    return {
        "status": "ok",
        "matches": [match.text for match in matches],
        "cursor_start": start,
        "cursor_end": cursor,
        "metadata": {"_jupyter_types_experimental": types},
    }


class _Request:
    """The work on one request."""

    def __init__(self, code, cursor, namespace):
        self.namespace = namespace
        self.deadline = Deadline(SECONDS)
        self.after = code[cursor:]
        self.cursor = cursor
        self.scan = Scan(code[:cursor])
        self.tokens = self.scan.tokens

    def matches(self):
        """Return (start of the text to replace, list of _Match)."""
        if self.scan.comment:
            return self.cursor, []
        if self.scan.string is not None:
            return self._in_string()
        prefix = self._take_prefix()
        start = self.cursor - len(prefix)
        if prefix[:1].isdecimal():
            return start, self._keys(prefix)
        return start, self._in_code(prefix)

    def _in_string(self):
        bracket = completion_strings.subscripted(self.scan)
        if bracket is None:
            start, found = completion_strings.paths(self.scan, self.deadline)
            return start, [_Match(text, "path") for text in found]
        start, found = completion_strings.string_keys(
            self.scan, bracket, self.after, self.namespace
        )
        return start, [_Match(text, "instance") for text in found]

    def _take_prefix(self):
        """Take the token that the cursor touches off the tokens, if it is a name or a number."""
        if self.tokens:
            kind, text, start = self.tokens[-1]
            if kind in ("name", "number") and start + len(text) == self.cursor:
                self.tokens.pop()
                return text
        return ""

    def _in_code(self, prefix):
        first = self.tokens[self.scan.statement].text if self._in_statement() else ""
        if first in ("import", "from"):
            return self._imports(prefix)
        if first in ("%", "!"):
            return []  # a magic command, which is not Python
        if self._before() == ".":
            return self._attributes(prefix)
        if not prefix and (found := self._keys("")):
            return found
        return self._parameters(prefix) + self._names(prefix)

    def _in_statement(self):
        return len(self.tokens) > self.scan.statement

    def _before(self):
        """Return the text of the token before, "" at the beginning of a statement."""
        return self.tokens[-1].text if self._in_statement() else ""

    # --- Names ------------------------------------------------------------------------------

    def _names(self, prefix):
        before = self._before()
        if before in _NEW_NAME or (before in ("(", ",", "*") and self._heading() == "def"):
            return []
        words, names = (), ()
        if self._after_operand():
            words = _AFTER_OPERAND
        else:
            words = _IN_EXPRESSION + _AFTER.get(before, ())
            names = {*list(vars(builtins)), *list(self.namespace)}
        if not before:
            words = (*kwlist, *_SOFT_KEYWORDS)
        found = {}
        for name in names:
            if type(name) is str and _begins(name, prefix):
                found[name] = _Match(name, find=lambda name=name: self._value(name))
        for word in words:
            if word.startswith(prefix):
                found[word] = _Match(word, "keyword")
        return _ordered(found.values())

    def _value(self, name):
        return lookup.resolve([("name", name)], self.namespace)

    def _after_operand(self):
        """Is the text before the cursor an expression, so that no other can follow at once?"""
        if not self._in_statement() or not ends_operand(self.tokens[-1]):
            return False
        last = len(self.tokens) - 1
        return not (last == self.scan.statement and self.tokens[last].text in _SOFT_KEYWORDS)

    def _heading(self):
        """Return "def" or "class" if the innermost bracket belongs to such a line's head."""
        opening = self.scan.brackets[-1] if self.scan.brackets else 0
        text = self.tokens[opening - 2].text if opening >= 2 else ""
        return text if text in ("def", "class") else ""

    # --- Attributes -------------------------------------------------------------------------

    def _attributes(self, prefix):
        parts = chain(self.tokens, len(self.tokens) - 1)
        value = lookup.resolve(parts, self.namespace)
        if value is MISSING:
            return []
        bound = lookup.kind(value) not in ("class", "module")
        return _ordered(
            _Match(name, find=lambda name=name: lookup.static(value, name), bound=bound)
            for name in set(lookup.attributes(value))
            if _begins(name, prefix)
        )

    # --- Imports ----------------------------------------------------------------------------

    def _imports(self, prefix):
        first, *words = [token.text for token in self.tokens[self.scan.statement :]]
        if first == "from" and "import" in words:
            at = words.index("import")
            if words[-1] in ("import", "(", ","):
                return self._members("".join(words[:at]), prefix)
            return self._words(prefix, "as") if words[-2] != "as" else []
        if first == "import":
            while "," in words:
                del words[: words.index(",") + 1]
        if not words:
            found = completion_modules.modules(prefix, self.deadline)
        elif words[-1] != ".":
            word = "as" if first == "import" else "import"
            return [] if "as" in words else self._words(prefix, word)
        elif words[0] == ".":
            return []  # relative to a package, in which no cell is
        else:
            package = "".join(words[:-1])
            found = completion_modules.submodules(package, prefix, self.deadline)
        return [_Match(name, "module") for name in found]

    def _words(self, prefix, *words):
        return [_Match(word, "keyword") for word in words if word.startswith(prefix)]

    def _members(self, module, prefix):
        if module.startswith("."):
            return []
        loaded = sys.modules.get(module, MISSING)
        return [
            _Match(name, find=lambda name=name: lookup.static(loaded, name))
            for name in completion_modules.members(module, prefix, self.deadline)
        ]

    # --- Calls and subscripts ---------------------------------------------------------------

    def _parameters(self, prefix):
        """Keyword arguments of the call that is open."""
        if not self.scan.brackets or self._before() not in ("(", ","):
            return []
        opening = self.scan.brackets[-1]
        if self.tokens[opening].text != "(" or self._heading():
            return []
        value = lookup.resolve(chain(self.tokens, opening), self.namespace)
        if value is MISSING or not callable(value):
            return []
        found = lookup.signature(value)
        if found is None:
            return []
        given = self._given(opening)
        ending = "" if self.after[:1] == "=" else "="
        return [
            _Match(item.name + ending, "param")
            for item in found.parameters.values()
            if item.kind in (item.POSITIONAL_OR_KEYWORD, item.KEYWORD_ONLY)
            and item.name not in given
            and item.name.startswith(prefix)
        ]

    def _given(self, opening):
        """The names that stand as ``name=`` behind the bracket."""
        tokens = self.tokens[opening + 1 :]
        pairs = zip(tokens, tokens[1:])
        return {name.text for name, sign in pairs if name.kind == NAME and sign.text == "="}

    def _keys(self, prefix):
        """Keys of the object whose subscript begins here."""
        bracket = completion_strings.subscripted(self.scan)
        if bracket is None:
            return []
        found = completion_strings.plain_keys(
            self.scan, bracket, prefix, self.after, self.namespace
        )
        return [_Match(text, "instance") for text in found]


def _begins(name, prefix):
    """Is this name to be offered?  Private ones only to those who begin with an underscore."""
    if not name.startswith(prefix) or (name[:1] == "_" and prefix[:1] != "_"):
        return False
    return name.isidentifier()


def _ordered(matches):
    return sorted(matches, key=lambda match: (match.text.startswith("_"), match.text.lower()))
