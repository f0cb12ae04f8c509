"""A vault in a folder: one file per object, at the path its key says."""

import errno
import os
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import ExitStack, aclosing, closing, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import ParamSpec, TypeVar
from uuid import uuid4

from shoal.runtime.errors import Conflict, NotFound, ShoalError, Unavailable
from shoal.vault import tree
from shoal.vault.intake import BLOCK, Intake
from shoal.vault.names import INCOMING
from shoal.vault.objects import Found
from shoal.vault.threads import in_thread

P = ParamSpec("P")
T = TypeVar("T")

ABANDONED_AFTER_S = 24 * 3600
_LISTED_AT_ONCE = 500
# A name on the way may be a file or a link, and a name at the end a socket.
_ABSENT = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO}
_IN_THE_WAY = {errno.ENOTDIR, errno.ELOOP, errno.EISDIR, errno.EEXIST, errno.ENOTEMPTY}
_FULL = {errno.ENOSPC, errno.EDQUOT}
_NOT_OURS = {errno.EACCES, errno.EPERM, errno.EROFS}


class Folder:
    def __init__(self, root: Path) -> None:
        self._root = root
        with _explained(root):
            tree.create_root(root)
            (root / INCOMING).mkdir(exist_ok=True)
            self._remove_abandoned()

    async def put(self, key: str, intake: Intake, content_type: str) -> None:  # noqa: ARG002 - a file has none
        name = uuid4().hex
        with ExitStack() as opened:
            try:
                file = await self._run(self._create, name, opened)
                async with aclosing(intake.blocks()) as blocks:
                    async for block in blocks:
                        await self._run(_write, file, block)
                await self._run(self._finish, file, name, key)
            except BaseException:
                await self._run(self._discard, name)
                raise

    async def get(self, key: str, start: int, end: int | None) -> AsyncGenerator[bytes, None]:
        with ExitStack() as opened:
            file, size = await self._run(self._open, key, opened)
            stop = size if end is None else min(end, size)
            while start < stop:
                block = await self._run(os.pread, file, min(BLOCK, stop - start), start)
                if not block:
                    return
                start += len(block)
                yield block

    async def find(self, key: str) -> Found | None:
        return await self._run(self._find, key)

    async def list(self, prefix: str) -> AsyncGenerator[Found, None]:
        with closing(tree.walk(self._root, prefix)) as found:
            while batch := await self._run(self._next, found):
                for one in batch:
                    yield one

    async def delete(self, keys: Sequence[str]) -> None:
        for key in keys:
            await self._run(self._remove, key)

    async def check(self) -> None:
        """Write a file and remove it: a folder that cannot be written to is of no use."""
        with ExitStack() as opened:
            name = uuid4().hex
            await self._run(self._create, name, opened)
            await self._run(self._discard, name)

    async def _run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        with _explained(self._root):
            return await in_thread(work, *args, **kwargs)

    def _create(self, name: str, opened: ExitStack) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        file = os.open(self._root / INCOMING / name, flags, 0o666)
        opened.callback(os.close, file)
        return file

    def _finish(self, file: int, name: str, key: str) -> None:
        tree.sync(file)
        try:
            tree.place(self._root, name, key)
        except OSError as error:
            if error.errno in _IN_THE_WAY:
                raise Conflict(
                    "object_key_conflict",
                    f"{key!r} cannot be stored: a folder or an object of another key is there.",
                    hint="Choose keys of which none is the start of another.",
                ) from error
            raise

    def _discard(self, name: str) -> None:
        # What cannot be removed now is found abandoned later.
        with suppress(OSError):
            (self._root / INCOMING / name).unlink()

    def _open(self, key: str, opened: ExitStack) -> tuple[int, int]:
        try:
            return tree.open_object(self._root, key, opened)
        except OSError as error:
            if error.errno in _ABSENT:
                raise NotFound("object_not_found", f"There is no object {key!r}.") from error
            raise

    def _find(self, key: str) -> Found | None:
        try:
            return tree.find(self._root, key)
        except OSError as error:
            if error.errno in _ABSENT:
                return None
            raise

    def _next(self, found: Iterator[Found]) -> Sequence[Found]:
        try:
            return tuple(islice(found, _LISTED_AT_ONCE))
        except OSError as error:
            if error.errno in _ABSENT:
                return ()
            raise

    def _remove(self, key: str) -> None:
        try:
            tree.remove(self._root, key)
        except OSError as error:
            if error.errno not in _ABSENT:
                raise

    def _remove_abandoned(self) -> None:
        """Files of processes that ended in the middle of a put; a living one keeps writing."""
        for path in (self._root / INCOMING).iterdir():
            with suppress(FileNotFoundError):
                if path.lstat().st_mtime < time.time() - ABANDONED_AFTER_S:
                    path.unlink()


def _write(file: int, block: bytes) -> None:
    left = memoryview(block)
    while left:
        left = left[os.write(file, left) :]


@contextmanager
def _explained(root: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _what_happened(root, error) from error


def _what_happened(root: Path, error: OSError) -> ShoalError:
    if error.errno in _FULL:
        return Unavailable(
            "vault_full",
            f"The disk of the vault {root} is full.",
            hint="Make room on it, or move the vault with SHOAL_VAULT_URL.",
        )
    if error.errno in _NOT_OURS:
        return Unavailable(
            "vault_refused",
            f"The vault {root} refuses us: {error.strerror}.",
            hint="Check who owns it and whether its file system is read-only.",
        )
    return Unavailable(
        "vault_unavailable",
        f"The vault {root} cannot be used: {error.strerror}.",
        hint="Check that SHOAL_VAULT_URL names a folder and that its disk is there.",
    )
