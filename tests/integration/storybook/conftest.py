"""A double of Claude that the SDK is pointed at, and a data directory of its own for each test."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.cli.shoal_command import Shoal

from .claude_double import KEY, ClaudeDouble, claude_double


@pytest.fixture
def claude(monkeypatch: pytest.MonkeyPatch) -> Iterator[ClaudeDouble]:
    with claude_double() as double:
        for variable in ("ANTHROPIC_AUTH_TOKEN", "STORYBOOK_MODEL"):
            monkeypatch.delenv(variable, raising=False)
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", double.url)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield double


@pytest.fixture
def shoal() -> Iterator[Shoal]:
    with tempfile.TemporaryDirectory(prefix="shoal-") as folder:
        command = Shoal(Path(folder) / "data")
        yield command
        if command.data_dir.is_dir():
            command.run("down")
