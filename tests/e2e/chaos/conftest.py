"""
Fixture `long`: whether the tests of this directory run in their long form (`--long`).

Each of them has one form with two sizes, so that the short one, which is in the suite, is no other
test than the long one.
"""

import pytest


@pytest.fixture(scope="session")
def long(pytestconfig):
    return pytestconfig.getoption("--long")
