"""Shards on disk, by hash: whole ones, arriving ones, and the manifests that refer to them."""

import fcntl
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from uuid import uuid4

from blake3 import blake3

from shoal.node.mesh.arrival import Arrival
from shoal.runtime.durable import clear_unfinished, write_durably
from shoal.runtime.errors import Conflict, NotFound, TooLarge
from shoal.runtime.manifests import malformed, read_manifest
from shoal.wire.data_sets import DataSet, Shard

BLOCK = 4 * 1024 * 1024
MANIFEST = ".json"
ARRIVING = ".part"


class ShardStore:
    """One process has it. Its calls read and write the disk: whoever has an event loop uses a thread."""

    def __init__(self, root: Path, *, quota: int = 0) -> None:
        self.root = root
        self._quota = quota
        self._shards = root / "shards"
        self._arriving = root / "arriving"
        self._sets = root / "sets"
        self._whole: dict[str, int] = {}
        self._verified: set[str] = set()
        self._lock = -1
        self.server_id = ""
        self.epoch = 0

    def open(self) -> None:
        """Make the folder if need be, take it for this process, and see what is there."""
        for folder in (self._shards, self._arriving, self._sets):
            folder.mkdir(parents=True, exist_ok=True)
        self._hold()
        for folder in (self.root, self._sets):
            clear_unfinished(folder)
        self.server_id = self._remembered("server_id", uuid4().hex)
        self.epoch = int(self._remembered("epoch", "0")) + 1
        write_durably(self.root / "epoch", str(self.epoch).encode())
        self._whole = {
            file.name: file.stat().st_size for file in self._shards.glob("??/*") if len(file.name) == 64
        }

    def close(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def has(self, shard: Shard) -> bool:
        return self._whole.get(shard.hash) == shard.size

    def owned(self, data_set: DataSet) -> list[bool]:
        return [self.has(shard) for shard in data_set.shards]

    @property
    def used(self) -> int:
        arriving = sum(file.stat().st_size for file in self._arriving.iterdir())
        return sum(self._whole.values()) + arriving

    @property
    def free(self) -> int:
        """Room for more: of the disk, and of the quota if there is one."""
        on_disk = os.statvfs(self.root)
        left = on_disk.f_bavail * on_disk.f_frsize
        return max(0, min(left, self._quota - self.used) if self._quota else left)

    def begin(self, shard: Shard, *, wanted: str = "") -> Arrival:
        """Go on with what has come of the shard before.

        When there is no room, data sets other than the ``wanted`` one go, those first that were asked for
        longest ago; ``TooLarge`` when that is not enough.
        """
        part = self._arriving / f"{shard.hash}{ARRIVING}"
        missing = shard.size - (part.stat().st_size if part.exists() else 0)
        others = sorted(self._sets.glob(f"*{MANIFEST}"), key=lambda file: file.stat().st_mtime)
        others = [file for file in others if file.name != f"{wanted}{MANIFEST}"]
        if missing > self.free:
            self.collect()
        while missing > self.free and others:
            others.pop(0).unlink(missing_ok=True)
            self.collect()
        if missing > self.free:
            raise TooLarge(
                "no_room_for_shard",
                f"There is no room for a shard of {shard.size} bytes in {self.root}.",
                hint="Raise mesh_quota_bytes, or free some disk.",
            )
        return Arrival(part, shard)

    def finish(self, arrival: Arrival) -> None:
        """Verify it, bring it onto the disk and under its name. ``Conflict`` when it is something else."""
        file = self._file(arrival.shard.hash)
        file.parent.mkdir(exist_ok=True)
        arrival.finish(file)
        self._whole[arrival.shard.hash] = arrival.shard.size
        self._verified.add(arrival.shard.hash)

    def open_shard(self, hash_: str) -> tuple[int, int]:
        """A file descriptor and the size of a shard that is good, to be given on."""
        size = self._whole.get(hash_)
        if size is None:
            raise _not_here(hash_)
        try:
            descriptor = os.open(self._file(hash_), os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            self._whole.pop(hash_, None)
            raise _not_here(hash_) from None
        try:
            if hash_ not in self._verified:
                self._verify(descriptor, hash_, size)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor, size

    def remember(self, data_set_id: str, body: bytes) -> DataSet:
        """Keep a manifest: what it refers to stays."""
        if blake3(body).hexdigest() != data_set_id:
            raise malformed("its manifest is not the one it is named after")
        data_set = read_manifest(body)
        file = self._sets / f"{data_set_id}{MANIFEST}"
        if file.exists():
            file.touch()
        else:
            write_durably(file, body)
        return data_set

    def forget(self, data_set_id: str) -> None:
        """What it alone refers to may go."""
        (self._sets / f"{data_set_id}{MANIFEST}").unlink(missing_ok=True)

    def data_sets(self) -> dict[str, DataSet]:
        return {
            file.name.removesuffix(MANIFEST): read_manifest(file.read_bytes())
            for file in self._sets.glob(f"*{MANIFEST}")
        }

    def collect(self) -> int:
        """Remove what no manifest refers to; the bytes that came free. What is being read stays readable."""
        kept = {shard.hash for data_set in self.data_sets().values() for shard in data_set.shards}
        freed = 0
        for hash_ in [one for one in self._whole if one not in kept]:
            freed += self._whole.pop(hash_)
            self._verified.discard(hash_)
            self._file(hash_).unlink(missing_ok=True)
        for part in self._arriving.iterdir():
            if part.name.removesuffix(ARRIVING) not in kept:
                freed += part.stat().st_size
                part.unlink()
        return freed

    def read_through(self, shards: Iterable[Shard]) -> Iterator[bytes]:
        """The bytes of these shards, one after the other."""
        for shard in shards:
            descriptor, size = self.open_shard(shard.hash)
            try:
                for start in range(0, size, BLOCK):
                    yield os.pread(descriptor, min(BLOCK, size - start), start)
            finally:
                os.close(descriptor)

    def _verify(self, descriptor: int, hash_: str, size: int) -> None:
        hasher = blake3()
        for start in range(0, size, BLOCK):
            hasher.update(os.pread(descriptor, BLOCK, start))
        if hasher.hexdigest() != hash_ or os.fstat(descriptor).st_size != size:
            self._whole.pop(hash_, None)
            self._file(hash_).unlink(missing_ok=True)
            raise _not_here(hash_)
        self._verified.add(hash_)

    def _file(self, hash_: str) -> Path:
        return self._shards / hash_[:2] / hash_

    def _remembered(self, name: str, otherwise: str) -> str:
        file = self.root / name
        if not file.exists():
            write_durably(file, otherwise.encode())
        return file.read_text()

    def _hold(self) -> None:
        self._lock = os.open(self.root / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.close()
            raise Conflict(
                "mesh_store_in_use",
                f"Another process uses the shards in {self.root}.",
                hint="Give each agent a folder of its own: --store.",
            ) from None


def _not_here(hash_: str) -> NotFound:
    return NotFound("shard_not_here", f"The shard {hash_[:12]} is not here, or not any more.")
