"""When IPython is loaded, and how the session goes on in its shell.

``install`` finds out whether IPython is there and puts the stand-ins up, which costs a tenth of a
millisecond; ``shell`` loads it, once, from whatever thread needs it first.  What counts as a need:
an attribute of a stand-in, ``get_ipython()``, a cell that is no Python (magics, ``!``, ``?``) or
that would end in a NameError (``ls``), completion and inspection, a result that IPython would show
in another way than ``repr`` does, and a profile with settings or startup files of the user's.
"""

import _thread
import builtins
import os
import sys
from _frozen_importlib_external import PathFinder  # `importlib` itself costs a millisecond

import _einkorn

from .. import settings
from . import stand_in

_lock = _thread.RLock()
_names = None  # names.Names of the session
_shell = None
_failure = None  # what IPython's import raised
_loads = False  # right now, by who has the lock
_finder = None
_words = None  # of IPython's own text, once somebody asked for an attribute
_in_cell = False  # a plain cell runs
_has_profile = False  # the user has one, or the system; the kernel waits for what it says
_asked = False  # whether IPython is needed from the first cell on

# Where IPython's applications look for configuration, and what for.
_SYSTEM = ("/etc/ipython", "/usr/local/etc/ipython")
_FILES = frozenset(
    {"ipython_config.py", "ipython_config.json"}
    | {"ipython_kernel_config.py", "ipython_kernel_config.json"}
)
# Arguments for what has nothing to do with cells.
_OTHERS = ("--Session.", "--HistoryManager.", "--HistoryAccessor", "--ConnectionFileMixin.")


def install(names):
    """Put up the stand-ins for a session whose names are kept by ``names`` (names.Names).

    Returns whether IPython is there.
    """
    global _names, _finder, _has_profile
    spec = PathFinder.find_spec("IPython")
    if spec is None or not (spec.origin or "").endswith("/IPython/__init__.py"):
        return False  # none, or a module of the user's own
    _names = names
    versions = {"__version__": lambda: version()[0], "version_info": lambda: version()[1]}
    stand_in.put("IPython", spec, _ensure, versions, _offers)
    _finder = stand_in.LoadFirst(lambda name: name.startswith("IPython."), _ensure)
    sys.meta_path.insert(0, _finder)
    if settings.SHIM:
        from . import shim

        shim.put_up(_ensure)
    builtins.__IPYTHON__ = True
    builtins.get_ipython = names.namespace["get_ipython"] = get_ipython
    _has_profile = _find_profile()
    if _has_profile:
        _einkorn.history("hold")
    return True


def get_ipython():
    """Return the shell: IPython, and with it all that cells can ask of it."""
    return shell()


def version():
    """Return (version, version_info) of the installed IPython without importing it."""
    space = {}
    with open(sys.modules["IPython"].__path__[0] + "/core/release.py", encoding="utf-8") as file:
        exec(compile(file.read(), file.name, "exec"), space)
    return space["version"], space["version_info"]


def _offers(attribute):
    """Whether IPython may have an attribute: a longer word of its text, or one of its modules."""
    global _words
    if _words is None:
        import re  # `site` or the user has it, as a rule

        with open(sys.modules["IPython"].__file__, encoding="utf-8") as file:
            _words = set(re.findall(r"\w{4,}", file.read()))
    path = sys.modules["IPython"].__path__
    return attribute in _words or PathFinder.find_spec(attribute, path) is not None


def current():
    """Return the shell if it is there, else None."""
    return _shell


def trigger(event):
    """Fire one of IPython's events, where the shell is there."""
    if _shell is not None:
        _shell.events.trigger(event)


def event_loop():
    """Return what runs a GUI toolkit's loop between requests (gui.Loop), None if nothing does."""
    return _shell.kernel.eventloop if _shell is not None else None


def is_possible():
    """Return whether IPython is installed, and did not fail to load."""
    return _names is not None and _failure is None


def shell():
    """Return the shell, made now if it is not there.  Raises what importing IPython raises.

    An interrupt is held back meanwhile: half an import cannot be taken up again.
    """
    if _shell is None:
        with _lock:
            if _shell is None and _failure is None and not _loads:
                _einkorn.hold_interrupts(_load, None)
    if _shell is None:
        raise ImportError("IPython cannot be loaded") from _failure
    return _shell


def _ensure():
    """Have the shell there, unless this thread is just making it."""
    with _lock:
        if not _loads:
            shell()


def _load(_):
    global _loads
    import gc  # what is made here stays: to look through it again and again costs some milliseconds

    collecting = gc.isenabled()
    gc.disable()
    _loads = True
    try:
        _make()
    finally:
        _loads = False
        if collecting:
            _make_old(gc)
            gc.enable()


def _make_old(gc):
    """Have the collector take all that there is for old.  It would have to read it all to find out."""
    if gc.get_freeze_count() == 0:  # what the user has frozen would thaw
        gc.freeze()
        gc.unfreeze()  # into the oldest generation


def _make():
    global _shell, _failure
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
    module = sys.modules["IPython"]
    come_back = _leave_directory()
    try:
        from . import lazy

        with lazy.put_off():
            stand_in.become(module)
            from .shell import make_shell
        lazy.leave_embed(module)
        made = make_shell(_names)
    except Exception as error:
        _failure = error
        raise
    finally:
        come_back()
    _shell = made
    if _in_cell:
        made.begin_plain_cell()


def _leave_directory():
    """Have the working directory play no part; return what undoes that.

    Its modules are the user's, and shadow none of those that IPython imports; one that was deleted
    has no name, which IPython asks for.
    """
    own = [(place, entry) for place, entry in enumerate(sys.path) if entry in ("", ".")]
    for _, entry in own:
        sys.path.remove(entry)
    directory = None
    try:
        os.getcwd()
    except OSError:
        directory = os.open(".", os.O_RDONLY)
        os.chdir("/")

    def come_back():
        for place, entry in own:
            sys.path.insert(place, entry)
        if directory is not None:
            os.fchdir(directory)
            os.close(directory)

    return come_back


# --- From the first cell on ----------------------------------------------------------------------


def has_settings():
    """Return whether IPython has anything to read when it is loaded: arguments, or a profile."""
    chosen = settings.TRAITS or settings.PROFILE or settings.PROFILE_DIR or settings.IPYTHON_DIR
    return bool(chosen) or _find_profile()


def _find_profile():
    """Return whether the user or the system has configuration or startup files; by five listings."""
    if os.environ.get("PYTHONSTARTUP"):
        return True
    profile = settings.PROFILE_DIR
    if not profile:
        base = settings.IPYTHON_DIR or os.environ.get("IPYTHONDIR") or "~/.ipython"
        profile = f"{base}/profile_{settings.PROFILE or 'default'}"
    for directory in (os.path.expanduser(profile), f"{sys.prefix}/etc/ipython", *_SYSTEM):
        names = _names_in(directory)
        if not _FILES.isdisjoint(names):
            return True
        if "startup" in names and any(
            name.endswith((".py", ".ipy")) for name in _names_in(f"{directory}/startup")
        ):
            return True
    return False


def _names_in(directory):
    try:
        return os.listdir(directory)
    except OSError:
        return ()


def _is_wanted():
    """Return whether the session shall be IPython's from its first cell on."""
    if settings.SHELL == "ipython":
        return True
    if any(not text.startswith(_OTHERS) for text in settings.TRAITS):
        return True
    return _has_profile


def preload():
    """Load IPython if it is wanted from the first cell on.  Called while there is no request."""
    global _asked
    if not _asked:
        _asked = True
        if is_possible() and _is_wanted():
            try:
                shell()
            except Exception:
                pass  # who needs it will be told
        if _has_profile:
            _tell_place()


def _tell_place():
    if _shell is not None:
        _shell.history_manager.tell_place()
    else:
        _einkorn.history("place", settings.HISTORY, "")


def _check():
    if settings.SHELL == "ipython" and not is_possible():
        raise ImportError(
            "einkorn was started with --shell=ipython, but IPython "
            + (f"cannot be loaded: {_failure!r}" if _failure else f"is not installed for {sys.executable}")
        ) from _failure


def shows(value):
    """Return whether a value is shown by IPython: the shell is there, or would show it otherwise."""
    if _shell is not None:
        return True
    if type(value) in _SIMPLE or not is_possible():
        return False
    from .same_text import same

    return not same(value)


_BY_FILE_NAME = ("numba", "joblib", "datasets")  # see wants_cell
_DEBUGGING = ("breakpoint", "set_trace", "pdb.")
_SIMPLE = frozenset({type(None), bool, float, complex, str, bytes})


# --- Cells --------------------------------------------------------------------------------------


def wants_cell(code):
    """Return whether a cell is rather IPython's, so far as can be told before it is compiled.

    Once the shell is there all are.  Before that it is the single line that begins with a name
    nobody knows: an error in Python, but ``ls -l`` and ``pwd`` in IPython; a cell beside a
    library that keeps its caches by the file names that IPython gives to cells; and one that calls
    a debugger, which is IPython's in notebooks.  Raises ImportError where IPython shall run the
    cells, and cannot.
    """
    preload()
    if _shell is not None:
        return True
    _check()
    if not is_possible():
        return False
    if any(library in sys.modules or library in code for library in _BY_FILE_NAME):
        return True
    if any(word in code for word in _DEBUGGING):
        return True
    if "\n" in code:
        return False
    word = _first_word(code)
    if not word or word in _names.namespace or hasattr(builtins, word):
        return False
    rest = code[len(word) :].lstrip()
    if rest[:1] in ("=", ":", ",") and rest[:2] != "==":  # a name is made here
        return False
    import keyword

    return not keyword.iskeyword(word) and not keyword.issoftkeyword(word)


def _first_word(code):
    end = 0
    while end < len(code) and (code[end].isalnum() or code[end] == "_"):
        end += 1
    word = code[:end]
    return word if word.isidentifier() else ""


def begin_plain_cell():
    """Note that a cell runs that does not go through the shell."""
    global _in_cell
    _in_cell = True


def end_plain_cell():
    """End it: where the shell was made meanwhile, its events for the end of a cell fire."""
    global _in_cell
    if _in_cell:
        _in_cell = False
        if _shell is not None:
            _shell.end_plain_cell()
