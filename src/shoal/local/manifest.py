"""The list of what a backup holds, by which a torn or damaged one is recognised."""

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path, PurePosixPath

import msgspec

from shoal.runtime.errors import Invalid

MANIFEST = "manifest.json"
FORMAT = 1
_CHUNK = 1024 * 1024


class Entry(msgspec.Struct, frozen=True):
    """One file: its size, its SHA-256 and its permission bits."""

    size: int
    sha256: str
    mode: int


class Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    format: int
    made_at: datetime
    folders: list[str]
    files: dict[str, Entry]

    @property
    def size(self) -> int:
        return sum(entry.size for entry in self.files.values())


def describe(root: Path, *, made_at: datetime) -> Manifest:
    """Read everything below ``root``, and make sure that it is on the disk."""
    # One call for the whole system: ten times faster than one for each of a thousand files.
    os.sync()
    folders, files = [], {}
    for path in _walk(root):
        name = path.relative_to(root).as_posix()
        if path.is_dir():
            folders.append(name)
        else:
            files[name] = _read(path, None)
    return Manifest(format=FORMAT, made_at=made_at, folders=folders, files=files)


def read_manifest(root: Path) -> Manifest:
    try:
        manifest = msgspec.json.decode((root / MANIFEST).read_bytes(), type=Manifest)
    except (OSError, msgspec.DecodeError) as error:
        raise Invalid(
            "not_a_backup",
            f"{root} is not a complete backup: its {MANIFEST} cannot be read ({error}).",
            hint="Name a directory that 'shoal backup' finished.",
        ) from error
    names = [PurePosixPath(name) for name in (*manifest.folders, *manifest.files)]
    if manifest.format != FORMAT or any(n.is_absolute() or ".." in n.parts for n in names):
        raise Invalid(
            "backup_format_unknown",
            f"The backup {root} is in a format that this release does not know.",
            hint="Restore it with the release of shoal that made it.",
        )
    return manifest


def copy_verified(manifest: Manifest, source: Path, target: Path) -> None:
    """Copy what the manifest lists; raise at the first file that is not as it says."""
    for name in manifest.folders:
        (target / name).mkdir(mode=0o700, parents=True, exist_ok=True)
    for name, entry in manifest.files.items():
        try:
            copied = _read(source / name, target / name)
        except FileNotFoundError:
            copied = None
        if copied is None or (copied.size, copied.sha256) != (entry.size, entry.sha256):
            raise Invalid(
                "backup_damaged",
                f"The backup {source} is damaged: {name} is not what was backed up.",
                hint="Use another backup.",
            )
        (target / name).chmod(entry.mode)
    os.sync()


def copy_living(source: Path, target: Path) -> None:
    """Copy a folder in which files come and go; one that goes meanwhile is left out."""
    target.mkdir(mode=0o700, exist_ok=True)
    for path in _walk(source):
        copy = target / path.relative_to(source)
        try:
            if path.is_dir():
                copy.mkdir(mode=0o700, exist_ok=True)
            else:
                shutil.copyfile(path, copy)
                shutil.copymode(path, copy)
        except FileNotFoundError:
            continue


def _walk(root: Path) -> Iterator[Path]:
    """Folders before what is in them. Links and sockets are no data of ours."""
    for folder, folders, files in os.walk(root):
        for name in sorted(folders):
            if not (path := Path(folder, name)).is_symlink():
                yield path
        for name in sorted(files):
            path = Path(folder, name)
            try:
                regular = stat.S_ISREG(path.lstat().st_mode)
            except FileNotFoundError:
                continue
            if regular:
                yield path


def _read(path: Path, copy: Path | None) -> Entry:
    """Read a file once: hash it, and copy it where a copy is wanted."""
    digest = hashlib.sha256()
    size = 0
    with ExitStack() as files:
        source = files.enter_context(path.open("rb"))
        target = files.enter_context(copy.open("xb")) if copy else None
        while chunk := source.read(_CHUNK):
            digest.update(chunk)
            size += len(chunk)
            if target:
                target.write(chunk)
        mode = stat.S_IMODE(os.fstat(source.fileno()).st_mode)
    return Entry(size=size, sha256=digest.hexdigest(), mode=mode)
