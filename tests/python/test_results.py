"""Results: what is shown, how, and which names it gets."""

import pytest


def test_the_last_expression_is_shown_unless_a_semicolon_follows_it(shell):
    cells = [
        ("1;", None), ("1;  # why", None), ("1  # c;", "1"), ('"a;b"', "'a;b'"),
        ('"""x\n;"""', "'x\\n;'"), ("x = 5\nx;\n# trailing comment\n", None), ("[1,\n 2]; ", None),
        ("None", None), ("x = 1; x", "1"), ("if True:\n    7", None), ("x\n\n\n", "1"), ("10", "10"),
        ("'é😀';", None), ("'é😀;'", "'é😀;'"), ("1; # a; b", None), ("x \\\n;", None),
        ("'''\n;\n# foo'''", "'\\n;\\n# foo'"), ("(1)\r\n;\r\n", SyntaxError), ("(1);\r\n# a", None),
    ]  # fmt: skip
    for (code, expected), result in zip(cells, shell(*[code for code, _ in cells])):
        if expected is SyntaxError:
            assert result["ename"] == "SyntaxError"
        else:
            assert (code, result["status"], result.text) == (code, "ok", expected)


def test_the_users_own_underscore_is_left_alone_until_he_deletes_it(shell):
    results = shell("10", "print(_)", '_ = "mine"', "20", "print(_)", "del _", "30", "_, __, ___")
    assert [item.text for item in results] == ["10", None, None, "20", None, None, "30",
                                               "(30, 20, 10)"]  # fmt: skip
    assert results[1].stdout == "10\n"
    assert results[4].stdout == "mine\n"


def test_inputs_and_results_can_be_had_by_number(shell):
    results = shell("6*7", "'two'", "Out[1], _1, _2, In[1], _i1, _i, _ii, len(In)", "Out",
                    {"code": "99", "store": False}, "In[-2:], _i, sorted(Out)")  # fmt: skip
    assert results[2].text == "(42, 42, 'two', '6*7', '6*7', \"'two'\", '6*7', 4)"
    assert results[3].text.startswith("{1: 42, 2: 'two', 3: (42, 42")
    assert results[4].text == "99"
    assert results[5].text == "(['Out', 'In[-2:], _i, sorted(Out)'], 'Out', [1, 2, 3])"


def test_the_result_message_has_its_number_and_an_empty_transient(shell):
    result = shell("None", "1")[1]
    assert result["messages"] == [
        {"type": "execute_result", "execution_count": 2, "data": {"text/plain": "1"},
         "metadata": {}, "transient": {}}
    ]  # fmt: skip


def test_of_a_thousand_results_the_oldest_fifth_goes(shell):
    results = shell(*["object()"] * 1001, "(len(Out), min(Out), '_200' in globals(), _201 is Out[201])")
    assert results[-1].text == "(801, 201, False, True)"


@pytest.mark.parametrize("code", ["exit()", "exit", "quit()", "quit", "exit(keep_kernel=True)"])
def test_exit_asks_the_client_to_end_the_kernel(shell, code):
    result = shell(f'print("bye")\n{code}')[0]
    assert (result["status"], result.stdout, result.text) == ("ok", "bye\n", None)
    keep = "keep_kernel" in code
    assert result.of("payload") == [{"type": "payload", "source": "ask_exit", "keepkernel": keep}]


def test_no_get_ipython_in_a_plain_shell_but_display(shell):
    result = shell("import builtins\nhasattr(builtins, 'get_ipython'), callable(builtins.display)")
    assert result[0].text == "(False, True)"


def test_user_expressions_are_evaluated_one_by_one(shell):
    result = shell("a = [1]", {"expressions": {"x": "a", "y": "1/0", "z": "a b"}})[1]
    assert result["x"] == {"status": "ok", "data": {"text/plain": "[1]"}, "metadata": {}}
    assert (result["y"]["status"], result["y"]["ename"]) == ("error", "ZeroDivisionError")
    assert result["y"]["evalue"] == "division by zero"
    assert (result["z"]["ename"], bool(result["z"]["traceback"])) == ("SyntaxError", True)


def test_long_containers_are_broken_item_by_item(shell):
    results = shell(
        "list(range(30))", "{'key': list(range(40)), 'b': 1}", "('x' * 90,)", "list(range(2000))",
        "l = [1] * 40; l.append(l); l", "list(range(20))", "set(range(40))",
        "[['x' * 35, 'y' * 35], 1]", "[['x' * 35, 'y' * 34], 1]",
    )  # fmt: skip
    assert results[0].text == "[" + ",\n ".join(map(str, range(30))) + "]"
    assert results[1].text == "{'key': [" + ",\n  ".join(map(str, range(40))) + "],\n 'b': 1}"
    assert results[2].text == f"('{'x' * 90}',)"
    assert results[3].text == "[" + ",\n ".join(map(str, range(1000))) + ",\n ...]"
    assert results[4].text == "[" + "1,\n " * 40 + "[...]]"
    assert results[5].text == str(list(range(20)))
    assert results[7].text == f"[['{'x' * 35}',\n  '{'y' * 35}'],\n 1]"
    assert results[8].text == f"[['{'x' * 35}', '{'y' * 34}'],\n 1]"
    assert results[6].text == "{" + ",\n ".join(map(str, range(40))) + "}"


def test_the_cell_namespace_is_that_of_main(shell):
    """C032."""
    results = shell(
        'import dataclasses, doctest, pickle, sys, typing, __main__\nclass Point:\n'
        '    def __init__(self, x):\n        self.x = x\np1 = Point(3)\n'
        'print(pickle.loads(pickle.dumps(p1)).x, pickle.loads(pickle.dumps(Point)) is Point, '
        '__main__.__dict__ is globals(), sys.modules["__main__"] is __main__)',
        'class Point:\n    def __init__(self, x):\n        self.x = x\n'
        'print(pickle.loads(pickle.dumps(Point(1))).x)\npickle.dumps(p1)',
        '@dataclasses.dataclass\nclass Node:\n    left: "Node | None" = None\n    size: "Size" = 0\n'
        'Size = int\nhints = typing.get_type_hints(Node)\n'
        'print(hints["size"], hints["left"] == Node | None)',
        'def half(x):\n    """\n    >>> half(4)\n    2.0\n    >>> half(3)\n    2\n    """\n'
        '    return x / 2\nr = doctest.testmod()\nprint(r)',
        'import runpy, types\nprint(isinstance(__builtins__, types.ModuleType), '
        '__doc__ is None or isinstance(__doc__, str))',
    )  # fmt: skip
    assert results[0].stdout == "3 True True True\n"
    assert results[1].stdout == "1\n"
    assert results[1]["ename"] == "PicklingError"
    assert "not the same object as __main__.Point" in results[1]["evalue"]
    assert results[2].stdout == "<class 'int'> True\n"
    assert results[3].stdout.endswith("TestResults(failed=1, attempted=2)\n")
    assert "Expected:\n    2\nGot:\n    1.5\n" in results[3].stdout
    assert results[4].stdout == "True True\n"


def test_names_of_old_inputs_go_and_in_keeps_them(shell):
    """What a long session leaves in the namespace is bounded; a name of the user's own stays."""
    cells = ["1;", "2;", "_i2 = 'mine'"] + ["0;"] * 1000
    results = shell(*cells, "[f'_i{n}' in globals() for n in range(1, 7)], _i2, In[1:3]")
    assert results[-1].text == (
        "([False, True, False, False, True, True], 'mine', ['1;', '2;'])"
    )
