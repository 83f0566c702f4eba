"""input() and getpass() over the stdin channel."""


def test_without_a_client_that_answers_input_fails_at_once(shell):
    """C021."""
    results = shell(
        {"answers": [None, None, None]}, 'input("q? ")', 'import getpass\ngetpass.getpass("pw ")',
        "try:\n    input()\nexcept NotImplementedError as e:\n    print(type(e).__name__)",
    )  # fmt: skip
    tail = "but this frontend does not support input requests."
    assert (results[1]["ename"], results[1]["evalue"]) == (
        "StdinNotImplementedError", f"raw_input was called, {tail}",
    )  # fmt: skip
    assert (results[2]["ename"], results[2]["evalue"]) == (
        "StdinNotImplementedError", f"getpass was called, {tail}",
    )  # fmt: skip
    assert results[3].stdout == "StdinNotImplementedError\n"
    assert not any(item.of("input_request") for item in results)


def test_questions_go_to_the_client(shell):
    results = shell(
        {"answers": ["a", "b", "c"]}, "input(5)", "import getpass, inspect\ngetpass.getpass()",
        "from getpass import getpass\ngetpass('P', stream=None, echo_char='*')",
        "str(inspect.signature(input)), input.__module__",
    )  # fmt: skip
    assert [item.text for item in results[1:4]] == ["'a'", "'b'", "'c'"]
    assert results[1]["messages"][0] == {"type": "input_request", "prompt": "5", "password": False}
    asked = results[2]["messages"][0]
    assert asked == {"type": "input_request", "prompt": "Password: ", "password": True}
    assert results[4].text == "(\"(prompt='', /)\", 'builtins')"
