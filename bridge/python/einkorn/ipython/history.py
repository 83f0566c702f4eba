"""The history of the session as IPython's magics see it."""

from IPython.core.history import HistoryManager as _HistoryManager


class HistoryManager(_HistoryManager):
    """IPython's, without the file: the kernel process writes that."""

    def __init__(self, shell, **traits):
        super().__init__(shell=shell, enabled=False, hist_file=":memory:", **traits)
