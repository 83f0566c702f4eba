"""How the shell shows exceptions: by IPython, as ``error`` messages of the runner's.

IPython's way of showing one takes memory, imports modules and runs code of the user's.  A
MemoryError, and what IPython fails to show, is shown as in plain sessions (einkorn/errors.py), by
the runner, which has kept some memory for that.  An interrupt ends the showing without a word.
"""

import os
import sys
from types import TracebackType

import _einkorn

from .. import errors, hooks, tasks

_OWN = os.path.dirname(os.path.dirname(__file__)) + "/"  # the Python half


def _without_own_frames(first):
    every = list(_chain(first))
    others = [tb for tb in every if not tb.tb_frame.f_code.co_filename.startswith(_OWN)]
    if not others or len(others) == len(every):
        return first
    chain = None
    for tb in reversed(others):
        chain = TracebackType(chain, tb.tb_frame, tb.tb_lasti, tb.tb_lineno)
    return chain


def _chain(tb):
    while tb is not None:
        yield tb
        tb = tb.tb_next


class _Interrupted(BaseException):
    """An interrupt came while an exception was shown."""


class _Unshown(BaseException):
    """IPython cannot show an exception."""


class ShowsErrors:
    """What the shell has for this, in front of InteractiveShell."""

    _last_traceback = None
    _last_traceback_during_displayhook = False
    _last_error = None  # (ename, evalue, traceback) of what was shown last
    _left_to_runner = None  # an exception that IPython could not show
    _shows = False  # an exception, at the moment
    _showing_was_interrupted = False
    _cell_pid = os.getpid()  # of who runs the cell; another one is a child that it forked
    _valued = (None, "")  # the exception that is being shown, and its str()

    def begin_errors(self):
        """Begin a cell: nothing was shown yet."""
        self._last_traceback = self._last_error = self._left_to_runner = None
        self._last_traceback_during_displayhook = self._showing_was_interrupted = False
        self._cell_pid = os.getpid()

    def facts_of(self, error):
        """Return (ename, evalue, traceback) of a cell's error as it was shown; None of no error.

        What is left to the runner is raised.
        """
        if error is None and not self._last_traceback_during_displayhook:
            return None
        left, self._left_to_runner = self._left_to_runner, None
        if error is not None and error is left:
            raise error
        if isinstance(error, MemoryError):
            hooks.let_go(error)  # IPython keeps it, and with it what fills the memory
            self.InteractiveTB.tb = None
        return self._last_error or self._unshown(tasks.as_interrupt(error))

    def _unshown(self, error):
        """Return the facts of an error that IPython did not show in an ``error`` message."""
        name = type(error).__name__
        if not self._showing_was_interrupted:  # a showtraceback of the user's, an exception group
            return name, errors.value(error), []
        facts = (name, "", [name])  # to ask for more may hang again
        _einkorn.error(*facts)
        return facts

    def _showtraceback(self, etype, evalue, stb):
        self._last_traceback = stb
        if self.displayhook.msg is not None:  # while a result was formatted: the cell failed
            self._last_traceback_during_displayhook = True
        valued, text = self._valued
        self._valued = (None, "")
        if valued is not evalue or etype.__str__ is SyntaxError.__str__:
            text = errors.value(evalue)  # IPython has given a SyntaxError its file meanwhile
        self._last_error = (etype.__name__, text, list(stb))
        if os.getpid() == self._cell_pid:
            _einkorn.error(*self._last_error)
        elif not issubclass(etype, SystemExit):  # a forked child has nobody to send it to
            print(*stb, sep="\n", file=sys.stderr)

    def init_traceback_handlers(self, custom_exceptions):
        """Make what formats tracebacks."""
        super().init_traceback_handlers(custom_exceptions)
        form = self.InteractiveTB.structured_traceback

        def structured_traceback(*args, **kwargs):
            try:
                return form(*args, **kwargs)
            except Exception:  # without memory anything may fail, its first import to begin with
                if self._shows:
                    raise _Unshown from None
                raise

        self.InteractiveTB.structured_traceback = structured_traceback

    def showtraceback(self, exc_tuple=None, *args, running_compiled_code=False, **kwargs):
        """Show an exception: see InteractiveShell.  An interrupt ends that without a word."""
        error = sys.exc_info()[1] if exc_tuple is None else exc_tuple[1]
        shows, self._shows = self._shows, True
        try:
            if isinstance(error, MemoryError):
                raise _Unshown
            super().showtraceback(
                exc_tuple, *args, running_compiled_code=running_compiled_code, **kwargs
            )
        except _Interrupted:
            self._showing_was_interrupted = True
        except (MemoryError, _Unshown):
            self._left_to_runner = error
            if not running_compiled_code:  # it may be the error of a callback
                self._show_plainly(error)
        finally:
            self._shows = shows

    def _show_plainly(self, error):
        try:
            self._showtraceback(type(error), error, errors.describe(error)[2])
            self._left_to_runner = None
        except MemoryError:
            pass

    def get_exception_only(self, exc_tuple=None):
        """Return the last line of a traceback; ``showtraceback`` asks when an interrupt ended it."""
        if self._shows and exc_tuple is None and sys.exc_info()[0] is KeyboardInterrupt:
            raise _Interrupted  # to print it would ask the exception behind it once more
        return super().get_exception_only(exc_tuple)

    def _user_obj_error(self):
        """Return what is told of a user expression that failed.  An interrupt ends them all."""
        if sys.exc_info()[0] is KeyboardInterrupt:
            raise  # noqa: PLE0704  (we are called while it is handled)
        return super()._user_obj_error()

    def _format_exception_for_storage(self, exception, *_other, **_others):
        """Return what was shown, for the history's record of outputs, without asking once more."""
        ename, evalue, traceback = self._last_error or (type(exception).__name__, "", [])
        return {"ename": ename, "evalue": evalue, "traceback": traceback}

    def _get_exc_info(self, exc_tuple=None):
        """An interrupt that ended an await is KeyboardInterrupt, whatever asyncio makes of it.

        Our own frames are left out of tracebacks, as IPython leaves out its own.
        """
        etype, value, tb = super()._get_exc_info(exc_tuple)
        value = tasks.as_interrupt(value)
        sys.last_traceback = tb = _without_own_frames(tb)
        # Before IPython asks for it, who takes an interrupt then for a failure of __str__.
        self._valued = value, errors.value(value)
        return type(value), value, tb
