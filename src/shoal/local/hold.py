"""Who holds a data directory: an flock, and beside it a note that says who that is."""

import fcntl
import os
import time
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from shoal.runtime.errors import Conflict

_NOTE_BYTES = 512
_PROBE_S = 1.0


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """The process that holds a data directory."""

    pid: int
    started_at: datetime
    url: str
    coordinator: str = ""
    """Where the coordinator of the mesh answers."""


class Hold:
    """The right to use a data directory, until ``release`` or the end of the process."""

    def __init__(self, lock_file: int, holder: Holder) -> None:
        self._lock_file = lock_file
        self._holder = holder
        _write_note(lock_file, holder)

    def update(self, *, url: str, coordinator: str = "") -> None:
        """Tell others where the holder can be reached."""
        self._holder = msgspec.structs.replace(self._holder, url=url, coordinator=coordinator)
        _write_note(self._lock_file, self._holder)

    def release(self) -> None:
        if self._lock_file < 0:
            return
        os.ftruncate(self._lock_file, 0)
        os.close(self._lock_file)
        self._lock_file = -1


def take_hold(path: Path, *, url: str) -> Hold:
    """Lock ``path`` for this process, or raise a Conflict that names who has it."""
    # The descriptor is close-on-exec, so the servers we start do not inherit the lock.
    lock_file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _lock(lock_file, path)
        return Hold(lock_file, Holder(pid=os.getpid(), started_at=datetime.now(UTC), url=url))
    except BaseException:
        os.close(lock_file)
        raise


def read_holder(path: Path) -> Holder | None:
    """Who holds ``path`` right now; None if nobody does, whatever the note says."""
    try:
        lock_file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        deadline = time.monotonic() + _PROBE_S
        while True:
            try:
                fcntl.flock(lock_file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                # Locked a moment ago, the note follows at once.
                if (holder := _read_note(lock_file)) or time.monotonic() > deadline:
                    return holder
                time.sleep(0.01)
            else:
                return None
    finally:
        os.close(lock_file)


def _lock(lock_file: int, path: Path) -> None:
    deadline = time.monotonic() + _PROBE_S
    while True:
        try:
            fcntl.flock(lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _read_note(lock_file)
            # `read_holder` takes the lock for an instant: with no living holder, try again.
            if (holder and _exists(holder.pid)) or time.monotonic() > deadline:
                raise _in_use(path, holder) from None
            time.sleep(0.01)
        else:
            return


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's
        return True
    return True


def _in_use(path: Path, holder: Holder | None) -> Conflict:
    who = "another process"
    if holder is not None:
        since = holder.started_at.strftime("%Y-%m-%d %H:%M:%S UTC")
        where = f", reachable at {holder.url}" if holder.url else ""
        who = f"process {holder.pid} (since {since}{where})"
    return Conflict(
        "data_dir_in_use",
        f"The data directory {path.parent} is in use by {who}.",
        hint="Use that one, end it with 'shoal down', or choose another with --data-dir.",
    )


def _write_note(lock_file: int, holder: Holder) -> None:
    # One write of a fixed size, so that a reader never sees half of a note.
    os.pwrite(lock_file, msgspec.json.encode(holder).ljust(_NOTE_BYTES), 0)


def _read_note(lock_file: int) -> Holder | None:
    try:
        return msgspec.json.decode(os.pread(lock_file, 2 * _NOTE_BYTES, 0), type=Holder)
    except msgspec.DecodeError:
        return None
