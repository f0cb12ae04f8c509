"""A shard that is arriving: what has come is on disk, in whole pieces, and is gone on with after a crash."""

import os
from pathlib import Path
from typing import Self

from blake3 import blake3

from shoal.runtime.durable import sync_directory
from shoal.runtime.errors import Conflict
from shoal.wire.data_sets import PIECE, Shard


class Arrival:
    """``came`` is how many bytes are there; what a crash left is read once more, for the hash."""

    def __init__(self, part: Path, shard: Shard) -> None:
        self.shard = shard
        self._part = part
        self._file = os.open(part, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._hasher = blake3()
        there = min(os.fstat(self._file).st_size, shard.size)
        self.came = there if there == shard.size else there - there % PIECE
        self.began_at = self.came
        """What came before: if the whole is wrong, it may be that and not whom we copied from."""
        os.ftruncate(self._file, self.came)
        for start in range(0, self.came, PIECE):
            self._hasher.update(os.pread(self._file, min(PIECE, self.came - start), start))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def next_piece(self) -> int:
        return -(-self.came // PIECE)

    @property
    def is_whole(self) -> bool:
        return self.came == self.shard.size

    def write(self, data: bytes) -> None:
        if self.came + len(data) > self.shard.size:
            raise _wrong("more bytes came than it has")
        view = memoryview(data)
        self._hasher.update(view)
        while view:
            written = os.pwrite(self._file, view, self.came)
            self.came += written
            view = view[written:]

    def finish(self, target: Path) -> None:
        if not self.is_whole:
            raise _wrong("it ended early")
        if self._hasher.hexdigest() != self.shard.hash:
            self._part.unlink(missing_ok=True)
            raise _wrong("its hash is another one")
        os.fsync(self._file)
        self._part.replace(target)
        sync_directory(target.parent)

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _wrong(why: str) -> Conflict:
    return Conflict("shard_wrong", f"What came is not the shard: {why}.")
