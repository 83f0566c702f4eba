"""is_complete: may a client run what was typed so far?"""

import pytest

C050 = [
    ("1", "complete"), ("for i in x:", 4), ("for i in x:\n    pass", 4),
    ("for i in x:\n    pass\n", "complete"), ("x = (1,", 0), ("x = (1,\n2)", "complete"),
    ('"""abc', 0), ("if 1:\n    x\nelse:", 4), ("@dec", 0), ("x = 5 \\", 0), ("", "complete"),
    ("   ", "complete"), ("raise = 2", "invalid"), ("1 +", "invalid"),
    ("if True: pass", "complete"), ("await x", "complete"), ("!ls", "complete"),
    ("%time 1", "complete"), ("%%bash", 0), ("x?", "complete"), ("def f():\n\treturn 1", 4),
    ('f"{x}"', "complete"),
]  # fmt: skip

MORE = [
    ("for i in x:\n    pass\n    ", "complete"),  # a blank line that a client has indented
    ("for i in x:\n    if i:", 8), ("for i in x:\n    if i:\n        pass", 8),
    ("for i in x:\r\n    if i:\r\n", 8), ("def f(a,\n      b):", 4), ("x = {1:", 0),
    ("    x = [1,", "invalid"), ("f(a,\n    b,", 4), ("for i in x:  # why", 4),
    ("if a:\n    '''b:", 4), ("if a: b; c", "complete"),
    ("try:\n    x\n", 4), ("class A:\n    x = 1; y = 2", 4), ("match x:\n    case 1:", 8),
    ("match x:\n    case 1:\n        pass\n", "complete"), ("x = (lambda:\n  1)", "complete"),
    ("x = '''\n  a'''", "complete"), ("if 1:\n    x\n# end", 0),
    ("%%bash\nls", 0), ("%%bash\nls\n", "complete"), ("for i in x:\n    !ls", 4),
    ("a = 1\n%time a\n", "complete"), ("?x", "complete"), ("x.y??", "complete"),
    ("x ?= 1", "invalid"),
    ("break", "invalid"), ("return 1", "invalid"), ("x = '\\d'", "complete"), ("a\0b", "invalid"),
    ("'abc", "invalid"), ("a)", "invalid"), ("   x = 1\n  y", "invalid"), ("async def f():", 4),
    ("(" * 300, "invalid"), ("-" * 100_000 + "1", "invalid"), ("é = '😀'", "complete"),
]  # fmt: skip


@pytest.mark.parametrize("cases", [C050, MORE], ids=["C050", "more"])
def test_what_was_typed_is_complete_or_not(shell, cases):
    steps = [{"call": "is_complete", "arguments": [code]} for code, _ in cases]
    for (code, expected), step in zip(cases, shell(*steps)):
        if isinstance(expected, int):
            result = {"status": "incomplete", "indent": " " * expected}
        else:
            result = {"status": expected}
        assert (code[:40], step["result"]) == (code[:40], result)
        assert step["messages"] == [] and step["took"] < 0.5, code[:40]
