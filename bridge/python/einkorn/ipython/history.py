"""The history as IPython's magics see it.

The kernel process writes the file (kernel/remember.c), so this manager has no saving thread and
no session to open or to close.  What it is asked it looks up in the file, read-only, and in what
this session has run, which the file may not have yet: a connection in memory shows both as
IPython's own three tables, for as long as a question takes.
"""

import contextlib
import sys
import threading
import time
from importlib.util import find_spec
from pathlib import Path

import _einkorn
from IPython.core.history import HistoryAccessor, HistoryManager as _HistoryManager
from traitlets import default

from .. import settings
from .outputs import Outputs

_MEMORY = ":memory:"
_LOCKED = 1.0  # seconds that a lock on the file is waited for
_ON_ITS_WAY = 2.0  # seconds that the kernel may need to give this session its number

_TABLES = """
    CREATE TABLE own_history (session integer, line integer, source text, source_raw text);
    CREATE TABLE own_output (session integer, line integer, output text);
"""
_VIEWS = """
    CREATE TEMP VIEW sessions AS SELECT * FROM {source}.sessions;
    CREATE TEMP VIEW history AS
        SELECT session, line, source, source_raw FROM {source}.history WHERE session != {session}
        UNION ALL SELECT * FROM main.own_history;
    CREATE TEMP VIEW output_history AS
        SELECT session, line, output FROM {source}.output_history WHERE session != {session}
        UNION ALL SELECT * FROM main.own_output;
"""
_NO_FILE = """
    ATTACH ':memory:' AS none;
    CREATE TABLE none.sessions (session integer primary key, start timestamp, end timestamp,
                                num_cmds integer, remark text);
    CREATE TABLE none.history (session integer, line integer, source text, source_raw text);
    CREATE TABLE none.output_history (session integer, line integer, output text);
"""


class HistoryManager(_HistoryManager):
    """IPython's, but that another process writes the file."""

    def __init__(self, shell, **traits):
        # Not IPython's two constructors: they open the file and start a thread.
        super(HistoryAccessor, self).__init__(shell=shell, **traits)
        self.db_input_cache_lock = threading.Lock()
        self.db_output_cache_lock = threading.Lock()
        self.using_thread = False
        self.hist_file = self._place()
        self.db_cache_size = sys.maxsize  # what is cached is never written
        self.awaited = None  # the cell of the kernel's that begins, if it is stored
        self.shown = Outputs(self)

    @default("enabled")
    def _is_possible(self):
        """Return whether there is an SQLite, without loading it: looking things up is seldom done."""
        return find_spec("_sqlite3") is not None

    def _place(self):
        """Return where the history is: as the command line says, or the profile, or IPython."""
        place = settings.HISTORY
        if place and not settings.HISTORY_CHOSEN and self.trait_has_value("hist_file"):
            place = str(self.hist_file)
        if not self.enabled or place in ("", _MEMORY):
            return _MEMORY
        return Path(place).expanduser().absolute()

    def tell_place(self):
        """Tell the kernel, which waits for that, what the profile says of the history."""
        file = "" if self.hist_file == _MEMORY else str(self.hist_file)
        _einkorn.history("place", file, "outputs" if self.db_log_output else "")

    # --- The session, which is the kernel's ------------------------------------------------

    @property
    def session_number(self):
        """This session's number in the file; 0 if it has none.

        The kernel gives it one with the first cell.  A cell that asks at once waits for it.
        """
        deadline = time.monotonic() + _ON_ITS_WAY
        number = _einkorn.history_session()
        while number is None and time.monotonic() < deadline:
            time.sleep(0.005)
            number = _einkorn.history_session()
        return number or 0

    @session_number.setter
    def session_number(self, number):
        """Ignored: IPython's own methods set it."""

    def new_session(self, conn=None):
        """Do nothing: a session is as long as Python lives."""

    def end_session(self):
        """Do nothing: the kernel ends it."""

    def name_session(self, name):
        """Refuse: the file is not written from here."""
        raise NotImplementedError("Einkorn's sessions have no names")

    def writeout_cache(self, conn=None):
        """Do nothing: the kernel has the lines already."""

    def init_db(self):
        """Do nothing: the file is opened when something is looked up."""

    def close(self):
        """Do nothing: nothing is open."""

    # --- What this session runs ---------------------------------------------------------------

    def store_inputs(self, line_num, source, source_raw=None):
        """Note a cell; its place in ``In`` is its number, whatever was left out before it."""
        for inputs in (self.input_hist_parsed, self.input_hist_raw):
            inputs.extend([""] * (line_num - len(inputs)))
        super().store_inputs(line_num, source, source_raw)
        self.db_input_cache.clear()
        if line_num == self.awaited:
            self.awaited = None  # a cell that this one runs is not the kernel's
            if source_raw is not None and source.rstrip("\n") != source_raw.rstrip("\n"):
                _einkorn.history("source", source)

    def store_output(self, line_num):
        """Do nothing: the kernel has seen the result."""

    # --- Looking things up ------------------------------------------------------------------------

    @property
    def db(self):
        """A new connection that shows the file and this session as IPython's tables."""
        return self._connect(self.hist_file)

    def _connect(self, file):
        import datetime
        import sqlite3

        sqlite3.register_converter(
            "timestamp", lambda text: datetime.datetime.fromisoformat(text.decode())
        )
        kinds = sqlite3.PARSE_DECLTYPES | sqlite3.PARSE_COLNAMES
        options = {"timeout": _LOCKED, "detect_types": kinds, **self.connection_options}
        connection = sqlite3.connect(f"file:{_MEMORY}", **{**options, "uri": True})
        try:
            source = "none"
            if self.enabled and file != _MEMORY and Path(file).is_file():
                connection.execute("ATTACH ? AS file", (f"{Path(file).absolute().as_uri()}?mode=ro",))
                names = connection.execute("SELECT name FROM file.sqlite_master").fetchall()
                if {("sessions",), ("history",), ("output_history",)} <= set(names):
                    source = "file"
            if source == "none":
                connection.executescript(_NO_FILE)
            self._put_own_lines(connection, source)
        except BaseException:
            connection.close()
            raise
        return connection

    def _put_own_lines(self, connection, source):
        session = self.session_number or 1
        connection.executescript(_TABLES)
        lines = zip(self.input_hist_parsed, self.input_hist_raw)
        connection.executemany(
            "INSERT INTO own_history VALUES (?, ?, ?, ?)",
            [(session, i, _plain(parsed), _plain(raw))
             for i, (parsed, raw) in enumerate(lines) if raw],
        )
        connection.executemany(
            "INSERT INTO own_output VALUES (?, ?, ?)",
            [(session, i, _plain(text)) for i, text in self.output_hist_reprs.items()],
        )
        connection.commit()
        connection.executescript(_VIEWS.format(source=source, session=session))

    def _run_sql(self, sql, params, raw=True, output=False, latest=False):
        """See IPython's.  The rows are all there when it returns; without a file it does too."""
        columns = f"history.{'source_raw' if raw else 'source'}"
        tables = "history"
        if output:
            columns += ", output_history.output"
            tables += " LEFT JOIN output_history USING (session, line)"
        if latest:
            columns += ", MAX(session * 128 * 1024 + line)"
        rows = self._select(f"SELECT session, line, {columns} FROM {tables} {sql}", params)
        if output:
            return [(row[0], row[1], (row[2], row[3])) for row in rows]
        return [row[:3] for row in rows]

    def get_session_info(self, session=0):
        """See IPython's; None for a session that is not in the file."""
        if session <= 0:
            session += self.session_number
        return next(iter(self._select("SELECT * FROM sessions WHERE session == ?", (session,))), None)

    def _select(self, sql, params):
        """All rows; those of this session alone if the file cannot be read."""
        import sqlite3

        try:
            with contextlib.closing(self.db) as db:
                return db.execute(sql, params).fetchall()
        except sqlite3.Error as error:
            self.log.warning("The history in %s cannot be read: %s", self.hist_file, error)
        with contextlib.closing(self._connect(_MEMORY)) as db:
            return db.execute(sql, params).fetchall()


def _plain(text):
    """The text as the kernel stores it: without lone surrogates."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
