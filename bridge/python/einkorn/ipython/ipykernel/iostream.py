"""The class of the cells' ``sys.stdout`` and ``sys.stderr``."""

import _einkorn

__all__ = ["OutStream"]

OutStream = type(_einkorn.stdout)
