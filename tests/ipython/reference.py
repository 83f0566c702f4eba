"""
What IPython itself makes of the values of values.py: a program for the kernel's Python.

Reads {name: cell} from stdin, as JSON, and writes {name: [data, metadata, stdout]}. No kernel is
involved: this is InteractiveShell and its DisplayFormatter.
"""

import base64
import contextlib
import io
import json
import os
import sys
import warnings

from IPython.core.interactiveshell import InteractiveShell

import __main__


def shown(shell, cell):
    statements, _, expression = cell.strip().rpartition("\n")
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(statements, __main__.__dict__)
        value = eval(expression, __main__.__dict__)
        if value is None:
            return [{"text/plain": "None"}, {}, ""]
        data, metadata = shell.display_formatter.format(value)
    for mime, item in data.items():
        if isinstance(item, bytes):
            data[mime] = base64.b64encode(item).decode()
    return [data, metadata, out.getvalue()]


def main():
    warnings.simplefilter("ignore")
    shell = InteractiveShell.instance(user_module=__main__, user_ns=__main__.__dict__)
    shell.showtraceback = lambda *args, **kwargs: None  # a value that cannot be shown
    cells = json.load(sys.stdin)
    out = os.fdopen(os.dup(1), "w")
    json.dump({name: shown(shell, cell) for name, cell in cells.items()}, out)
    out.flush()
    os._exit(0)  # the history thread and what the values did to the interpreter do not matter


main()
