"""A data set as the files it was, in a folder of its own that appears whole or not at all."""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from shoal.runtime.durable import sync_directory
from shoal.runtime.errors import Conflict
from shoal.wire.data_sets import MARK, DataSet, Shard

Blocks = Callable[[Iterable[Shard]], Iterator[bytes]]


def lay_out(data_set: DataSet, data_set_id: str, target: Path, blocks: Blocks) -> None:
    """Write the files below ``target``. A data set that stands there is replaced, nothing else is."""
    if _laid_out(target) == data_set_id:
        return
    if target.exists() and (not target.is_dir() or (not _laid_out(target) and any(target.iterdir()))):
        raise Conflict(
            "folder_in_use",
            f"{target} is there already, and is no data set.",
            hint="Choose another folder, or move what is in it.",
        )
    new, old = (target.with_name(f".{target.name}.{kind}") for kind in ("new", "old"))
    for rest in (new, old):
        shutil.rmtree(rest, ignore_errors=True)
    new.mkdir(parents=True)
    _write_files(data_set, new, blocks(data_set.shards))
    (new / MARK).write_text(data_set_id)
    for folder in {new, *(file.parent for file in new.rglob("*"))}:
        sync_directory(folder)
    if target.exists():
        target.rename(old)
    new.rename(target)
    sync_directory(target.parent)
    shutil.rmtree(old, ignore_errors=True)


def _laid_out(target: Path) -> str:
    mark = target / MARK
    return mark.read_text() if mark.is_file() else ""


def _write_files(data_set: DataSet, folder: Path, blocks: Iterator[bytes]) -> None:
    """The names were checked when the manifest was read, and the folder is new: no link leads out of it."""
    rest = memoryview(b"")
    for file in data_set.files:
        path = folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = 0o777 if file.executable else 0o666
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
        with open(descriptor, "wb", buffering=0) as written:  # noqa: PTH123 - the descriptor is ours
            missing = file.size
            while missing:
                if not rest:
                    rest = memoryview(next(blocks))
                taken = written.write(rest[:missing])
                rest = rest[taken:]
                missing -= taken
            os.fsync(written.fileno())
