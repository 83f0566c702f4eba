"""The inline backend; its place is ``matplotlib_inline.backend_inline``."""

from matplotlib_inline.backend_inline import *  # noqa: F403
from matplotlib_inline.backend_inline import flush_figures, show  # noqa: F401
