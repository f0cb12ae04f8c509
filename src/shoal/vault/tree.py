"""A folder tree, walked by descriptors: every step refuses symbolic links and stays inside.

All of this blocks; it is called in a thread.
"""

import errno
import fcntl
import os
import stat
from collections.abc import Generator, Sequence
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path

from shoal.vault.names import INCOMING, is_key
from shoal.vault.objects import Found

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# Non-blocking, so that a pipe somebody put there cannot hold a thread for ever.
_OBJECT = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FULL_SYNC = getattr(fcntl, "F_FULLFSYNC", None)
_TRIES = 20
# What was a folder is gone by now, or something else is there.
_REPLACED = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}


def create_root(root: Path) -> None:
    """Make the root and the folders above it, so that they survive a power cut."""
    missing = [path for path in (root, *root.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(exist_ok=True)
        with ExitStack() as opened:
            sync(_open(path.parent, _FOLDER, opened))


def open_folders(
    root: Path, segments: Sequence[str], opened: ExitStack, *, create: bool = False
) -> list[int]:
    """The descriptors of the root and of every folder on the way, the last one last."""
    try:
        folders = [_open(root, _FOLDER, opened)]
    except FileNotFoundError as error:
        # Not the absence of an object: a disk that is not mounted must not look empty.
        raise OSError(errno.ENODEV, "the folder itself is not there") from error
    for segment in segments:
        folders.append(_enter(folders[-1], segment, opened, create=create))
    return folders


def open_object(root: Path, key: str, opened: ExitStack) -> tuple[int, int]:
    """A descriptor and the size; ``FileNotFoundError`` for whatever is not an object."""
    *above, last = key.split("/")
    folder = open_folders(root, above, opened)[-1]
    descriptor = _open(last, _OBJECT, opened, within=folder)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise FileNotFoundError(errno.ENOENT, "not an object", key)
    return descriptor, status.st_size


def find(root: Path, key: str) -> Found:
    *above, last = key.split("/")
    with ExitStack() as opened:
        folder = open_folders(root, above, opened)[-1]
        status = os.stat(last, dir_fd=folder, follow_symlinks=False)
    if not stat.S_ISREG(status.st_mode):
        raise FileNotFoundError(errno.ENOENT, "not an object", key)
    return _found(key, status)


def place(root: Path, incoming: str, key: str) -> None:
    """Move a finished file to its key, and make that last.

    Every folder on the way is synced, also those that were there: whoever made one of them may
    not have come to it yet. A folder may be removed under our feet (``remove``), hence the tries.
    """
    *above, last = key.split("/")
    for attempt in range(1, _TRIES + 1):
        with ExitStack() as opened:
            try:
                source = open_folders(root, [INCOMING], opened)[-1]
                folders = open_folders(root, above, opened, create=True)
                os.rename(incoming, last, src_dir_fd=source, dst_dir_fd=folders[-1])
            except FileNotFoundError:
                if attempt == _TRIES:
                    raise
                continue
            for folder in reversed(folders):
                sync(folder)
            return


def remove(root: Path, key: str) -> None:
    """Remove the object, and the folders above it that became empty."""
    *above, last = key.split("/")
    with ExitStack() as opened:
        folders = open_folders(root, above, opened)
        if not stat.S_ISREG(os.stat(last, dir_fd=folders[-1], follow_symlinks=False).st_mode):
            return
        os.unlink(last, dir_fd=folders[-1])
        for parent, segment in zip(reversed(folders[:-1]), reversed(above), strict=True):
            try:
                os.rmdir(segment, dir_fd=parent)
            except OSError:
                return


def walk(root: Path, prefix: str) -> Generator[Found, None, None]:
    """Every object below the prefix, in no order. What comes and goes meanwhile may be missed."""
    with ExitStack() as opened:
        top = open_folders(root, prefix.split("/") if prefix else [], opened)[-1]
        yield from _walk(top, prefix)


def _walk(folder: int, path: str) -> Generator[Found, None, None]:
    """One entry at a time: a folder may have more of them than fit into memory."""
    with os.scandir(folder) as entries:
        for entry in entries:
            key = f"{path}/{entry.name}" if path else entry.name
            if not is_key(key):  # nor is anything below it
                continue
            if entry.is_file(follow_symlinks=False):
                with suppress(FileNotFoundError):
                    yield _found(key, entry.stat(follow_symlinks=False))
            elif entry.is_dir(follow_symlinks=False):
                with ExitStack() as opened:
                    try:
                        below = _enter(folder, entry.name, opened, create=False)
                    except OSError as error:
                        if error.errno in _REPLACED:
                            continue
                        raise
                    yield from _walk(below, key)


def sync(descriptor: int) -> None:
    """Return once it is on the disk itself; macOS has a call of its own for that."""
    if _FULL_SYNC is None:
        os.fsync(descriptor)
    else:
        fcntl.fcntl(descriptor, _FULL_SYNC)


def _enter(parent: int, segment: str, opened: ExitStack, *, create: bool) -> int:
    try:
        return _open(segment, _FOLDER | os.O_NOFOLLOW, opened, within=parent)
    except FileNotFoundError:
        if not create:
            raise
    with suppress(FileExistsError):
        os.mkdir(segment, dir_fd=parent)
    return _open(segment, _FOLDER | os.O_NOFOLLOW, opened, within=parent)


def _open(path: str | Path, flags: int, opened: ExitStack, *, within: int | None = None) -> int:
    descriptor = os.open(path, flags, dir_fd=within)
    opened.callback(os.close, descriptor)
    return descriptor


def _found(key: str, status: os.stat_result) -> Found:
    return Found(key, status.st_size, datetime.fromtimestamp(status.st_mtime, UTC))
