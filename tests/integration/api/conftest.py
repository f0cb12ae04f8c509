"""The real app behind a real socket, with a real database and a folder as the vault.

One server per test process: starting and draining one takes longer than most of these tests. So they
run on one event loop (``pytestmark`` in each file) and use names of their own. A test that needs a
server in another state serves its own.

The server of the database is that of ``tests/integration/access``, until all tests share one.
"""

import importlib.util
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest
import pytest_asyncio
from prometheus_client import CollectorRegistry

from shoal.ledger.migrate import migrate
from shoal.ledger.pool import Ledger
from shoal.ledger.settings import LedgerSettings
from shoal.vault.settings import VaultSettings
from shoal.vault.store import Vault, open_vault

from .sample_routes import SAMPLE_ROUTES
from .serving import Api, serve

_spec = importlib.util.spec_from_file_location(
    "access_conftest", Path(__file__).parents[1] / "access" / "conftest.py"
)
assert _spec is not None
assert _spec.loader is not None
_database = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_database)
postgres = _database.postgres
PostgresServer = _database.PostgresServer


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def ledger(postgres: Any) -> AsyncIterator[Ledger]:
    admin = await asyncpg.connect(postgres.url("postgres"))
    await admin.execute("CREATE DATABASE api")
    await admin.close()
    connection = await asyncpg.connect(postgres.url("api"))
    await migrate(connection)
    await connection.close()
    ledger = Ledger(LedgerSettings(database_url=postgres.url("api"), database_pool_size=4))
    await ledger.start()
    yield ledger
    await ledger.stop()


@pytest.fixture(scope="session")
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture(scope="session")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    return open_vault(
        VaultSettings(
            vault_url=f"file://{tmp_path_factory.mktemp('vault')}",
            vault_link_secret="link secret " * 4,
            vault_link_url="http://files.invalid",
        )
    )


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def api(ledger: Ledger, vault: Vault, registry: CollectorRegistry) -> AsyncIterator[Api]:
    async with serve(ledger, vault, registry, handlers=SAMPLE_ROUTES) as api:
        yield api


@pytest_asyncio.fixture(loop_scope="session")
async def client(api: Api) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=api.url, trust_env=False) as client:
        yield client
