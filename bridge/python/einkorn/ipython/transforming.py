"""Turning a cell into Python: IPython's way, without tokenizing cells in which that finds nothing.

IPython tokenizes each cell in Python, three times longer than the compiler needs for all of it, to
find ``%``, ``!`` and ``?`` outside of texts and comments.  A cell's first lines are in no text: their
magics and commands are turned into calls as they stand.  Where nothing that could count stands in
the other lines, the cell is done.
"""

import re

from IPython.core import inputtransformer2

# An escape at the start of a line, an assignment from a magic or a command, a question at the end.
# More than that is found in texts and comments: then IPython tokenizes the cell as ever.
_COMMAND = re.compile(r"[%!][A-Za-z_].*(?<!\\)\n")  # which ends with its line
_ESCAPES = re.compile(r"^ *[!?%,;/]|=[\s\\]*[!%]|\? *$", re.MULTILINE)
_INDENT = re.compile(r"^ *(?=[^ #\n])", re.MULTILINE)
_RARE = re.compile(r"[\t\f\r]")  # to be counted otherwise


class TransformerManager(inputtransformer2.TransformerManager):
    """IPython's, but faster."""

    def __init__(self):
        super().__init__()
        self._own = list(self.token_transformers)

    def do_token_transforms(self, lines):
        """Return the lines of a cell with their special syntax turned into Python's."""
        text = "".join(lines)
        if (
            self.token_transformers != self._own
            or text.count("\n") != len(lines)  # they end in something else
            or _RARE.search(text)
        ):
            return super().do_token_transforms(lines)
        done = []
        if "?" not in text:  # which could make something else of a line that begins with a magic
            while len(done) < len(lines) and _COMMAND.fullmatch(lines[len(done)]):
                done += inputtransformer2.EscapedCommand((1, 0)).transform([lines[len(done)]])
        rest = "".join(lines[len(done) :])
        if not _ESCAPES.search(rest) and _dedents_match(rest):
            return done + lines[len(done) :]
        return super().do_token_transforms(done + lines[len(done) :])


TransformerManager.__module__ = inputtransformer2.__name__


def _dedents_match(text):
    """Return whether each line goes back to where one before it began, if it goes back.

    Where one does not, the tokenizer may fail, and IPython shows that as it does.
    """
    levels = [0]
    for indent in _INDENT.findall(text):
        width = len(indent)
        while width < levels[-1]:
            levels.pop()
            if width > levels[-1]:
                return False
        if width > levels[-1]:
            levels.append(width)
    return True
