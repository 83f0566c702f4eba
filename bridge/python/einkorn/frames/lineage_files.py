"""Files whose texts are tagged when they are read, and that know what was written to them.

They are the very classes that ``open`` returns, with a few methods more.
"""

import io
from os import fstat
from stat import S_ISREG

from . import lineage, provenance
from .provenance_values import Tagged


def opened(file, args, kwargs):
    """Return ``file``, which ``open(*args, **kwargs)`` gave, or one in its place."""
    path = args[0] if args else kwargs.get("file")
    if not lineage.is_path(path) or not S_ISREG(fstat(file.fileno()).st_mode):
        return file  # a device or a pipe has no versions
    mode = args[1] if len(args) > 1 else kwargs.get("mode", "r")
    reads = "r" in mode
    tags = lineage.resolve(path) if reads else frozenset()
    if reads and not tags:
        return file  # nobody's; and what is written to it replaces only a part
    kind = _KINDS.get(type(file))
    if kind is None:
        return file
    return kind.instead_of(file, path, mode, tags, args[5] if len(args) > 5 else kwargs.get("newline"))


class _Lineage(Tagged):
    """What is common to all of them; ``tags`` are those of what was read or written."""

    def _know(self, path, tags, writes):
        self.tags, self._path, self._writes = tags, lineage.os.path.abspath(lineage.os.fsdecode(path)), writes
        return self

    def _from(self, data):
        return provenance.set_tags(data, self.tags) if data else data

    def _into(self, data):
        if isinstance(data, Tagged):
            self.tags |= data.tags

    def take(self, tags):
        """Count as written from values with these tags, too."""
        self.tags |= tags

    def _closed(self):
        writes, self._writes = self._writes, False
        if writes:
            late = getattr(self, "_finalizing", False)
            (lineage.record_later if late else lineage.record)(self._path, self.tags)


def _reading(base):
    """Return the class of ``base`` with tagged reads and observed writes."""

    class File(_Lineage, base):
        _writes = False
        tags = frozenset()

        def __repr__(self):
            shown = base.__repr__(self)
            return shown if shown.startswith("<_io.") else "<_io." + shown[1:]

        def __next__(self):
            return self._from(base.__next__(self))

        def writelines(self, lines):
            lines = list(lines)
            for line in lines:
                self._into(line)
            return base.writelines(self, lines)

        def write(self, data):
            self._into(data)
            return base.write(self, data)

        def close(self):
            base.close(self)
            self._closed()

        def readlines(self, *args):
            return [self._from(line) for line in base.readlines(self, *args)]

    for name in ("read", "read1", "readline"):
        if hasattr(base, name):
            setattr(File, name, _read(getattr(base, name)))
    File.__name__, File.__qualname__, File.__module__ = base.__name__, base.__qualname__, "_io"
    return File


def _read(plain):
    def read(self, *args):
        return self._from(plain(self, *args))

    read.__name__ = plain.__name__
    return read


class _Text(_reading(io.TextIOWrapper)):
    @classmethod
    def instead_of(cls, file, path, mode, tags, newline):
        """Return one over the same buffer."""
        settings = file.encoding, file.errors, newline, file.line_buffering, file.write_through
        text = cls(file.detach(), *settings)
        text.mode = mode
        return text._know(path, tags, writes="r" not in mode)


def _binary(base):
    class File(_reading(base)):
        @classmethod
        def instead_of(cls, file, path, mode, tags, newline):
            """Return one over the same raw file."""
            return cls(file.detach())._know(path, tags, writes="r" not in mode)

    File.__name__, File.__qualname__, File.__module__ = base.__name__, base.__qualname__, "_io"
    return File


_KINDS = {
    io.TextIOWrapper: _Text,
    io.BufferedReader: _binary(io.BufferedReader),
    io.BufferedWriter: _binary(io.BufferedWriter),
    io.BufferedRandom: _binary(io.BufferedRandom),
}
_Text.__name__, _Text.__qualname__, _Text.__module__ = "TextIOWrapper", "TextIOWrapper", "_io"
