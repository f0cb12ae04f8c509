"""A folder as a data set: its files end to end, cut into shards.

Files are taken in the order of their paths. A large file begins a shard of its own and ends one, so that two
versions of a data set share the shards of large files that did not change; small ones lie together.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from shoal.runtime.errors import Invalid
from shoal.runtime.manifests import wrong_with_path
from shoal.wire.data_sets import DataFile

SMALLEST = 1024 * 1024
LARGEST = 64 * 1024 * 1024
USUAL_NUMBER = 256
BLOCK = 4 * 1024 * 1024


@dataclass(frozen=True)
class Found:
    path: Path
    file: DataFile


def find_files(folder: Path) -> list[Found]:
    """What is below the folder. Links and devices are refused: elsewhere they would mean something else."""
    found = [_found(folder, path) for path in _walk(folder)]
    if not found or not any(one.file.size for one in found):
        raise Invalid("data_set_empty", f"There are no bytes in {folder}.")
    return sorted(found, key=lambda one: one.file.path.split("/"))


def usual_shard_size(size: int) -> int:
    """A power of two that gives some hundred shards: enough to copy side by side, few enough to ask for."""
    wanted = SMALLEST
    while wanted < LARGEST and wanted * USUAL_NUMBER < size:
        wanted *= 2
    return wanted


def shards_of(files: list[Found], shard_size: int) -> Iterator[bytes]:
    """The bytes of one shard after the other."""
    gathered = bytearray()
    for one in files:
        is_large = one.file.size >= shard_size
        if is_large and gathered:
            yield bytes(gathered)
            gathered.clear()
        for block in _blocks(one):
            gathered += block
            while len(gathered) >= shard_size:
                yield bytes(gathered[:shard_size])
                del gathered[:shard_size]
        if is_large and gathered:
            yield bytes(gathered)
            gathered.clear()
    if gathered:
        yield bytes(gathered)


def _walk(folder: Path) -> Iterator[Path]:
    def refuse(error: OSError) -> None:
        raise Invalid("folder_unreadable", f"{error.filename} cannot be read: {error.strerror}.")

    if not folder.is_dir():
        raise Invalid("folder_not_found", f"{folder} is no folder.")
    for above, folders, names in os.walk(folder, onerror=refuse):
        yield from (Path(above) / name for name in names)
        yield from (path for name in folders if (path := Path(above) / name).is_symlink())


def _found(folder: Path, path: Path) -> Found:
    status = path.lstat()
    name = path.relative_to(folder).as_posix()
    if not stat.S_ISREG(status.st_mode):
        raise Invalid(
            "not_a_file",
            f"{path} is a link or no file.",
            hint="Replace it by what it stands for, or move it away.",
        )
    if why := wrong_with_path(name):
        raise Invalid("file_name_unusable", f"The name {name!r} {why}.")
    return Found(path, DataFile(name, status.st_size, executable=bool(status.st_mode & stat.S_IXUSR)))


def _blocks(one: Found) -> Iterator[bytes]:
    missing = one.file.size
    with one.path.open("rb") as opened:
        while missing:
            block = opened.read(min(BLOCK, missing))
            if not block:
                break
            missing -= len(block)
            yield block
        if missing or opened.read(1):
            raise Invalid("file_changed", f"{one.path} has changed while it was read.")
