"""A stage for each test; the newest servers are enough, since nothing here depends on their version."""

import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from shoal.brain.connection import Brain
from shoal.ledger.pool import Ledger
from shoal.vault.settings import VaultSettings
from shoal.vault.store import open_vault
from tests.integration.cli.shoal_command import Shoal
from tests.support.discord_double.double import Discord, running

from .stage import Stage


@pytest.fixture
async def there() -> AsyncIterator[Discord]:
    async with running() as there:
        yield there


@pytest.fixture
def stage(ledger: Ledger, brain: Brain, there: Discord, tmp_path: Path) -> Stage:
    vault = open_vault(
        VaultSettings(
            vault_url=tmp_path.as_uri(),
            vault_link_secret="link secret " * 4,
            vault_link_url="http://files.invalid",
        )
    )
    return Stage(ledger, brain, there, vault)


@pytest.fixture
def shoal() -> Iterator[Shoal]:
    with tempfile.TemporaryDirectory(prefix="shoal-") as folder:
        command = Shoal(Path(folder) / "data")
        yield command
        if command.data_dir.is_dir():
            command.run("down")
