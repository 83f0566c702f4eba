"""IPython's events, whose callbacks neither hide a cell's error nor swallow an interrupt."""

from IPython.core.events import EventManager


class Events(EventManager):
    """As IPython's, but for two things.

    A callback's error is shown, and the cell's own stays the one that is told in its reply.  An
    interrupt that comes in a callback before the cell ends the cell: IPython shows it and runs the
    cell all the same, so that who pressed the button once would wait for ever.
    """

    def trigger(self, event, *args, **kwargs):
        """Call those who registered for ``event``."""
        error = self.shell._last_error
        for callback in self.callbacks[event][:]:
            try:
                callback(*args, **kwargs)
            except (Exception, KeyboardInterrupt) as problem:
                if isinstance(problem, KeyboardInterrupt) and event.startswith("pre_"):
                    raise
                if self.print_on_error:
                    print(
                        f"Error in callback {callback} (for {event}), "
                        f"with arguments args {args},kwargs {kwargs}:"
                    )
                self.shell.showtraceback(tb_offset=0)  # no frame of ours is shown
        self.shell._last_error = error
