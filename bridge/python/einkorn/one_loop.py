"""The one asyncio loop of all cells, and its mark.

Cells that await, tasks they leave behind, and plain cells share one persistent loop.  It does not
run while a plain cell does; it is only *marked* as the running one of the main thread, so that
``asyncio.create_task`` and ``get_running_loop`` find it.  Whoever really runs a loop on this thread
(``asyncio.run``, ``Runner.run``, any loop's ``run_until_complete`` or ``run_forever``) is wrapped
to lay the mark aside meanwhile.  Inside a loop that runs nothing is changed, and nested runs fail as
they do everywhere, but for a cell that awaits: its own code, outside of ``async def``, may run other
loops as that of a plain cell may, while the one loop stands still.

``tasks`` imports this right after asyncio, and runs the loop.
"""

import _thread
import sys

_GOODBYE = 0.5  # seconds that cancelled tasks have for their cleaning up at exit

loop = None
_main = None  # identity of the thread that runs cells
_is_of_cell = None  # says whether the code in a frame may run another loop while `loop` runs
_others = 0  # loops that run within the one that a cell awaits in


def install(asyncio, main, is_of_cell):
    """Wrap what runs loops, make the loop, mark it.  Bears being called again, after a reload.

    ``main`` and ``is_of_cell`` are what _main and _is_of_cell shall be.
    """
    global loop, _main, _is_of_cell
    _main, _is_of_cell = main, is_of_cell
    if hasattr(asyncio.run, "_einkorn"):
        return
    base = asyncio.BaseEventLoop
    base.run_forever = _aside(base.run_forever, asyncio)
    base.run_until_complete = _aside(base.run_until_complete, asyncio)
    asyncio.Runner.run = _aside(asyncio.Runner.run, asyncio)
    asyncio.Runner.close = _aside(asyncio.Runner.close, asyncio)
    asyncio.run = asyncio.runners.run = _aside(asyncio.run, asyncio)
    _patch_children(asyncio)
    if loop is None:
        import atexit

        loop = _new_loop(asyncio)
        atexit.register(_close)
    if _thread.get_ident() == _main and asyncio._get_running_loop() is None:
        asyncio._set_running_loop(loop)


def mark():
    """Mark the loop as running, on the thread of the cells; make another if somebody closed it."""
    global loop
    if loop is None or _thread.get_ident() != _main:
        return
    asyncio = sys.modules["asyncio"]
    if loop.is_closed():
        loop = _new_loop(asyncio)
    if asyncio._get_running_loop() is not loop:
        asyncio._set_running_loop(loop)


def patch_uvloop(uvloop):
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
        if marked is None or marked is not loop:
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


def _run_within(asyncio, loop, function, arguments, keywords):
    """Call what runs another loop in a step of a cell's task, which ``loop`` is in."""
    global _others
    swap = getattr(asyncio.tasks, "_swap_current_task", None)  # from 3.12 on
    task = swap(loop, None) if swap else None
    asyncio._set_running_loop(None)
    _others += 1
    try:
        return function(*arguments, **keywords)
    finally:
        _others -= 1
        asyncio._set_running_loop(loop)
        if swap:
            swap(loop, task)


def is_in_other(frame):
    """Return whether ``frame`` is in a loop that runs within the one that a cell awaits in."""
    return _others > 0 and frame is not None and frame.f_code is not _run_within.__code__


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
