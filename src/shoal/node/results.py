"""Results on disk, until the server has said what it makes of them.

A result is there once ``keep`` returns, whatever happens to the node then: its file is written and on the
disk before it has its name. Any of them may be lost all the same, and is computed again: so the oldest ones
go when there are too many.
"""

import hashlib
from pathlib import Path
from typing import Any

import msgspec

from shoal.runtime.durable import clear_unfinished, write_durably


class KeptResult(msgspec.Struct, rename="camel", frozen=True):
    """What ``completeChunk`` takes."""

    chunk_id: str
    result: dict[str, Any]


class ResultStore:
    def __init__(self, folder: Path, *, most: int) -> None:
        clear_unfinished(folder)
        self._folder = folder
        self._most = most
        self._kept = self._read_all()

    @property
    def kept(self) -> list[KeptResult]:
        """The oldest first."""
        return list(self._kept.values())

    def keep(self, result: KeptResult) -> None:
        write_durably(self._file(result.chunk_id), msgspec.json.encode(result))
        self._kept[result.chunk_id] = result
        while len(self._kept) > self._most:
            self.forget(next(iter(self._kept)))

    def forget(self, chunk_id: str) -> None:
        """There is a verdict. Forgetting what is not kept does nothing."""
        if self._kept.pop(chunk_id, None) is not None:
            self._file(chunk_id).unlink(missing_ok=True)

    def _file(self, chunk_id: str) -> Path:
        """The id comes from a server; it is nothing to make a file name of."""
        return self._folder / f"{hashlib.sha256(chunk_id.encode()).hexdigest()}.json"

    def _read_all(self) -> dict[str, KeptResult]:
        found = {}
        for file in sorted(self._folder.glob("*.json"), key=lambda file: file.stat().st_mtime_ns):
            try:
                result = msgspec.json.decode(file.read_bytes(), type=KeptResult)
            except msgspec.DecodeError:  # of another version, or of a broken disk
                file.unlink()
            else:
                found[result.chunk_id] = result
        return found
