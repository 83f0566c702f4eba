"""Cells that await, and what their tasks do between cells.

All cells share one asyncio loop (``one_loop``).  Here it is run: for the coroutine of a cell, which
an interrupt may end and during which comm messages are handled, and between cells, if it has work
(``idle``).

Nothing of this happens before somebody imports asyncio, or a cell awaits.
"""

import _thread
import sys

import _einkorn

from .imports import after_import

_OPTIMIZED, _AWAITS = 0x1, 0x80 | 0x100 | 0x200  # code flags: of a function; of what can await

_main = None  # identity of the thread that runs cells
_one_loop = None  # the module, which is imported right after asyncio
_interrupt = None  # the _Interrupt of the coroutine that this cell runs or has run
runners = set()  # code of coroutines that run statements of a cell that await nothing: IPython's


def install():
    """Remember the thread of the cells (the caller's) and wait for asyncio to be imported."""
    global _main
    _main = _thread.get_ident()
    after_import("asyncio", _patch)
    after_import("uvloop", _patch_uvloop)


def _patch(asyncio):
    global _one_loop
    from . import one_loop  # most sessions never need it

    _one_loop = one_loop
    one_loop.install(asyncio, _main, _is_of_cell)


def _patch_uvloop(uvloop):
    _one_loop.patch_uvloop(uvloop)


def _get_loop():
    return None if _one_loop is None else _one_loop.loop


def refresh():
    """Make sure, at the start of a cell, that the loop is usable and marked as running.

    User code may have closed it, or changed the running loop.  Does nothing without asyncio.
    """
    global _interrupt
    _interrupt = None
    if _one_loop is not None:
        _one_loop.mark()


def run_coroutine(coroutine):
    """Run a cell's coroutine as a task in the cells' context; return its value or raise its error.

    On an interrupt the task ends with its ``finally`` blocks run, and KeyboardInterrupt is raised.
    A second one gives up waiting for that.  The loop and its other tasks live on.
    """
    global _interrupt
    interrupt = _interrupt = _Interrupt()
    _einkorn.set_interrupt_taker(interrupt.take)
    try:
        value = _run_interruptible(coroutine, interrupt)
    finally:
        _einkorn.set_interrupt_taker(None)
    if interrupt.taken:  # on the last few steps out of there
        raise KeyboardInterrupt
    return value


def as_interrupt(error):
    """Return KeyboardInterrupt for the CancelledError that an interrupt of the cell has caused.

    Any other ``error`` is returned as it is.
    """
    asyncio = sys.modules.get("asyncio")
    taken = _interrupt is not None and _interrupt.taken
    if taken and asyncio is not None and isinstance(error, asyncio.CancelledError):
        return KeyboardInterrupt().with_traceback(error.__traceback__)
    return error


def _run_interruptible(coroutine, interrupt):
    import asyncio

    _one_loop.mark()
    loop = _one_loop.loop
    task = loop.create_task(coroutine, context=_einkorn.context)
    interrupt.watch(loop, task)
    fd = _hear(loop)
    try:
        value = _finish_interrupted(loop, task, interrupt)
        if interrupt.taken:  # it caught the cancellation, and came to its end
            raise KeyboardInterrupt
        return value
    except asyncio.CancelledError as cancelled:
        if not interrupt.taken:
            raise
        # Its traceback shows where the cell was waiting; that of the interrupt only the loop.
        raise KeyboardInterrupt().with_traceback(cancelled.__traceback__) from None
    except KeyboardInterrupt:
        if not task.done():  # a second one
            task._log_destroy_pending = False
        raise
    except BaseException as failure:
        if not interrupt.taken:
            raise
        raise KeyboardInterrupt from failure  # of the cleaning up: tell both
    finally:
        if not loop.is_closed():
            loop.remove_reader(fd)


def _hear(loop):
    """Have comm messages handled while the loop runs; return the fd of the reader that does it."""
    fd = _einkorn.request_fd()
    loop.add_reader(fd, _hear_one, loop, fd)
    _einkorn.awaits()
    return fd


def _hear_one(loop, fd):
    """Handle one comm message; the loop has other work as well."""
    if not _einkorn.comms(True)[1]:
        loop.remove_reader(fd)  # the kernel ends: it would be readable for ever


def _finish_interrupted(loop, task, interrupt):
    """Like _finish, but KeyboardInterrupt in the code of another task ends this one too."""
    try:
        return _finish(loop, task)
    except KeyboardInterrupt:
        if task.done() or interrupt.taken:
            raise
    interrupt.taken = True
    task.cancel()
    return _finish(loop, task)


class _Interrupt:
    """What an interrupt does while the loop runs a cell's task.

    Where the user's code runs, KeyboardInterrupt is raised in it, as everywhere.  An exception in
    asyncio's own code would lose the step or the callback that it has in hand, and one in its first
    import would leave half of it behind; so there, and while the loop waits, the task is cancelled
    instead.
    """

    def __init__(self):
        self.taken = False
        self._loop = None
        self._task = None

    def watch(self, loop, task):
        """Now there is something to cancel."""
        self._loop, self._task = loop, task
        if self.taken:
            task.cancel()

    def take(self, frame):
        """See to an interrupt that came in ``frame``; return False to have it raised there."""
        if self.taken or (self._task is not None and _is_users(frame)):
            return False
        if _one_loop is not None and _one_loop.is_in_other(frame):
            return False  # in another loop, which ends of it
        self.taken = True
        if self._task is not None:
            # At once, not by call_soon: the task's next step may be due before, and block.
            self._task.cancel()
            self._loop.call_soon_threadsafe(_nothing)  # the loop may be waiting
        return True


def _nothing():
    """Make the loop turn."""


def _is_users(frame):
    """Is this frame of a callback or a coroutine that the loop runs, and not asyncio's own?"""
    import asyncio
    import os.path
    import selectors

    ours = __file__, _one_loop.__file__
    machinery = os.path.dirname(asyncio.__file__), selectors.__file__, *ours
    if frame is None or frame.f_code.co_filename.startswith(machinery):
        return False
    while frame is not None:
        if frame.f_code is asyncio.Handle._run.__code__:
            return True
        frame = frame.f_back
    return False


def is_loaded():
    """Return whether there is a loop, which may come to have work at any time."""
    return _get_loop() is not None


def idle(fd, once=False):
    """Turn the loop until ``fd`` (a file descriptor) is readable; return True then.

    With ``once`` only what is due now is done.
    Returns False at once if there is no loop.  One that has no work may get some from a thread,
    which is waited for beside ``fd``; with ``once`` it is not.  Never raises for what tasks and
    callbacks do: that goes to the loop's exception handler.
    """
    loop = _get_loop()
    if loop is None or loop.is_closed() or loop.is_running():
        return False
    if not _has_work(loop) and (once or not _wait_for_work(loop, fd)):
        return not once
    readable = False

    def stop():
        nonlocal readable
        readable = True
        loop.stop()

    loop.add_reader(fd, stop)
    if once:
        loop.call_soon(loop.stop)
    # A task may block, and the request that waits for it be interrupted: that ends the task.
    _einkorn.set_interrupt_taker(_spare_the_loop)
    try:
        while not readable and not loop.is_closed():
            try:
                loop.run_forever()
            except KeyboardInterrupt:
                pass  # there is nothing to interrupt
            except SystemExit as error:
                _report(loop, error)
            if once:
                break
    finally:
        _einkorn.set_interrupt_taker(None)
        if not loop.is_closed():
            loop.remove_reader(fd)
    return readable


def _wait_for_work(loop, fd):
    """Wait until a thread has called ``call_soon_threadsafe`` or ``fd`` is readable.

    Return whether only the former has happened.
    """
    import select

    poll = select.poll()
    poll.register(fd, select.POLLIN)
    poll.register(loop._ssock, select.POLLIN)
    try:
        return fd not in dict(poll.poll())
    except KeyboardInterrupt:
        return False  # there was nothing to interrupt


def io_loop():
    """Return tornado's IOLoop of the one loop, from any thread; raises ImportError without tornado."""
    import asyncio

    from tornado.ioloop import IOLoop

    before = asyncio._get_running_loop()
    asyncio._set_running_loop(_get_loop())
    try:
        return IOLoop.current()
    finally:
        asyncio._set_running_loop(before)


def _spare_the_loop(frame):
    """Take an interrupt that comes in asyncio's own code between requests: it is not for that."""
    return not _is_users(frame)


def _finish(loop, task):
    """Run the loop until ``task`` is done; return its result or raise its exception.

    A background task's SystemExit, and ``loop.stop()``, end the loop before: it is started again.
    """
    while True:
        try:
            return loop.run_until_complete(task)
        except SystemExit as error:
            if task.done():
                raise
            _report(loop, error)
        except RuntimeError as error:
            if task.done() or not str(error).startswith("Event loop stopped"):
                raise
        finally:
            if task.done() and not task.cancelled():
                task.exception()  # it is told once; asyncio need not tell it again


def _report(loop, error):
    """Tell the SystemExit of a background task, which elsewhere would end the program."""
    loop.call_exception_handler({"message": "A background task ended with", "exception": error})


def _has_work(loop):
    """Will anything happen in this loop if it turns?"""
    if loop._ready or any(not timer.cancelled() for timer in loop._scheduled):
        return True
    if len(loop._selector.get_map()) > 1:  # one reader is the loop's own wake-up pipe
        return True
    return bool(sys.modules["asyncio"].all_tasks(loop))


def _is_of_cell(frame):
    """Is this frame of a cell's or a comm handler's code, or of what that called, in no ``async def``?"""
    while frame is not None and not frame.f_code.co_flags & _AWAITS:
        if frame.f_code is _hear_one.__code__:
            return True
        frame = frame.f_back
    if frame is None:
        return False
    return frame.f_code in runners or not frame.f_code.co_flags & _OPTIMIZED
