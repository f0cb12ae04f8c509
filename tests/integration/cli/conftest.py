"""A data directory of its own for each test; what is still running at the end is stopped."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from .shoal_command import Shoal


@pytest.fixture
def shoal() -> Iterator[Shoal]:
    with tempfile.TemporaryDirectory(prefix="shoal-") as folder:
        command = Shoal(Path(folder) / "data")
        yield command
        if command.data_dir.is_dir():
            command.run("down")
