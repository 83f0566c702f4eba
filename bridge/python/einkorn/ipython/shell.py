"""The shell: IPython's InteractiveShell, speaking through the runner.

Its class has the name and the module that libraries look for.  Everything that IPython does with a
cell it does here too (transformers, events, formatters, magics, history); what ipykernel adds to
that is replaced: messages go to the runner, the count and the parent of a cell come from it.
"""

import contextlib
import os
import sys
import warnings

import _einkorn

import IPython.utils.module_paths  # noqa: F401  (magics will want it: here lazy.py spares it importlib.abc)
from IPython.core import page
from IPython.core.autocall import ZMQExitAutocall
from IPython.core.error import UsageError
from IPython.core.events import available_events
from IPython.core.interactiveshell import InteractiveShell, InteractiveShellABC
from IPython.core.payload import PayloadManager
from IPython.core.profiledir import ProfileDir
from IPython.utils.text import LSString, SList
from traitlets import Any, CBool, Instance, Type, default

from .. import parents, tasks
from . import debugging, lazy, loading, shim
from .app import IPKernelApp
from .compiler import Compiler
from .completing import CompletesLate
from .displaying import ZMQDisplayPublisher, ZMQShellDisplayHook
from .events import Events
from .formatting import DisplayFormatter
from .history import HistoryManager
from .kernel import IPythonKernel
from .magics import KernelMagics
from .showing import ShowsErrors
from .transforming import TransformerManager

_ENVIRONMENT = {
    "TERM": "xterm-color",
    "CLICOLOR": "1",
    "FORCE_COLOR": "1",
    "CLICOLOR_FORCE": "1",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
}

# Coroutines that a cell passes through. An interrupt may come between the making of one and its
# first step, and Python would warn that it "was never awaited".
_UNSTARTED = r"coroutine '(ZMQ)?InteractiveShell\."


def _refuse_background(command):
    if command.rstrip().endswith("&"):
        raise OSError("Background processes not supported.")


def _may_await(code):
    return "await" in code or "async" in code


def _leave_child(error):
    """End a forked child that came to the end of its cell, as the runner ends one."""
    if error is not None:  # IPython has shown it, if it is to be seen
        raise error if isinstance(error, SystemExit) else SystemExit(1)


class Payloads(PayloadManager):
    """Hands payloads to the runner, which keeps them for the reply of the caller's cell."""

    def write_payload(self, data, single=True):
        """Ask something of the client (messaging spec, "Payloads")."""
        if not isinstance(data, dict):
            raise TypeError(f"a payload must be a dict, not {data!r}")
        _einkorn.payload(data)


class ZMQInteractiveShell(ShowsErrors, CompletesLate, parents.Speaks, InteractiveShell):
    """IPython's shell in a kernel.  One instance; ``get_ipython()`` returns it."""

    displayhook_class = Type(ZMQShellDisplayHook)
    display_pub_class = Type(ZMQDisplayPublisher)
    compiler_class = Type(Compiler)
    profile_dir = Instance(ProfileDir, allow_none=True)  # IPython's comes with its applications
    kernel = Any()
    autoindent = CBool(False)
    exiter = Instance(ZMQExitAutocall)
    keepkernel_on_exit = None
    profile = None  # what is still to be started, in the first cell
    cell_count = 0  # the number of the cell that runs
    cell_is_stored = True  # it has a place in In and Out
    in_plain_cell = False  # it does not come through here

    @default("exiter")
    def _make_exiter(self):
        return ZMQExitAutocall(self)

    @default("input_transformer_manager")
    def _make_input_transformer_manager(self):
        return TransformerManager()

    # What InteractiveShell.__init__ calls.

    def init_environment(self):
        """Have programs colour their output, and not page it; spare the user a warning."""
        os.environ.update(_ENVIRONMENT)
        warnings.filterwarnings("ignore", _UNSTARTED, RuntimeWarning, append=True)  # the user's come first

    def init_history(self):
        """Make the history manager."""
        self.history_manager = HistoryManager(shell=self, parent=self)
        self.configurables.append(self.history_manager)

    def init_display_formatter(self):
        """Make the formatter of results and displays."""
        self.display_formatter = DisplayFormatter(parent=self)
        self.configurables.append(self.display_formatter)

    def init_payload(self):
        """Make the payload manager."""
        self.payload_manager = Payloads(parent=self)
        self.configurables.append(self.payload_manager)

    def init_hooks(self):
        """Have the pager of the client show what is paged."""
        super().init_hooks()
        self.set_hook("show_in_pager", page.as_hook(self.payloadpage_page), 99)

    def init_magics(self):
        """Add those of a kernel to IPython's."""
        super().init_magics()
        self.register_magics(KernelMagics)
        self.magics_manager.register_alias("ed", "edit")

    def enable_gui(self, gui=None):
        """Have the loop of a GUI toolkit run between requests; None: no longer."""
        from .gui import enable

        try:
            enable(gui, self.kernel)
        except ValueError as error:
            raise UsageError(str(error)) from error
        self.active_eventloop = gui

    def init_events(self):
        """Make the events."""
        self.events = Events(self, available_events)
        self.events.register("pre_execute", self._clear_warning_registry)

    def init_virtualenv(self):
        """Nothing: the kernel runs the environment's own Python."""

    def atexit_operations(self):
        """Let go of the user's names, without the collection: the interpreter's own follows."""
        hook = self.displayhook
        hook.do_full_cache = False
        hook._ = hook.__ = hook.___ = self.InteractiveTB.tb = None
        super().atexit_operations()

    # Commands of the shell.

    def system_piped(self, cmd):
        """Run a command on a terminal: see system.run.  Its exit code goes to ``_exit_code``."""
        from . import system

        _refuse_background(cmd)
        self.user_ns["_exit_code"] = -2  # of one that an interrupt ends
        code = self.user_ns["_exit_code"] = system.run(self.var_expand(cmd, depth=1))
        if code != 0 and getattr(self, "system_raise_on_error", False):
            raise system.CalledProcessError(code, cmd)

    system = system_piped

    def getoutput(self, cmd, split=True, depth=0):
        """Run a command and return its output, as a list of lines unless ``split`` is false.

        ``depth`` says how many frames further up the variables are that the command names.
        """
        from . import system

        _refuse_background(cmd)
        text, code = system.output(self.var_expand(cmd, depth=depth + 1))
        if self.has_trait("system_raise_on_error") and self.system_raise_on_error:  # IPython 9's
            self.user_ns["_exit_code"] = code
            if code != 0:
                raise system.CalledProcessError(code, cmd)
        return SList(text.splitlines()) if split else LSString(text)

    # What asks something of the client.

    def payloadpage_page(self, strg, start=0, screen_lines=0, pager_cmd=None):
        """Show a text, or a dict of representations, in the client's pager."""
        data = strg if isinstance(strg, dict) else {"text/plain": strg}
        payload = {"source": "page", "data": data, "start": max(0, start)}
        self.payload_manager.write_payload(payload)

    def set_next_input(self, text, replace=False):
        """Have the client put ``text`` into the next cell, or into this one."""
        payload = {"source": "set_next_input", "text": text, "replace": replace}
        self.payload_manager.write_payload(payload)

    def ask_exit(self):
        """Have the client end the kernel after this cell."""
        payload = {"source": "ask_exit", "keepkernel": bool(self.keepkernel_on_exit)}
        self.payload_manager.write_payload(payload)

    # Parents.

    parent_header = property(lambda self: self.get_parent())

    def get_parent(self):
        """Return the whole message in whose name the caller speaks."""
        return parents.get_parent()

    # Cells.

    @contextlib.contextmanager
    def _tee(self, channel):
        """Leave the streams alone: see outputs.py."""
        yield

    def run_cell(self, *args, **kwargs):
        """Run a cell: see InteractiveShell.  A method of its own, so that it can be replaced."""
        return super().run_cell(*args, **kwargs)

    def should_run_async(self, raw_cell, *, transformed_cell=None, **keywords):
        """Return whether a cell awaits.  One without the words need not be compiled to know."""
        if transformed_cell is not None and not _may_await(transformed_cell):
            return False
        return super().should_run_async(raw_cell, transformed_cell=transformed_cell, **keywords)

    def run(self, count, code, store, silent):
        """Run cell ``count`` for the runner.

        Returns None, or (ename, evalue, traceback) of an error, which the client has seen.
        """
        self.cell_count = self.execution_count = count
        self.cell_is_stored = store
        profile, self.profile = self.profile, None
        if profile is not None:
            _einkorn.context.run(profile.start, self)
        self.begin_errors()
        pid = os.getpid()
        shown = self.history_manager.shown
        shown.begin(count, store)
        self.history_manager.awaited = count if store else None
        try:
            result = self._run(code, store, silent)
        finally:
            shown.end()
        error = result.error_before_exec or result.error_in_exec
        if os.getpid() != pid:
            _leave_child(error)
        return self.facts_of(error)

    def _run(self, code, store, silent):
        if _may_await(code):
            cell, problem = code, None
            try:
                cell = self.transform_cell(code)
            except Exception:
                problem = sys.exc_info()
            how = {"transformed_cell": cell, "preprocessing_exc_tuple": problem}
            if self.loop_runner is self._asyncio_runner and self.should_run_async(code, **how):
                return self._run_async(code, store, silent, how)
        return _einkorn.context.run(
            self.run_cell, code, store_history=store, silent=silent
        )

    def _run_async(self, code, store, silent, how):
        results = []

        async def run():
            results.append(
                await self.run_cell_async(code, store_history=store, silent=silent, **how)
            )

        try:
            tasks.run_coroutine(run())
        except KeyboardInterrupt:
            if not results or results[0].success:
                raise
        finally:
            result = results[0] if results else None
            _einkorn.context.run(self._end_cell, result, silent)
        return result

    def _end_cell(self, result, silent):
        self.events.trigger("post_execute")
        if not silent:
            self.events.trigger("post_run_cell", result)

    @property
    def _asyncio_runner(self):
        from IPython.core.async_helpers import _asyncio_runner

        return _asyncio_runner

    # Cells that the runner ran by itself, as the shell was made only in their course.

    def begin_plain_cell(self):
        """A plain cell needed the shell."""
        self.in_plain_cell = True

    def end_plain_cell(self):
        """It is over: what waits for the end of a cell hears of it."""
        from IPython.core.interactiveshell import ExecutionInfo, ExecutionResult

        self.in_plain_cell = False
        info = ExecutionInfo(None, False, False, True, None)
        self._end_cell(ExecutionResult(info), silent=False)

    def show_result(self, value, count, store):
        """Show the result of a plain cell as IPython shows one."""
        self.cell_count, self.cell_is_stored = count, store
        self.displayhook(value)


InteractiveShellABC.register(ZMQInteractiveShell)
for _class in (ZMQInteractiveShell, ZMQDisplayPublisher):
    _class.__module__ = "ipykernel.zmqshell"
KernelMagics.__module__ = "ipykernel.zmqshell"
ZMQShellDisplayHook.__module__ = "ipykernel.displayhook"


def make_shell(names):
    """Make the shell of the session whose names ``names`` (names.Names) has kept so far."""
    import __main__

    from traitlets.config import Config

    from .. import settings

    app, options = None, {}
    if loading.has_settings():
        from . import profile

        app = profile.load()
        if app.profile_dir is not None:
            options["profile_dir"] = app.profile_dir
    config = app.config if app else Config()
    config.IPKernelApp.connection_file = settings.CONNECTION_FILE
    unders = {name: names.namespace[name] for name in ("_", "__", "___") if name in names.namespace}
    with lazy.put_off(["tempfile"]):
        shell = ZMQInteractiveShell.instance(
            config=config, user_module=__main__, user_ns=names.namespace, **options
        )
    shell.profile = app
    root = IPKernelApp.instance(config=config, shell=shell, kernel_class=IPythonKernel)
    root.kernel = shell.kernel = shell.parent = IPythonKernel.instance(parent=root, shell=shell)
    tasks.runners.add(InteractiveShell.run_code.__code__)
    shell.compile.flags |= _einkorn.future_flags()
    names.namespace.update(unders)  # the displayhook has emptied them
    names.hand_over(shell.history_manager, shell.displayhook)
    hidden = ("In", "Out", "_ih", "_oh")  # from %who and its kin
    shell.user_ns_hidden.update((name, names.namespace[name]) for name in hidden)
    shim.fill_zmqshell(globals())
    debugging.install()
    shell.extension_manager.load_extension("storemagic")  # IPython's applications always have it
    return shell
