"""A sentinel's side with all rules open, by a real Centrifugo and by the hub; one of each per test process.

Tests use users, nodes and jobs of their own.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from shoal.ledger.pool import Ledger
from shoal.vault.settings import VaultSettings
from shoal.vault.store import Vault, open_vault
from tests.support.generations import VALKEY_GENERATIONS
from tests.support.servers import Servers

from .site import CentrifugoSite, Site, centrifugo_site, hub_site


@pytest.fixture(scope="session")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    return open_vault(
        VaultSettings(
            vault_url=f"file://{tmp_path_factory.mktemp('vault')}",
            vault_link_secret="link secret " * 4,
            vault_link_url="http://files.invalid",
        )
    )


@pytest.fixture(scope="session")
def redis_url(servers: Servers) -> str:
    return servers.valkey(VALKEY_GENERATIONS[0]).url


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("centrifugo")


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def at_centrifugo(
    shared_ledger: Ledger, vault: Vault, home: Path, redis_url: str
) -> AsyncIterator[CentrifugoSite]:
    async with centrifugo_site(shared_ledger, vault, home, redis_url=redis_url) as opened:
        yield opened


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def at_hub(shared_ledger: Ledger, vault: Vault) -> AsyncIterator[Site]:
    async with hub_site(shared_ledger, vault) as opened:
        yield opened


@pytest.fixture(scope="session", params=["centrifugo", "hub"])
def at(request: pytest.FixtureRequest) -> Site:
    """Each in turn: what is true of one is true of the other."""
    site: Site = request.getfixturevalue(f"at_{request.param}")
    return site
