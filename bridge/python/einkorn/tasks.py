"""One asyncio loop for all cells.

Cells that await, tasks they leave behind, and plain cells share one persistent loop.  It does not
run while a plain cell does; it is only *marked* as the running one of the main thread, so that
``asyncio.create_task`` and ``get_running_loop`` find it.  Whoever really runs a loop on this thread
(``asyncio.run``, ``Runner.run``, any loop's ``run_until_complete`` or ``run_forever``) is wrapped
to lay the mark aside meanwhile.  Inside a loop that runs nothing is changed, and nested runs fail as
they do everywhere, but for a cell that awaits: its own code, outside of ``async def``, may run other
loops as that of a plain cell may, while the one loop stands still.  Between cells the loop turns if
it has work (``idle``), and in an await comm messages are handled.

Nothing of this happens before somebody imports asyncio, or a cell awaits.
"""

import _thread
import sys

import _einkorn

from .imports import after_import

_OPTIMIZED, _AWAITS = 0x1, 0x80 | 0x100 | 0x200  # code flags: of a function; of what can await
_GOODBYE = 0.5  # seconds that cancelled tasks have for their cleaning up at exit

_loop = None
_main = None  # identity of the thread that runs cells
_aside_now = 0  # loops that run within the one that a cell awaits in
_interrupt = None  # the _Interrupt of the coroutine that this cell runs or has run
runners = set()  # code of coroutines that run statements of a cell that await nothing: IPython's


def install():
    """Remember the thread of the cells (the caller's) and wait for asyncio to be imported."""
    global _main
    _main = _thread.get_ident()
    after_import("asyncio", _patch)
    after_import("uvloop", _patch_uvloop)


def refresh():
    """Make sure, at the start of a cell, that the loop is usable and marked as running.

    User code may have closed it, or changed the running loop.  Does nothing without asyncio.
    """
    global _interrupt
    _interrupt = None
    _mark()


def _mark():
    global _loop
    if _loop is None or _thread.get_ident() != _main:
        return
    asyncio = sys.modules["asyncio"]
    if _loop.is_closed():
        _loop = _new_loop(asyncio)
    if asyncio._get_running_loop() is not _loop:
        asyncio._set_running_loop(_loop)


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

    _mark()
    loop = _loop
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
        if _aside_now and frame is not None and frame.f_code is not _run_within.__code__:
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

    machinery = os.path.dirname(asyncio.__file__)
    if frame is None or frame.f_code.co_filename.startswith((machinery, selectors.__file__, __file__)):
        return False
    while frame is not None:
        if frame.f_code is asyncio.Handle._run.__code__:
            return True
        frame = frame.f_back
    return False


def is_loaded():
    """Return whether there is a loop, which may come to have work at any time."""
    return _loop is not None


def idle(fd, once=False):
    """Turn the loop until ``fd`` (a file descriptor) is readable; return True then.

    With ``once`` only what is due now is done.
    Returns False at once if there is no loop.  One that has no work may get some from a thread,
    which is waited for beside ``fd``; with ``once`` it is not.  Never raises for what tasks and
    callbacks do: that goes to the loop's exception handler.
    """
    loop = _loop
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
    asyncio._set_running_loop(_loop)
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


# --- The mark -----------------------------------------------------------------------------------


def _patch(asyncio):
    """Wrap what runs loops, make the loop, mark it (an action for imports.after_import)."""
    global _loop
    if hasattr(asyncio.run, "_einkorn"):
        return
    base = asyncio.BaseEventLoop
    base.run_forever = _aside(base.run_forever, asyncio)
    base.run_until_complete = _aside(base.run_until_complete, asyncio)
    asyncio.Runner.run = _aside(asyncio.Runner.run, asyncio)
    asyncio.Runner.close = _aside(asyncio.Runner.close, asyncio)
    asyncio.run = asyncio.runners.run = _aside(asyncio.run, asyncio)
    _patch_children(asyncio)
    if _loop is None:
        import atexit

        _loop = _new_loop(asyncio)
        atexit.register(_close)
    if _thread.get_ident() == _main and asyncio._get_running_loop() is None:
        asyncio._set_running_loop(_loop)


def _patch_uvloop(uvloop):
    """Wrap the one common loop that does not inherit asyncio's methods, and its own run()."""
    asyncio = sys.modules["asyncio"]
    kind = uvloop.Loop
    if not hasattr(kind.run_forever, "_einkorn"):
        kind.run_forever = _aside(kind.run_forever, asyncio)
        kind.run_until_complete = _aside(kind.run_until_complete, asyncio)
    if hasattr(uvloop, "run") and not hasattr(uvloop.run, "_einkorn"):
        uvloop.run = _aside(uvloop.run, asyncio)


def _patch_children(asyncio):
    """Let our loop start children whatever the policy is: one for other loops may have no watcher."""
    original = getattr(asyncio.events, "get_child_watcher", None)
    if original is None:
        return  # from 3.14 on nobody asks the policy
    own = None

    def get_child_watcher():
        nonlocal own
        try:
            return original()
        except NotImplementedError:
            own = own or asyncio.unix_events.ThreadedChildWatcher()
            return own

    asyncio.events.get_child_watcher = get_child_watcher


def _aside(original, asyncio):
    """Wrap a function that runs a loop: the mark is laid aside while it does."""
    import functools

    get, mark = asyncio._get_running_loop, asyncio._set_running_loop

    @functools.wraps(original)
    def wrapper(*arguments, **keywords):
        marked = get()
        if marked is None or marked is not _loop:
            return original(*arguments, **keywords)
        if marked.is_running():
            if _is_of_cell(sys._getframe(1)) and not (arguments and arguments[0] is marked):
                return _run_within(asyncio, marked, original, arguments, keywords)
            return original(*arguments, **keywords)
        mark(None)
        try:
            return original(*arguments, **keywords)
        finally:
            mark(marked)

    wrapper._einkorn = True
    return wrapper


def _is_of_cell(frame):
    """Is this frame of a cell's or a comm handler's code, or of what that called, in no ``async def``?"""
    while frame is not None and not frame.f_code.co_flags & _AWAITS:
        if frame.f_code is _hear_one.__code__:
            return True
        frame = frame.f_back
    if frame is None:
        return False
    return frame.f_code in runners or not frame.f_code.co_flags & _OPTIMIZED


def _run_within(asyncio, loop, function, arguments, keywords):
    """Call what runs another loop in a step of a cell's task, which ``loop`` is in."""
    global _aside_now
    swap = getattr(asyncio.tasks, "_swap_current_task", None)  # from 3.12 on
    task = swap(loop, None) if swap else None
    asyncio._set_running_loop(None)
    _aside_now += 1
    try:
        return function(*arguments, **keywords)
    finally:
        _aside_now -= 1
        asyncio._set_running_loop(loop)
        if swap:
            swap(loop, task)


def _new_loop(asyncio):
    loop = asyncio.SelectorEventLoop()
    loop.set_exception_handler(_complain)
    return loop


def _complain(loop, context):
    """Write about a failed task or callback on the stderr of the cell that it came from."""
    source = context.get("task") or context.get("future") or context.get("handle")
    try:
        cell = getattr(source, "_context", None) or source.get_context()
        cell.run(loop.default_exception_handler, context)
    except (AttributeError, RuntimeError):  # no context to be had, or this is the one we are in
        loop.default_exception_handler(context)


def _close():
    """At exit: cancel what is left, let it clean up for _GOODBYE seconds, close the loop."""
    loop = _loop
    asyncio = sys.modules["asyncio"]
    if loop.is_closed() or loop.is_running():
        return
    try:
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task._log_destroy_pending = False
            task.cancel()
        if tasks:
            loop.run_until_complete(asyncio.wait(tasks, timeout=_GOODBYE))
        for task in tasks:
            if task.done() and not task.cancelled():
                task.exception()
        loop.run_until_complete(asyncio.wait_for(loop.shutdown_asyncgens(), _GOODBYE))
    except (KeyboardInterrupt, SystemExit, TimeoutError):
        pass
    finally:
        asyncio._set_running_loop(None)
        loop.close()
