"""The settings of the inline backend; their place is ``matplotlib_inline.config``."""

from matplotlib_inline.config import *  # noqa: F403
