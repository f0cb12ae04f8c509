"""Backup and restore of a data directory.

A backup is a data directory plus a manifest. It is consistent while everything runs, because of
its order:

1. the brain, as one snapshot; it can be rebuilt, and what it lacks is made again from the ledger;
2. the ledger, by ``pg_basebackup``: its state at one moment;
3. the vault and the secrets. Files are written before the rows that name them, so a vault copied
   after the ledger has every file the ledger knows (but one that was deleted in between).

The target gets its name when all of it is on disk; until then it is ``<target>.partial``.
"""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import structlog

from shoal.local.directory import DataDirectory
from shoal.local.manifest import (
    MANIFEST,
    Manifest,
    copy_living,
    copy_verified,
    describe,
    read_manifest,
)
from shoal.local.postgres import EmbeddedPostgres
from shoal.local.servers import servers_of
from shoal.local.valkey import EmbeddedValkey
from shoal.runtime.durable import sync_directory
from shoal.runtime.errors import Conflict, Invalid, Unavailable

log = structlog.get_logger(__name__)


class Backup(msgspec.Struct, frozen=True, kw_only=True):
    """A finished backup, or what was restored from one."""

    path: Path
    made_at: datetime
    files: int
    size_bytes: int


async def back_up(directory: DataDirectory, target: Path) -> Backup:
    """Copy everything in ``directory`` to ``target``, which must not exist yet.

    Works while ``shoal up`` runs. If nobody holds the directory, its servers are started for the
    time of the backup.
    """
    target, partial = _checked_target(directory, target)
    postgres, valkey = servers_of(directory)
    try:
        partial.mkdir(mode=0o700, parents=True)
        async with _running(directory, postgres, valkey):
            await valkey.copy_to(partial / directory.valkey.name)
            await postgres.copy_to(partial / directory.postgres.name)
            await asyncio.to_thread(copy_living, directory.vault, partial / directory.vault.name)
            directory.secrets()
            shutil.copy2(directory.secrets_file, partial)
        manifest = await asyncio.to_thread(_finish, partial, target)
    except BaseException as error:
        shutil.rmtree(partial, ignore_errors=True)
        if isinstance(error, OSError):
            raise Unavailable(
                "backup_failed",
                f"The backup to {target} failed: {error.strerror} ({error.filename}).",
                hint="Nothing was left behind. Try again, or choose another target.",
            ) from error
        raise
    log.info("backed up", target=str(target), bytes=manifest.size)
    return _summary(target, manifest)


async def restore(source: Path, directory: DataDirectory) -> Backup:
    """Fill ``directory``, which must be absent or empty, from a finished backup."""
    manifest = await asyncio.to_thread(read_manifest, source)
    directory = DataDirectory.prepare(directory.path)
    hold = directory.hold(url="")
    try:
        _check_empty(directory)
        directory.restore_mark.touch()
        try:
            await asyncio.to_thread(copy_verified, manifest, source, directory.path)
        except Exception as error:
            # Not on cancellation: the thread goes on copying, so the mark has to stay.
            _empty(directory)
            directory.restore_mark.unlink()
            if isinstance(error, OSError):
                raise Unavailable(
                    "restore_failed",
                    f"The restore into {directory.path} failed: {error.strerror} ({error.filename}).",
                    hint="The directory is empty again. Free some space, or choose another one.",
                ) from error
            raise
        directory.restore_mark.unlink()
    finally:
        hold.release()
    log.info("restored", source=str(source), directory=str(directory.path))
    return _summary(directory.path, manifest)


@asynccontextmanager
async def _running(
    directory: DataDirectory, postgres: EmbeddedPostgres, valkey: EmbeddedValkey
) -> AsyncIterator[None]:
    if directory.holder() is not None:
        yield
        return
    hold = directory.hold(url="")
    try:
        await postgres.start()
        await valkey.start()
        yield
    finally:
        await valkey.stop()
        await postgres.stop()
        hold.release()


def _checked_target(directory: DataDirectory, target: Path) -> tuple[Path, Path]:
    """Where the backup goes, and what it is called until it is complete."""
    target = target.expanduser().resolve()
    partial = target.with_name(f"{target.name}.partial")
    if not directory.is_prepared:
        raise Invalid(
            "data_dir_missing",
            f"There is no data directory of Shoal at {directory.path}.",
            hint="Name the one to back up with --data-dir.",
        )
    if target.is_relative_to(directory.path):
        raise Invalid(
            "backup_target_inside",
            f"The backup {target} would be inside the data directory {directory.path}.",
            hint="Choose a target outside of it, best on another disk.",
        )
    for path in (target, partial):
        if path.exists():
            raise Conflict(
                "backup_target_exists",
                f"{path} exists already.",
                hint="Choose another target, or delete that one.",
            )
    return target, partial


def _finish(partial: Path, target: Path) -> Manifest:
    manifest = describe(partial, made_at=datetime.now(UTC))
    with (partial / MANIFEST).open("xb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(manifest)))
        file.flush()
        os.fsync(file.fileno())
    sync_directory(partial)
    partial.rename(target)
    sync_directory(target.parent)
    return manifest


def _contents(directory: DataDirectory) -> tuple[Path, ...]:
    return directory.postgres, directory.valkey, directory.vault


def _check_empty(directory: DataDirectory) -> None:
    for path in (directory.secrets_file, *_contents(directory)):
        if path.is_file() or (path.is_dir() and any(path.iterdir())):
            raise Conflict(
                "data_dir_not_empty",
                f"The data directory {directory.path} is not empty: there is {path}.",
                hint="Restore into a new directory; name one with --data-dir.",
            )


def _empty(directory: DataDirectory) -> None:
    directory.secrets_file.unlink(missing_ok=True)
    for folder in _contents(directory):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)


def _summary(path: Path, manifest: Manifest) -> Backup:
    return Backup(path=path, made_at=manifest.made_at, files=len(manifest.files), size_bytes=manifest.size)
