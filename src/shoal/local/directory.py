"""The data directory: its layout, who holds it, its secrets."""

import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import msgspec

from shoal.local.account import postgres_account
from shoal.local.hold import Hold, Holder, read_holder, take_hold
from shoal.local.local_secrets import LocalSecrets, read_or_create
from shoal.local.sockets import make_private, socket_directory
from shoal.runtime.errors import Conflict, Invalid

_CHOOSE = "Choose another directory with --data-dir."


def _default_data_dir() -> Path:
    # The XDG rules say that a relative path is to be ignored.
    base = Path(os.environ.get("XDG_DATA_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".local" / "share") / "shoal"


class LocalSettings(msgspec.Struct, frozen=True, kw_only=True):
    data_dir: Annotated[
        Path,
        msgspec.Meta(description="Where 'shoal up' keeps everything: databases, files, secrets, logs."),
    ] = msgspec.field(default_factory=_default_data_dir)


class DataDirectory:
    """The paths of one data directory. Making one touches nothing; ``prepare`` does."""

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser().resolve()
        self.postgres = self.path / "postgres"
        self.valkey = self.path / "valkey"
        self.vault = self.path / "vault"
        self.logs = self.path / "logs"
        self.sockets = socket_directory(self.path)
        self.secrets_file = self.path / "secrets.json"
        self.restore_mark = self.path / "restore-unfinished"
        self._lock_file = self.path / "shoal.lock"

    @classmethod
    def prepare(cls, path: Path) -> "DataDirectory":
        """Create what is missing, and make sure that the directory can be used.

        Raises ``data_dir_unusable`` when it cannot be, and ``restore_unfinished`` when it holds
        half of a backup.
        """
        with _clear_errors(path):
            directory = cls(path)
            directory.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            directory._refuse_strangers()
            directory._check_writable()
            for folder in (directory.postgres, directory.valkey, directory.vault, directory.logs):
                folder.mkdir(mode=0o700, exist_ok=True)
            make_private(directory.sockets)
        if directory.restore_mark.exists():
            raise Conflict(
                "restore_unfinished",
                f"A restore into {directory.path} was cut short.",
                hint="Delete that directory and run 'shoal restore' again.",
            )
        return directory

    @property
    def is_prepared(self) -> bool:
        """Whether this is a data directory, and not just any folder or nothing at all."""
        return self.postgres.is_dir()

    def hold(self, *, url: str) -> Hold:
        """Take the directory for this process; Conflict ``data_dir_in_use`` if another has it."""
        with _clear_errors(self.path):
            return take_hold(self._lock_file, url=url)

    def holder(self) -> Holder | None:
        """Who holds the directory now; the lock decides, not what was written beside it."""
        with _clear_errors(self.path):
            return read_holder(self._lock_file)

    def secrets(self) -> LocalSecrets:
        with _clear_errors(self.path):
            return read_or_create(self.secrets_file)

    def _refuse_strangers(self) -> None:
        found = self.path.stat()
        if found.st_uid != os.geteuid():
            raise _unusable(
                self.path,
                f"it belongs to user {found.st_uid} and this is user {os.geteuid()}",
                hint=f"Run shoal as its owner. {_CHOOSE}",
            )
        if stat.S_IMODE(found.st_mode) & 0o022:
            if any(self.path.iterdir()):
                raise _unusable(
                    self.path,
                    "other users may write to it",
                    hint=f"Run: chmod go-w {self.path}. {_CHOOSE}",
                )
            self.path.chmod(0o700)
        if postgres_account().is_nobody:
            # PostgreSQL's own user must be able to walk through; all below stays private.
            self.path.chmod(0o711)

    def _check_writable(self) -> None:
        with tempfile.TemporaryFile(dir=self.path) as probe:
            probe.write(bytes(4096))
            probe.flush()
            os.fsync(probe.fileno())


@contextmanager
def _clear_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _unusable(path, _reason(error), hint=_CHOOSE) from error


def _reason(error: OSError) -> str:
    match error.errno:
        case errno.EEXIST | errno.ENOTDIR:
            return f"{error.filename} is a file and not a directory"
        case errno.EROFS:
            return "its file system is read-only"
        case errno.ENOSPC | errno.EDQUOT:
            return "its disk is full"
        case errno.EACCES | errno.EPERM:
            return f"user {os.geteuid()} may not use {error.filename}"
        case _:
            return f"{error.strerror} ({error.filename})"


def _unusable(path: Path, reason: str, *, hint: str) -> Invalid:
    return Invalid("data_dir_unusable", f"The data directory {path} cannot be used: {reason}.", hint=hint)
