"""Where a position in Python text stands: in code, a string or a comment, and in which brackets.

The text before a cursor is nearly always unfinished, which ``tokenize`` does not take (and at which
its versions fail differently).  This scanner takes any text.  It knows f-strings, whose replacement
fields are code again, and forgets a string in single quotes at the end of its line, so that one
mistake does not swallow the lines below.
"""

import re
from keyword import iskeyword

NAME, NUMBER, STRING, OPERATOR, NEWLINE = "name", "number", "string", "op", "newline"

MAX_CHARACTERS = 300_000  # of the text that are looked at, the last ones; from a line's start

_TOKEN = re.compile(
    r"""(?P<blank> [ \t\f]+ | \\(?:\r\n|\r|\n) | \#[^\r\n]* )
      | (?P<quote> (?P<prefix> [rR]?[bBfFtT]? | [bBfFtT][rR] | [uU] ) (?: '''|\"""|'|" ) )
      | (?P<number> \.?\d (?: [eE][+-] | [\w.] )* )
      | (?P<name> \w+ )
      | (?P<newline> \r\n | \r | \n )
      | (?P<op> [=!<>:+\-*/%@&|^]=? | . )""",
    re.VERBOSE | re.DOTALL,
)

_OPENING, _CLOSING = "([{", ")]}"
_BLOCKS = frozenset(
    "async case class def elif else except finally for if match try while with".split()
)


class Token(tuple):
    """(kind, text, start): a token and where it starts, counted in the whole text."""

    __slots__ = ()
    kind = property(lambda self: self[0])
    text = property(lambda self: self[1])
    start = property(lambda self: self[2])


class _Literal:
    """A string that is open: ``body`` is where its text begins; ``fields`` only for f-strings."""

    def __init__(self, start, body, prefix, quote):
        self.start, self.body, self.prefix, self.quote = start, body, prefix, quote
        self.formatted = "f" in prefix or "t" in prefix
        self.fields = []  # for each open replacement field: how many brackets were open in it
        self.in_text = True  # and not in the code of a field


class Scan:
    """What was found in ``text``; ``end`` is its length.

    tokens      list of Token; a NEWLINE stands only where a statement may end
    brackets    indices into tokens of the brackets that are open, outermost first
    statement   index into tokens at which the last statement begins (or would begin)
    comment     True if the text ends within a comment
    string      None, or the string that the text ends in: ``prefix`` (lower case), ``quote``,
                ``start``, ``body`` (where its text begins)
    """

    def __init__(self, text):
        self.tokens, self.brackets, self.statement = [], [], 0
        self.comment, self.string = False, None
        self.text, self.end = text, len(text)
        self._formatted = []  # f-strings that are open
        position = 0
        if len(text) > MAX_CHARACTERS:
            position = text.find("\n", len(text) - MAX_CHARACTERS) + 1
        while position < self.end:
            position = self._step(position)
        if self.string is None and self._formatted and self._formatted[-1].in_text:
            self.string = self._formatted[-1]

    def _step(self, position):
        """Take one token, or a part of an f-string's text; return where the next one begins."""
        literal = self._formatted[-1] if self._formatted else None
        if literal and literal.in_text:
            return self._formatted_text(literal, position)
        found = _TOKEN.match(self.text, position)
        kind, text, end = found.lastgroup, found.group(), found.end()
        if kind == "blank":
            self.comment = text.startswith("#") and end == self.end
        elif kind == "quote":
            prefix = found["prefix"].lower()
            literal = _Literal(position, end, prefix, text[len(prefix) :])
            if not literal.formatted:
                return self._plain_string(literal)
            self._formatted.append(literal)
        elif kind == "newline":
            self._newline(position)
        elif kind == "op":
            self._operator(text, position)
        else:
            self._add(kind, text, position)
        return end

    def _add(self, kind, text, position):
        self.tokens.append(Token((kind, text, position)))

    def _plain_string(self, literal):
        if len(literal.quote) == 3:
            rest = rf"(?:[^\\]|\\.)*?({literal.quote}|\Z)"
        else:
            rest = rf"(?:[^\\\r\n{literal.quote}]|\\(?:\r\n|.))*({literal.quote}|)"
        found = re.compile(rest, re.DOTALL).match(self.text, literal.body)
        end = found.end() if found else self.end  # a backslash at the very end
        if not found or (not found[1] and end >= self.end - self.text.endswith("\\")):
            self.string = literal
            return self.end
        self._add(STRING, self.text[literal.start : end], literal.start)
        return end

    def _formatted_text(self, literal, position):
        """Go on in the text of an f-string: to its end, the next field or the end of one."""
        text = self.text
        if text.startswith(literal.quote, position):
            return self._close(literal, position + len(literal.quote))
        pair = text[position : position + 2]
        if pair in ("{{", "}}") and not literal.fields:
            return position + 2
        if pair[0] == "{":
            self._operator("{", position)
            literal.fields.append(len(self.brackets))
            literal.in_text = False
        elif pair[0] == "}" and literal.fields:  # after a format specification
            self._end_field(literal, position)
        elif pair[0] == "\\":
            return position + 2
        elif pair[0] in "\r\n" and len(literal.quote) == 1:
            return self._close(literal, position)
        return position + 1

    def _end_field(self, literal, position):
        literal.fields.pop()
        self._operator("}", position)
        literal.in_text = True

    def _close(self, literal, end):
        """End an f-string: it becomes one token, that replaces those of its fields."""
        self._formatted.pop()
        while self.tokens and self.tokens[-1].start >= literal.start:
            self.tokens.pop()
        while self.brackets and self.brackets[-1] >= len(self.tokens):
            self.brackets.pop()
        self._add(STRING, self.text[literal.start : end], literal.start)
        return end

    def _newline(self, position):
        while self._formatted and len(self._formatted[-1].quote) == 1:
            self._close(self._formatted[-1], position)
        if not self.brackets:
            self._add(NEWLINE, "\n", position)
            self.statement = len(self.tokens)

    def _operator(self, text, position):
        literal = self._formatted[-1] if self._formatted else None
        if literal and literal.fields and len(self.brackets) == literal.fields[-1]:
            if text == "}" and not literal.in_text:
                self._end_field(literal, position)
                return
            if text[0] == ":":
                literal.in_text = True  # the format specification
        if text in _OPENING:
            self.brackets.append(len(self.tokens))
        elif text in _CLOSING and self.brackets:
            self.brackets.pop()
        self._add(OPERATOR, text, position)
        if not self.brackets and (text == ";" or (text == ":" and self._heads_block())):
            self.statement = len(self.tokens)

    def _heads_block(self):
        return self.tokens[self.statement].text in _BLOCKS


def ends_operand(token):
    """Can an operand end with this token, so that a bracket after it is a call or a subscript?"""
    if token.kind == NAME:
        return not iskeyword(token.text) or token.text in ("None", "True", "False")
    return token.kind in (NUMBER, STRING) or token.text in _CLOSING


def chain(tokens, end):
    """Return the dotted name that ends before index ``end`` of ``tokens``, or None.

    It is a list: first ("name", text) or ("literal", text), then ("attribute", name) and ("item",
    text of a literal) in order.  Anything else before the dots (a call, an operator) gives None.
    """
    parts = []
    position = end - 1
    while position >= 0:
        token = tokens[position]
        dotted = position > 0 and tokens[position - 1].text == "."
        if token.kind == NAME and dotted:
            parts.append(("attribute", token.text))
            position -= 2
        elif token.kind == NAME:
            if iskeyword(token.text):
                return None
            return [("name", token.text), *reversed(parts)]
        elif token.kind == STRING:
            return [("literal", token.text), *reversed(parts)]
        elif token.text == "]":
            opening, key = _constant_key(tokens, position)
            if opening is None:
                return None
            parts.append(("item", key))
            position = opening - 1
        else:
            return None
    return None


def _constant_key(tokens, position):
    """Return (index of the bracket, text of the key) of a subscript that ends at ``position``."""
    text = ""
    for opening in range(position - 1, max(position - 4, 0), -1):
        token = tokens[opening]
        if token.text == "[" and text and ends_operand(tokens[opening - 1]):
            return opening, text
        if token.kind not in (STRING, NUMBER) and token.text != "-":
            break
        text = token.text + text
    return None, None
