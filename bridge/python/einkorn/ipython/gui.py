"""``%gui``: the loop of a GUI toolkit runs between requests, so windows live while no cell does.

A request ends it: each toolkit watches the runner's descriptor by its own means.  asyncio's tasks
go on as well, every ``_SLICE`` seconds.  The names are ipykernel's; so are the errors.
"""

import sys
from importlib import import_module

from .. import tasks

_SLICE = 0.05  # seconds that a toolkit runs at a stretch where asyncio may have work


class Loop:
    """What runs between requests.  Subclasses make themselves ready in ``__init__``."""

    def __init__(self, gui, kernel):
        pass

    def run(self, fd, seconds):
        """Run until ``fd`` is readable, or for so many seconds (None: for ever).

        Returns whether it is readable.
        """
        raise NotImplementedError

    def idle(self, fd):
        """Run until ``fd`` is readable; return True then, False after a failure, which is told."""
        try:
            while True:
                turns = tasks.is_loaded()
                if turns and tasks.idle(fd, once=True):
                    return True
                if self.run(fd, _SLICE if turns else None):
                    return True
        except KeyboardInterrupt:
            return True  # there was nothing to interrupt; look, and come back
        except Exception as error:
            self.close()
            sys.excepthook(type(error), error, error.__traceback__)
            return False

    def close(self):
        """Give up: it is not run again."""
        self.kernel.eventloop = None


class Asyncio(Loop):
    """asyncio's loop runs anyway."""

    def idle(self, fd):
        """See Loop."""
        return tasks.idle(fd)


class Tk(Loop):
    """One Tcl interpreter, without a window, waits for the events of all that this thread has."""

    def __init__(self, gui, kernel):
        self._tcl = import_module("tkinter").Tcl()

    def run(self, fd, seconds):
        """See Loop."""
        import tkinter

        tcl = self._tcl
        done = []

        def end(found):
            done.append(found)
            tcl.tk.quit()

        tcl.tk.createfilehandler(fd, tkinter.READABLE, lambda *_: end(True))
        timer = None if seconds is None else tcl.after(int(seconds * 1000), end, False)
        try:
            while not done:  # a window's own quit() is none of ours
                tcl.tk.mainloop(-1)
        finally:
            tcl.tk.deletefilehandler(fd)
            if timer is not None:
                tcl.after_cancel(timer)
        return True in done


class Qt(Loop):
    """Any of the Qt packages that IPython knows."""

    _PACKAGES = {"qt5": ("PyQt5", "PySide2"), "qt6": ("PyQt6", "PySide6")}

    def __init__(self, gui, kernel):
        _choose_qt(self._PACKAGES.get(gui, ()))
        from IPython.external.qt_for_kernel import QtCore, QtGui

        widgets = getattr(sys.modules.get(f"{QtCore.__package__}.QtWidgets"), "QApplication", None)
        if widgets is None:
            widgets = import_module(f"{QtCore.__package__}.QtWidgets").QApplication
        self._qt = QtCore
        self._app = kernel.app = widgets.instance() or widgets([" "])
        self._app.setQuitOnLastWindowClosed(False)
        self._gui = QtGui

    def run(self, fd, seconds):
        """See Loop."""
        qt = self._qt
        loop = qt.QEventLoop()
        found = []
        kinds = getattr(qt.QSocketNotifier, "Type", qt.QSocketNotifier)
        watch = qt.QSocketNotifier(fd, kinds.Read)

        def end(*_):
            found.append(True)
            watch.setEnabled(False)
            loop.quit()

        watch.activated.connect(end)
        if seconds is not None:
            qt.QTimer.singleShot(int(seconds * 1000), loop.quit)
        getattr(loop, "exec", getattr(loop, "exec_", None))()
        watch.setEnabled(False)
        return bool(found)


def _choose_qt(packages):
    """Have IPython take one of these packages, unless QT_API or an import has chosen already."""
    import os
    from importlib.util import find_spec

    names = ("PyQt5", "PySide2", "PyQt6", "PySide6")
    loaded = [name for name in names if f"{name}.QtCore" in sys.modules]
    if not packages or os.environ.get("QT_API"):
        return
    if loaded and loaded[0] not in packages:
        raise RuntimeError(f"{loaded[0]} is in use already, and a process can have one Qt only")
    for name in loaded + list(packages):
        if find_spec(name) is not None:
            os.environ["QT_API"] = name.lower()
            return


class GLib(Loop):
    """GTK 3 and 4, and whatever else stands on GLib's main loop."""

    _VERSIONS = {"gtk4": "4.0"}

    def __init__(self, gui, kernel):
        gi = import_module("gi")
        gi.require_version("Gtk", self._VERSIONS.get(gui, "3.0"))
        self._glib = import_module("gi.repository.GLib")
        gtk = import_module("gi.repository.Gtk")
        if gtk.get_major_version() > 3:
            gtk.init()  # until a display is open windows wait for none

    def run(self, fd, seconds):
        """See Loop."""
        glib = self._glib
        turn = glib.MainContext.default().iteration  # not a MainLoop: that takes SIGINT for itself
        ends = []  # whether it is for a request

        def end(found):
            ends.append(found)
            return False  # the source is gone

        watch = glib.io_add_watch(fd, glib.IO_IN | glib.IO_HUP, lambda *_: end(True))
        timer = None if seconds is None else glib.timeout_add(int(seconds * 1000), end, False)
        try:
            while not ends:
                turn(True)
        finally:
            if True not in ends:
                glib.source_remove(watch)
            if timer is not None and False not in ends:
                glib.source_remove(timer)
        return True in ends


class Wx(Loop):
    """wxPython, which cannot wait for a descriptor: it looks."""

    def __init__(self, gui, kernel):
        wx = self._wx = import_module("wx")
        self._app = kernel.app = wx.App.Get() or wx.App(redirect=False)
        self._app.SetExitOnFrameDelete(False)

    def run(self, fd, seconds):
        """See Loop."""
        import select

        wx = self._wx
        loop = wx.GUIEventLoop()  # the application's own ends at once where there is no window
        found = []

        def look(_event):
            found[:] = select.select([fd], [], [], 0)[0]
            if found or seconds is not None:
                loop.ScheduleExit()

        timer = wx.Timer()
        timer.Bind(wx.EVT_TIMER, look)
        timer.Start(int(_SLICE * 1000))
        active = wx.EventLoopActivator(loop)
        try:
            loop.Run()
        finally:
            timer.Stop()
            del active
        return bool(found)


class _Mac(Loop):
    def __init__(self, gui, kernel):
        raise RuntimeError("Einkorn runs on Linux, where there is no such toolkit")


# None: a name of matplotlib's backends that need no loop.
LOOPS = {
    **dict.fromkeys(("inline", "nbagg", "webagg", "notebook", "ipympl", "widget", None)),
    **dict.fromkeys(("qt", "qt5", "qt6"), Qt),
    "wx": Wx,
    "tk": Tk,
    **dict.fromkeys(("gtk", "gtk3", "gtk4"), GLib),
    **dict.fromkeys(("osx", "macosx"), _Mac),
    "asyncio": Asyncio,
}


def enable(gui, kernel):
    """Have the loop of a toolkit run between requests; None, or a name without one: no longer.

    Raises ValueError for a name that is not known, RuntimeError if another toolkit runs already,
    ImportError if it is not installed.
    """
    if gui not in LOOPS:
        raise ValueError(f"Invalid GUI request {gui!r}, valid ones are:{LOOPS.keys()}")
    kind = LOOPS[gui]
    if kind is None:
        kernel.eventloop = None
    elif kernel.eventloop is None:
        loop = kind(gui, kernel)
        loop.kernel = kernel
        kernel.eventloop = loop
    elif type(kernel.eventloop) is not kind:
        raise RuntimeError("Cannot activate multiple GUI eventloops")
