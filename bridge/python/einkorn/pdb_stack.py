"""Keep the kernel's own frames out of pdb's sight.

A debugger in a cell should show the cell at the top of its stack, and stepping past the end of the
cell should end the debugging instead of going on inside the kernel.
"""

import sys

from . import sources

_OWN = __file__.rpartition("/")[0] + "/"


def patch_bdb(module):
    """Adjust ``bdb.Bdb`` (an action for imports.after_import)."""
    base = module.Bdb
    if not hasattr(base.get_stack, "__wrapped__"):
        base.get_stack = _get_stack(base.get_stack)
        base.trace_dispatch = _trace_dispatch(base.trace_dispatch)


def patch_pdb(module):
    """Let an interrupt at the prompt end the cell (an action for imports.after_import).

    Python's own pdb asks again, so a cell that waits there could not be ended by an interrupt.
    IPython's debugger, which ipykernel puts in its place, does as this one.
    """
    if "_cmdloop" in vars(module.Pdb):
        module.Pdb._cmdloop = _cmdloop


def _cmdloop(self):
    self.allow_kbdint = True
    try:
        self.cmdloop()
    except KeyboardInterrupt:
        self.set_quit()
        sys.settrace(None)
        self.quitting = False  # else its next use would raise BdbQuit
        raise
    finally:
        self.allow_kbdint = False


def leave():
    """End the stepping of a debugger that was led past the end of its cell; breakpoints stay."""
    tracer = sys.gettrace()
    debugger = getattr(tracer, "__self__", None)
    if isinstance(debugger, sys.modules["bdb"].Bdb) and debugger.stopframe is None:
        sys.settrace(None)  # else it would stop in its own set_continue
        debugger.set_continue()
        if debugger.breaks:
            sys.settrace(tracer)


def _get_stack(original):
    from functools import wraps

    @wraps(original)
    def get_stack(self, f, t):
        stack, current = original(self, f, t)
        for position, (frame, _) in enumerate(stack[: current + 1]):
            if sources.label(frame.f_code.co_filename):
                return stack[position:], current - position
        return stack, current

    return get_stack


def _trace_dispatch(original):
    from functools import wraps

    @wraps(original)
    def trace_dispatch(self, frame, event, arg):
        if frame.f_code.co_filename.startswith(_OWN):
            return None
        return original(self, frame, event, arg)

    return trace_dispatch
