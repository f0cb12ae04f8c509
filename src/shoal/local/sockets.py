"""Where the sockets of a data directory are: inside it, unless its path cannot be a socket's.

A socket path holds about 103 bytes. In connection URLs and PostgreSQL's settings some characters
have a meaning (comma, quote, space, percent). A directory whose path is too long or not plain gets
a short private one under the system's temporary directory.
"""

import hashlib
import os
import re
import stat
from pathlib import Path

from shoal.local.account import NOBODY
from shoal.runtime.errors import Invalid

LONGEST_SOCKET_PATH = 103
_LONGEST_DIRECTORY = LONGEST_SOCKET_PATH - len("/.s.PGSQL.5432")
_PLAIN = re.compile(r"[A-Za-z0-9_./-]+")

# Not tempfile.gettempdir(): every process must find the same place, whatever its TMPDIR.
_TEMPORARY = Path("/tmp")  # noqa: S108 - `make_private` refuses what somebody else put there


def socket_directory(data_dir: Path) -> Path:
    """The socket directory that belongs to ``data_dir``; the same answer in every process."""
    inside = data_dir / "run"
    if is_socket_directory(inside):
        return inside
    digest = hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:12]
    return _TEMPORARY / f"shoal-{os.geteuid()}-{digest}"


def is_socket_directory(path: Path) -> bool:
    """Whether servers can have their sockets in ``path``, and clients can name them in a URL."""
    fits = len(os.fsencode(path)) <= _LONGEST_DIRECTORY
    return fits and _PLAIN.fullmatch(str(path)) is not None


def make_private(path: Path) -> None:
    """Create ``path`` with mode 0700, or check that it is ours alone."""
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        found = path.lstat()
        owners = {os.geteuid(), NOBODY} if os.geteuid() == 0 else {os.geteuid()}
        private = stat.S_IMODE(found.st_mode) == 0o700
        if stat.S_ISDIR(found.st_mode) and found.st_uid in owners and private:
            return
        raise Invalid(
            "socket_dir_not_private",
            f"The directory {path} for sockets is not a directory of ours with mode 0700.",
            hint="Delete it if it is a leftover, or choose a shorter path with --data-dir.",
        ) from None
