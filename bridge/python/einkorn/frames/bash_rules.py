r"""What ``host.bash`` refuses by itself, and what it leaves out of its reports, as tables.

The host decides whether a command may run.  These rules stand before it and know only a few
commands that nobody can have meant, and by how they are usually written: they keep from accidents
and are no sandbox.

Each pattern looks at a text once: ``(?>...)`` keeps it from trying again from every other place,
so that a long command costs no more than its length.
"""

import os
import re

# ---- commands that are refused -----------------------------------------------------------------

WHOLE, SIMPLE = "whole", "simple"

# (where, pattern, reason): WHOLE is the command as it is, SIMPLE each piece between ; & | and the
# ends of lines.
_AS_ROOT = r"(?:sudo\s+(?:-\S+\s+)*)?"
_SHELL = r"(?:\S*/)?(?:ba|da|z|k|c|tc|fi|a)?sh\b"
COMMANDS = (
    (SIMPLE,
     r"(?>.*?\brm\b)(?=.*\s-(?:\w*[rR]|-recursive\b))"
     r""".*\s["']?(?:/|~|\$HOME\b|\$\{HOME\})["'/*.]*(?=[\s)}]|$)""",
     "recursive delete of '/', '~' or $HOME"),
    (WHOLE, r"\bmkfs\b", "mkfs would format a filesystem"),
    (SIMPLE,
     r"(?>.*?\bdd\b).*\bof=[\"']?/dev/(?!(?:null|zero|full|tty|std(?:out|err))\b|fd/|shm/)",
     "dd writing to a device"),
    (WHOLE,
     r">\|?[ \t]*[\"']?/dev/(?:(?:sd|hd|vd|xvd)[a-z]|nvme\d|mmcblk\d|disk\d|dm-\d|md\d|mapper/)",
     "overwriting a disk"),
    (SIMPLE,
     r"(?>.*?\bchmod\b)(?=.*\s(?:[0-7]?777|(?:a|ugo)?[+=]rwx)\s)"
     r""".*\s["']?/["'*]*(?=[\s)}]|$)""",
     "chmod 777 on '/'"),
    (WHOLE, r"(:|\b\w{1,64})\s*\(\)\s*\{\s*\1\s*\|\s*\1\s*&", "shell fork bomb"),
    (WHOLE,
     rf"(?m)^(?>.*?\b(?:curl|wget)\b)[^\n;]*\|&?\s*{_AS_ROOT}{_SHELL}",
     "running a downloaded script in a shell"),
    (WHOLE,
     r"\b(?:(?:ba|da|z|k|c|tc|fi|a)?sh|eval|source)\s[^\n;|]{0,80}?(?:<\(|\$\(|`)\s*"
     r"(?:curl|wget)\b",
     "running a downloaded script in a shell"),
)  # fmt: skip

_SEPARATORS = r"[;&|\n]+"


def refusal(command):
    """Return the reason for which a command is not run, None if these rules know none."""
    command = command.replace("\\\n", " ")  # a line that goes on
    pieces = re.split(_SEPARATORS, command)
    for where, pattern, reason in COMMANDS:
        if where == WHOLE:
            if re.search(pattern, command):
                return reason
        elif any(re.match(pattern, piece) for piece in pieces):
            return reason
    return None


# ---- addresses in a command ----------------------------------------------------------------------

_URL = r"(?i)\bhttps?://(?:[^\s/@'\"|;<>()`]*@)?(\[[0-9a-f:.]+\]|[\w.~%-]+)"


def domains(command):
    """Return the hosts of the http(s) addresses in a command, each once, in order."""
    found = (match[1].strip("[]").rstrip(".").lower() for match in re.finditer(_URL, command))
    return list(dict.fromkeys(name for name in found if name))


# Where OPENAI4S_EGRESS asks for a list and the host gives no verdict: these and what is below them.
EGRESS_MODES = frozenset({"allowlist", "allow_list", "on", "1", "enforce"})
ALLOWED_DOMAINS = (
    # data
    "ncbi.nlm.nih.gov", "ebi.ac.uk", "uniprot.org", "rcsb.org", "ensembl.org",
    "cellxgene.cziscience.com",
    # papers
    "arxiv.org", "biorxiv.org", "crossref.org", "doi.org", "europepmc.org", "openalex.org",
    "semanticscholar.org",
    # packages
    "anaconda.com", "anaconda.org", "bioconductor.org", "conda-forge.org", "github.com",
    "githubusercontent.com", "npmjs.com", "npmjs.org", "pypi.org", "pythonhosted.org",
    "r-project.org",
)  # fmt: skip


def blocked_domain(names):
    """Return the first host that is not on the list; None: all are, or there is no list."""
    if os.environ.get("OPENAI4S_EGRESS", "").strip().lower() not in EGRESS_MODES:
        return None
    below = tuple("." + allowed for allowed in ALLOWED_DOMAINS)
    return next((name for name in names if not f".{name}".endswith(below)), None)


# ---- the report on the workspace -----------------------------------------------------------------

SKIPPED_DIRECTORIES = frozenset({".git", ".venv", "node_modules", "__pycache__"})
# Files whose names do not go to the host: patterns of the name, in lower case.
SECRET_FILES = (".env", ".env.*", "*.pem", "*.key", "id_rsa", "id_ed25519", ".netrc", ".pgpass")
