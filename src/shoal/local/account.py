"""The account PostgreSQL runs under: our own, except for root, as whom it refuses to run.

* Ordinary user: nothing to do.
* root, user namespaces allowed: ``unshare`` shows the process a user ``nobody``, while for the
  kernel it stays the owner of root's files, in root's private directories. ``unshare`` replaces
  itself with the command, so the pid is the server's own.
* root, user namespaces refused (many containers): the user ``nobody`` for real. It must own its
  files and be able to walk to them.
"""

import os
import shutil
import stat
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypedDict

from shoal.runtime.errors import Invalid

NOBODY = 65534


class Identity(TypedDict, total=False):
    """The arguments of ``subprocess`` that choose a user."""

    user: int
    group: int
    extra_groups: list[int]


@dataclass(frozen=True)
class Account:
    prefix: tuple[str, ...] = ()
    is_nobody: bool = False

    @property
    def identity(self) -> Identity:
        return Identity(user=NOBODY, group=NOBODY, extra_groups=[]) if self.is_nobody else {}

    @property
    def owner(self) -> int:
        """Whom the kernel sees as the owner of this account's processes."""
        return NOBODY if self.is_nobody else os.geteuid()

    def hand_over(self, *folders: Path) -> None:
        """Give the folders, with all that is in them, to this account."""
        if not self.is_nobody:
            return
        for folder in folders:
            for path in (folder, *folder.rglob("*")):
                os.chown(path, NOBODY, NOBODY, follow_symlinks=False)

    def check_reach(self, *paths: Path) -> None:
        """Refuse paths this account cannot walk to."""
        if not self.is_nobody:
            return
        for path in paths:
            if private := private_parent(path):
                raise Invalid(
                    "postgres_cannot_run_as_root",
                    f"PostgreSQL does not run as root, this system has no user namespaces, and "
                    f"the user nobody cannot enter {private} on the way to {path}.",
                    hint="Run shoal as an ordinary user, or choose a --data-dir (and install "
                    "Python packages) below directories that others may enter.",
                )


def private_parent(path: Path) -> Path | None:
    """The outermost directory above ``path`` that a stranger may not enter, if there is one."""
    for parent in reversed(path.resolve().parents):
        found = parent.stat()
        entry = stat.S_IXUSR if found.st_uid == NOBODY else stat.S_IXOTH
        if not found.st_mode & entry:
            return parent
    return None


@cache
def postgres_account() -> Account:
    if os.geteuid() != 0:
        return Account()
    unshare = shutil.which("unshare")
    if unshare is not None:
        prefix = (unshare, "--user", f"--map-user={NOBODY}", f"--map-group={NOBODY}", "--")
        probe = subprocess.run([*prefix, "true"], capture_output=True, check=False)
        if probe.returncode == 0:
            return Account(prefix=prefix)
    return Account(is_nobody=True)
