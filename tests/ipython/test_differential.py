"""The tool that compares Einkorn with ipykernel finds what is the same, and what is not."""

import pytest


@pytest.mark.parametrize("code", [
    "print('a'); print('b')",
    "import sys; print('x'); print('y', file=sys.stderr); 7",
    "1/0",
    "input('name? ')",
    "get_ipython().set_next_input('z')",
    "object()",
    "await __import__('asyncio').sleep(0, 'z')",
])
def test_what_is_the_same_is_found_the_same(pair, code):
    pair.same(code, answers=["me"])


def test_what_differs_is_found(pair):
    with pytest.raises(AssertionError):
        pair.same("get_ipython().kernel.implementation")


def test_an_interrupt_reaches_both(pair):
    seen = pair.same("print('go')\nimport time\ntime.sleep(60)", interrupt_at="go")
    assert seen.error == ["KeyboardInterrupt", ""]
