"""Making changes on disk survive a power cut."""

import os
from pathlib import Path
from tempfile import NamedTemporaryFile

UNFINISHED = ".unfinished"


def write_durably(file: Path, content: bytes) -> None:
    """The whole file is there, on the disk and under its name, or it is as it was before."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=file.parent, prefix=".", suffix=UNFINISHED, delete=False) as written:
        try:
            written.write(content)
            written.flush()
            os.fsync(written.fileno())
            Path(written.name).replace(file)
        except BaseException:
            Path(written.name).unlink(missing_ok=True)
            raise
    sync_directory(file.parent)


def clear_unfinished(folder: Path) -> None:
    """Remove what whoever died while writing has left. For a folder with one writer."""
    for file in folder.glob(f".*{UNFINISHED}"):
        file.unlink()


def sync_directory(path: Path) -> None:
    """Force the names in ``path`` to the disk; what is in its files is another matter."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
