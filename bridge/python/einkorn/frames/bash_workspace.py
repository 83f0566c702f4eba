"""What a command has changed in the workspace: two looks at its files, and the difference.

Both looks are bounded.  They go through the directories in the order of names, so that of a
workspace that is larger than the bound both see the same part.
"""

import os
import stat
from fnmatch import fnmatchcase

from . import bash_rules

MAX_ENTRIES = 5000  # files and directories that are looked at
MAX_PATHS = 100  # in each list of a difference
MAX_PATH_CHARS = 500


class Snapshot:
    """The regular files of a directory and of all below it; links are not followed.

    files  path, as a tuple of names -> (time of the last change in ns, size)
    end    the first path that was not looked at, None if all were
    """

    def __init__(self, root):
        self.files, self.end = {}, None
        levels = [_entries(root, ())]
        count = 0
        while levels:
            path, entry = next(levels[-1], (None, None))
            if path is None:
                levels.pop()
                continue
            count += 1
            if count > MAX_ENTRIES:
                self.end = path
                return
            try:
                found = entry.stat(follow_symlinks=False)
            except OSError:
                continue  # it has gone meanwhile
            if stat.S_ISREG(found.st_mode):
                self.files[path] = found.st_mtime_ns, found.st_size
            elif stat.S_ISDIR(found.st_mode) and entry.name not in bash_rules.SKIPPED_DIRECTORIES:
                levels.append(_entries(entry.path, path))


def _entries(directory, path):
    """Return an iterator over what is in a directory: (path as a tuple, os.DirEntry)."""
    try:
        with os.scandir(directory) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError:
        entries = ()  # it may not be read, or has gone
    return (((*path, entry.name), entry) for entry in entries)


def difference(before, after):
    """Return what changed between two Snapshots, as the host is told.

    A dict of three lists of paths, ``created``, ``modified`` and ``deleted``, and ``truncated``:
    whether there may be more.
    """
    ends = [end for end in (before.end, after.end) if end is not None]
    old, new = before.files, after.files
    if ends:  # what only one of them came to is no change
        end = min(ends)
        old = {path: facts for path, facts in old.items() if path < end}
        new = {path: facts for path, facts in new.items() if path < end}
    changes = {
        "created": sorted(new.keys() - old.keys()),
        "modified": sorted(path for path in new.keys() & old.keys() if new[path] != old[path]),
        "deleted": sorted(old.keys() - new.keys()),
    }
    return {
        **{kind: [_shown(path) for path in paths[:MAX_PATHS]] for kind, paths in changes.items()},
        "truncated": bool(ends) or any(len(paths) > MAX_PATHS for paths in changes.values()),
    }


def _shown(path):
    name = path[-1].lower()
    if any(fnmatchcase(name, pattern) for pattern in bash_rules.SECRET_FILES):
        return "<secret-path>"
    return "/".join(path)[:MAX_PATH_CHARS]
