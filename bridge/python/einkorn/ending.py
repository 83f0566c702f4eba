"""The end of the process is not held up by threads.

Before it runs the atexit handlers, Python joins every thread that is no daemon, for as long as that
takes; a kernel that is shut down has no such time, and would be killed with its handlers not run.
So the joining is done here, and ends after a moment.  Threads that are left go with the process.
"""

_PATIENCE = 0.5  # seconds that threads which are no daemons have to end


def join_threads(threading):
    """Join all threads that are no daemons, for _PATIENCE seconds.

    Call it before the interpreter begins to end: later there can be no further thread.
    """
    main = threading.main_thread()
    if all(thread.daemon or thread is main for thread in threading.enumerate()):
        return
    # On a thread of its own: it also calls what waits without a limit, as pools do.
    joining = threading.Thread(target=threading._shutdown, daemon=True)
    joining.start()
    joining.join(_PATIENCE)
    if joining.is_alive():
        threading._shutdown = _nothing  # the interpreter calls it by name, and would wait


def _nothing():
    """Do not wait."""
