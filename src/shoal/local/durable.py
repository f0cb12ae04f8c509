"""Making a change of names survive a power cut."""

import os
from pathlib import Path


def sync_directory(path: Path) -> None:
    """Force the names in ``path`` to the disk; what is in its files is another matter."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
