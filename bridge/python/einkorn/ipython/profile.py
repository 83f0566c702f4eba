"""The user's IPython profile: configuration, extensions, startup files.

All by IPython's own machinery, so what ipykernel reads is read, in the same order: configuration of
the system, of the environment and of the profile (``ipython_config`` and ``ipython_kernel_config``,
.py and .json), then the arguments of the command line.  ``load`` reads it before the shell is made;
``start`` runs what is to be run, in the name of the first cell, where its output and its errors are
seen.  An error ends neither the session nor the cell.

Whether there is a profile at all is found out in loading.py, without IPython.
"""

import ast
import logging
import os
import sys

from IPython.core.application import BaseIPythonApplication
from IPython.core.profiledir import ProfileDirError
from IPython.core.shellapp import InteractiveShellApp, shell_aliases
from traitlets import Dict, List, Set, Tuple, default
from traitlets.config import Config
from traitlets.config.loader import DeferredConfigList

from .. import settings

_CONTAINERS = (List, Tuple, Set, Dict)
_ALONE = {"pylab": "auto", "matplotlib": "auto"}  # what these mean without a value


class IPKernelApp(BaseIPythonApplication, InteractiveShellApp):
    """What reads the profile.  Its name is that of the section in configuration files."""

    name = "ipython-kernel"

    @default("log")
    def _make_log(self):
        log = logging.getLogger(f"{__name__}.{type(self).__name__}")
        log.propagate = False
        log.handlers = [_Log()]
        return log

    def exit(self, exit_status=0):
        """Go on: what is missing has been told, and Python is not ours to end."""
        raise ProfileDirError

    def load(self):
        """Read the configuration; what is wrong with it is told at ``start``."""
        arguments = _arguments(settings.TRAITS)
        if settings.IPYTHON_DIR:
            arguments.BaseIPythonApplication.ipython_dir = os.path.expanduser(settings.IPYTHON_DIR)
        if settings.PROFILE:
            arguments.BaseIPythonApplication.profile = settings.PROFILE
        if settings.PROFILE_DIR:
            arguments.ProfileDir.location = os.path.expanduser(settings.PROFILE_DIR)
        self.update_config(arguments)
        try:
            self.init_profile_dir()
        except ProfileDirError:
            self.profile_dir = None  # the shell takes the default one
        try:
            self.init_config_files()
            self.load_config_file()
        except Exception:
            self.log.exception("Error loading the configuration")
        self.update_config(arguments)

    def start(self, shell):
        """Load the extensions and run the startup files and lines in a shell (once)."""
        for handler in self.log.handlers:
            if isinstance(handler, _Log):
                handler.open()
        self.shell = shell
        shell.configurables.append(self)
        if self.profile_dir is None:
            self.profile_dir = shell.profile_dir
        shell._showtraceback = lambda etype, value, lines: print(
            shell.InteractiveTB.stb2text(lines), file=sys.stderr
        )
        shell.displayhook.register_hook(_drop)
        try:
            self.init_gui_pylab()
            self.init_extensions()
            self.init_code()
        finally:
            shell.displayhook.unregister_hook(_drop)
            del shell._showtraceback


class _Log(logging.Handler):
    """Writes on the cell's stderr; what comes before the first cell waits for it."""

    def __init__(self):
        super().__init__()
        self._waiting = []
        self.setFormatter(logging.Formatter("[IPKernelApp] %(levelname)s | %(message)s"))

    def emit(self, record):
        """See logging.Handler."""
        text = self.format(record) + "\n"
        if self._waiting is None:
            sys.stderr.write(text)
        else:
            self._waiting.append(text)

    def open(self):
        """From now on there is a cell."""
        waiting, self._waiting = self._waiting or (), None
        for text in waiting:
            sys.stderr.write(text)


def _drop(message):
    """A display hook: results of configured lines are nobody's."""


def _arguments(texts):
    """Return the Config that ``--Class.trait=value`` and IPython's short names for it stand for."""
    values = {}
    for text in texts:
        if not text.startswith("-"):
            continue
        name, equals, value = text.lstrip("-").partition("=")
        if not equals:
            value = _ALONE.get(name, "True")
        section, _, trait = shell_aliases.get(name.replace("_", "-"), name).partition(".")
        if trait:
            values.setdefault((section, trait), []).append(value)
    config = Config()
    for (section, trait), given in values.items():
        config[section][trait] = _Given(given)
    return config


class _Given(DeferredConfigList):
    """The values that an argument was given; what they mean depends on the trait's kind."""

    def get_value(self, trait):
        """Return what the trait is to be.  ``['a', 'b']`` is one way to write two values."""
        if len(self) == 1 and self[0][:1] in ("[", "(", "{") and isinstance(trait, _CONTAINERS):
            try:
                return ast.literal_eval(self[0])
            except (ValueError, SyntaxError):
                pass
        return super().get_value(trait)


def load():
    """Return the application, with the configuration that is to hold for the session."""
    app = IPKernelApp()
    app.load()
    return app
