"""The names a shell keeps in the user's namespace: In, Out, _, _i, exit and their kin.

Their meaning is IPython's (IPython/core/displayhook.py and history.py): ``_``, ``__``, ``___`` are
the last three results, ``_N`` and ``Out[N]`` the result of cell N, ``_i``, ``_ii``, ``_iii`` the
three inputs before this one, ``_iN`` and ``In[N]`` the input of cell N (``In`` has all of them,
without empty lines at their beginning, the names are those of the last MAX_RESULTS, or a long
session's would never end).  As soon as the user binds
``_``, ``__`` or ``___`` himself, all three are left alone until he deletes his own.
"""

import builtins
import os

import _einkorn

MAX_RESULTS = 1000  # entries of Out, as IPython's cache_size, and names _iN
CULL = 5  # one in CULL of the oldest goes when Out is full


class Names:
    """Keeps the shell's names in one namespace (a dict, normally ``__main__.__dict__``)."""

    def __init__(self, namespace):
        self.namespace = namespace
        self._inputs = [""]  # In
        self._typed = [""]  # the same as they were typed
        self._outputs = {}
        self._last = ["", "", ""]  # the last three results
        self._bound = self._last  # what we have bound _, __, ___ to
        self._recent = ["", "", "", ""]  # this input, and _i, _ii, _iii
        leave = Exit()
        namespace.update({"In": self._inputs, "Out": self._outputs, "exit": leave, "quit": leave})
        namespace.update({"_": "", "__": "", "___": "", "_i": "", "_ii": "", "_iii": ""})
        if "JPY_SESSION_NAME" in os.environ:  # the notebook's path, from jupyter_server
            namespace["__session__"] = os.environ["JPY_SESSION_NAME"]

    def input(self, count, code):
        """Note ``code`` (str) as the input of cell ``count`` (from 1)."""
        code = code.rstrip("\n")
        for inputs, text in ((self._inputs, _without_empty_lines(code)), (self._typed, code)):
            inputs.extend([""] * (count + 1 - len(inputs)))
            inputs[count] = text
        self._recent = [code] + self._recent[:3]
        _, last, second, third = self._recent
        space = self.namespace
        space.update({"_i": last, "_ii": second, "_iii": third, f"_i{count}": code})
        old = count - MAX_RESULTS
        if old > 0 and space.get(f"_i{old}") is self._typed[old]:
            del space[f"_i{old}"]

    def take_back(self, count):
        """Forget the input of cell ``count``, the newest: another shell will note it."""
        del self._inputs[count:], self._typed[count:]
        self._recent = self._recent[1:] + [""]
        self.namespace.pop(f"_i{count}", None)

    def hand_over(self, history, displayhook):
        """Give what was kept to IPython's history manager and displayhook, which go on with it."""
        history.input_hist_parsed = self._inputs
        history.input_hist_raw = self._typed
        history.output_hist = self._outputs
        history._i00, history._i, history._ii, history._iii = self._recent
        displayhook._, displayhook.__, displayhook.___ = self._last
        space = self.namespace
        space.update({"_ih": self._inputs, "In": self._inputs})
        space.update({"_oh": self._outputs, "Out": self._outputs})

    def output(self, count, value, store):
        """Note ``value`` as the last result and, with ``store``, as that of cell ``count``.

        ``Out`` itself is noted as neither.
        """
        if value is self._outputs:
            return
        space = self.namespace
        unders = ("_", "__", "___")
        ours = all(space.get(name, item) is item for name, item in zip(unders, self._bound))
        self._last = [value] + self._last[:2]
        if ours and not hasattr(builtins, "_"):  # gettext.install() puts its own _ there
            space.update(zip(unders, self._last))
            self._bound = self._last
        if store:
            if len(self._outputs) >= MAX_RESULTS:
                self._cull()
            space[f"_{count}"] = value
            self._outputs[count] = value

    def forget(self):
        """Let go of all results, at the end of the session."""
        self._outputs.clear()
        self._last = self._bound = ["", "", ""]

    def _cull(self):
        """Forget the oldest fifth of the results."""
        for count in sorted(self._outputs, key=_age)[: max(len(self._outputs) // CULL, 2)]:
            del self._outputs[count]
            self.namespace.pop(f"_{count}", None)


def _without_empty_lines(code):
    """Return ``code`` without the empty lines before its first one, if there is one."""
    text = code.lstrip()
    return code[code.rfind("\n", 0, len(code) - len(text)) + 1 :] if text else code


def _age(key):
    """Sort key for Out, into which users may have put keys of their own (they go first)."""
    return key if type(key) is int else -1


class Exit:
    """``exit`` and ``quit``: ask the client to end the kernel, after this cell's reply.

    A bare ``exit`` as the last expression of a cell does the same (the shell calls it).
    """

    def __call__(self, keep_kernel=False):
        """Add the payload ``ask_exit`` to the reply (messaging spec, "Payloads").

        With ``keep_kernel`` the client is only asked to close and leave the kernel alive.
        """
        _einkorn.payload({"source": "ask_exit", "keepkernel": bool(keep_kernel)})

    def __repr__(self):
        return "<exit: call it, or enter it alone, to end the kernel>"
