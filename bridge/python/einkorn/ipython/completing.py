"""IPython's completer, made when somebody first asks for it.

IPython makes it with the shell.  To import it takes a twentieth of what all of IPython takes, and a
session in which nobody completes never needs it.  It can be seen in three attributes of the shell:
``Completer``, ``strdispatchers``, which has what completes certain commands, and ``configurables``.
To read one of them makes it.  Only to ``configurables`` things can be added without that, as every
class of magics adds itself.
"""

import threading

import _einkorn


class _Late:
    """Something that is made once, by whom needs it first.  Others wait; so does an interrupt."""

    def __init__(self, make):
        self._make = make
        self._lock = threading.RLock()
        self._is_made = self._is_being_made = False

    def need(self):
        """Have it there, unless this thread is just making it."""
        if self._is_made:
            return
        with self._lock:
            if not self._is_made and not self._is_being_made:
                self._is_being_made = True
                try:
                    _einkorn.hold_interrupts(lambda _: self._make(), None)
                    self._is_made = True
                finally:
                    self._is_being_made = False


class _Shows:
    """An attribute of the shell in which the completer can be seen."""

    def __set_name__(self, owner, name):
        self._name = name

    def __get__(self, shell, owner=None):
        if shell is None:
            return self
        shell.need_completer()
        try:
            return vars(shell)[self._name]
        except KeyError:
            raise AttributeError(f"the shell has no {self._name}") from None

    def __set__(self, shell, value):
        shell.need_completer()
        vars(shell)[self._name] = value

    def __delete__(self, shell):
        shell.need_completer()
        del vars(shell)[self._name]


class _Configurables(list):
    """The list of what can be configured: in it the completer can be seen, too."""


def _reading(name):
    original = getattr(list, name)

    def method(self, *arguments, **keywords):
        self.need()
        return original(self, *arguments, **keywords)

    return method


for _name in (
    "__add__", "__contains__", "__delitem__", "__eq__", "__getitem__", "__iter__", "__len__", "__ne__",
    "__repr__", "__reversed__", "__setitem__", "clear", "copy", "count", "index", "insert", "pop", "remove",
    "reverse", "sort",
):  # fmt: skip
    setattr(_Configurables, _name, _reading(_name))


class CompletesLate:
    """The part of the shell's class that is about its completer."""

    Completer = _Shows()
    strdispatchers = _Shows()
    _late_completer = None

    def init_completer(self):
        """Have the completer made when it is needed."""
        self._completer_place = len(self.configurables)
        self._late_completer = _Late(self._make_completer)
        self.configurables = _Configurables(self.configurables)
        self.configurables.need = self.need_completer

    def need_completer(self):
        """Have the completer there."""
        if self._late_completer is not None:
            self._late_completer.need()

    def _make_completer(self):
        super().init_completer()
        self.configurables.insert(self._completer_place, self.configurables.pop())
