"""
What the oldest IPython that we serve, 8.18, does in its own way or does not have. With it as the
kernel's the tests named here are left out; whatever else fails then is a bug of ours.
"""

import functools
import subprocess

from client import PYTHON

KEEPS_NONE = "IPython 8 keeps no outputs for %notebook"
FEWER_LINES = "IPython 8 shows fewer lines around an error in a short class"

DIFFERENCES = {
    "test_notebook_has_what_cells_have_shown": KEEPS_NONE,
    "test_what_is_kept_is_bounded": KEEPS_NONE,
    "test_a_flood_is_not_kept": KEEPS_NONE,
    "test_many_cells_with_much_output_are_not_kept": KEEPS_NONE,
    "test_the_history_is_off_without_an_sqlite": "IPython 8 cannot be imported then",
    "test_an_interrupt_ends_a_startup_file": "IPython 8 goes on after what interrupts a file",
    "test_the_shell_lets_others_do_what_ipykernels_does[display(Broken())]": FEWER_LINES,
    "test_a_result_that_cannot_be_shown_fails_the_cell": FEWER_LINES,
}


@functools.cache
def is_it():
    """Whether the kernel's Python has it."""
    code = "import IPython.core.release as r; print(r.version_info[0])"
    done = subprocess.run([PYTHON, "-c", code], stdin=subprocess.DEVNULL, text=True,
                          capture_output=True, timeout=60, check=True)
    return done.stdout.strip() == "8"
