"""Whether a cell's last statement ends in a semicolon, which hides its result.

The rule is IPython's: what counts is the last token before trailing comments and blank lines.  The
position where the last statement ends is asked from the parser; after it only blanks, comments and
semicolons can follow, so no tokenizer (``tokenize`` costs 5 ms at its first import) is needed.
"""


def silenced(code):
    """Return True if a semicolon follows the last statement of ``code`` (a cell that compiles)."""
    if not _possible(code):
        return False
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the runner's own compilation has told them already
        try:
            tree = compile(code, "<silenced>", "exec", 0x400 | 0x2000, True)  # AST, top-level await
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    if not tree.body:
        return False
    last = tree.body[-1]
    text = code.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    line = text[last.end_lineno - 1].encode("utf-8", "surrogatepass")  # columns count UTF-8 bytes
    rest = line[last.end_col_offset :].decode("utf-8", "surrogatepass")
    rest = "\n".join([rest] + text[last.end_lineno :])
    return rest.lstrip(" \t\f\\\n").startswith(";")


def _possible(code):
    """Cheaply tell most cells apart: the last line that is not all comment must have a ; in it."""
    for line in reversed(code.splitlines()):
        line = line.strip()
        if line and not line.startswith("#"):
            return ";" in line
    return False
