"""The magics that a kernel has beside IPython's own, and those that work otherwise in one.

Their names and what they print are ipykernel's: notebooks, courses and manuals refer to them.
"""

import os
import sys
import warnings

from IPython.core import page
from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_magic, magics_class
from IPython.display import Javascript, display
from IPython.utils import openpy
from IPython.utils.process import arg_split

from .. import settings

_QTCONSOLE = "from qtconsole.qtconsoleapp import main; main()"

_CONNECT = """
Paste the above JSON into a file, and connect with:
    $> jupyter <app> --existing <file>
or, if you are local, you can connect with just:
    $> jupyter <app> --existing {name}
or even just:
    $> jupyter <app> --existing
if this is the most recent Jupyter kernel you have started."""


@magics_class
class KernelMagics(Magics):
    """Magics of a kernel."""

    @line_magic
    def edit(self, parameter_s="", last_call=None):
        """Open an editor on a file, on a definition, or on earlier input.

        Usage:
          %edit [-n LINE] [-p] [-r] [TARGET]

        The client opens the editor, if it has one; what is written there does not come back by
        itself, for nobody knows when the editor is closed.

        TARGET is one of:

        - numbers and ranges of earlier inputs (``1 4:8 9``), as for %macro
        - a variable that holds a string with code
        - a function, a class or a module: the file that it comes from, at its definition
        - the name of a file (``.py`` may be left out)
        - nothing: an empty temporary file

        Options:

        -n LINE  open the file at this line
        -p       edit what was edited last
        -r       take earlier input as it was typed (raw), not as it was run

        ``%ed`` is the same.
        """
        from IPython.core.magics.code import CodeMagics, MacroToEdit

        options, arguments = self.parse_options(parameter_s, "prn:")
        try:
            name, line, _ = CodeMagics._find_edit_target(
                self.shell, arguments, options, last_call or ["", ""]
            )
        except MacroToEdit:
            print("Macro editing not yet implemented in 2-process model.")
            return
        if name is None:  # why, has been said
            return
        self.shell.payload_manager.write_payload(
            {"source": "edit_magic", "filename": os.path.realpath(name), "line_number": line}
        )

    @line_magic
    def clear(self, arg_s):
        """Clear the terminal."""
        self.shell.system("clear")

    @line_magic
    def less(self, arg_s):
        """Show a file in the pager; Python files in colours."""
        if not arg_s:
            raise UsageError("Missing filename.")
        if arg_s.endswith(".py"):
            text = self.shell.pycolorize(openpy.read_py_file(arg_s, skip_encoding_cookie=False))
        else:
            with open(arg_s) as file:
                text = file.read()
        page.page(text)

    more = line_magic("more")(less)

    @line_magic
    def man(self, arg_s):
        """Show the manual page of a command in the pager."""
        page.page(self.shell.getoutput(f"man {arg_s} | col -b", split=False))

    @line_magic
    def connect_info(self, arg_s):
        """Tell how other clients can connect to this kernel.

        Prints the connection file, and the commands of local clients; for the kernel that was
        started last it is simply

            $> jupyter <app> --existing
        """
        try:
            path = _connection_file()
            with open(path) as file:
                text = file.read()
        except Exception as error:
            warnings.warn(f"Could not get connection info: {error!r}", stacklevel=2)
            return
        print(text + "\n" + _CONNECT.format(name=_short(path)))

    @line_magic
    def qtconsole(self, arg_s):
        """Open a qtconsole on this kernel; the arguments are qtconsole's."""
        import subprocess
        from importlib.util import find_spec

        try:
            if find_spec("qtconsole") is None:
                raise ModuleNotFoundError("No module named 'qtconsole'")
            subprocess.Popen(
                [sys.executable, "-c", _QTCONSOLE, "--existing", _connection_file(), *arg_split(arg_s, True)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # an interrupt of the kernel is none of it
            )
        except Exception as error:
            warnings.warn(f"Could not start qtconsole: {error!r}", stacklevel=2)

    @line_magic
    def autosave(self, arg_s):
        """Have the classic notebook save itself every so many seconds; 0: never."""
        try:
            seconds = int(arg_s)
        except ValueError as error:
            raise UsageError(f"%autosave requires an integer, got {arg_s!r}") from error
        display(
            Javascript(f"IPython.notebook.set_autosave_interval({1000 * seconds})"),
            include=["application/javascript"],
        )
        print(f"Autosaving every {seconds} seconds" if seconds else "Autosave disabled")

    @line_magic
    def subshell(self, arg_s):
        """List the subshells."""
        print("Kernel does not support subshells")


def _connection_file():
    """Return the path of the connection file.  Raises RuntimeError where there is none."""
    if not settings.CONNECTION_FILE:
        raise RuntimeError("the kernel was started without a connection file")
    return os.path.abspath(settings.CONNECTION_FILE)


def _short(path):
    """Return how ``--existing`` can name the file: by its name alone, in the usual directory."""
    try:
        from jupyter_core.paths import jupyter_runtime_dir
    except ImportError:
        return path
    directory, name = os.path.split(path)
    return name if directory == jupyter_runtime_dir() else path
