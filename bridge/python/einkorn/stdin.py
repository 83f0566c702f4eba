"""``input`` and ``getpass`` over the stdin channel.

The waiting is the runner's (``_einkorn.ask``); here are the two functions that ask.  See the
messaging spec, "Messages on the stdin (ROUTER/DEALER) channel".
"""

import builtins

import _einkorn


class StdinNotImplementedError(NotImplementedError):
    """The client said that it cannot answer questions (``allow_stdin`` false).

    Name and texts are those of IPython's class, which course and batch tools look for.
    """


def input(prompt="", /):
    """Ask the user for one line and return it without its newline (str).

    ``prompt`` is shown as ``str(prompt)``.  Raises StdinNotImplementedError where the client
    cannot ask, EOFError, and KeyboardInterrupt.  Stands in for ``builtins.input``.
    """
    return _einkorn.ask(str(prompt), False)


def getpass(prompt="Password: ", stream=None, *, echo_char=None):
    """Ask the user for a secret and return it (str); errors as ``input``.

    ``stream`` and ``echo_char`` are accepted for the sake of ``getpass.getpass``, in whose place
    this stands, and mean nothing: it is the client that shows the field.
    """
    return _einkorn.ask(str(prompt), True)


def install():
    """Put ``input`` into builtins and tell the runner which exception to raise."""
    input.__module__ = "builtins"
    builtins.input = input
    _einkorn.set_stdin_error(StdinNotImplementedError)


def patch_getpass(module):
    """Put ``getpass`` into the module of that name (an action for imports.after_import)."""
    getpass.__module__ = "getpass"
    module.getpass = getpass
