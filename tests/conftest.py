"""Real servers for every test that asks for one.

* ``database_url``: a new database with the whole schema; ``ledger``: a Ledger on it; ``postgres``: its
  server, which other tests use as well. A test that stops its server takes ``postgres_to_stop``.
* ``pooler_url``: the way to the same database through a PgBouncer in transaction mode.
* ``valkey_url``: an emptied Valkey or Redis; ``brain``: a Brain on it.
* ``shared_ledger``: one database of the newest generation for a whole test process, for suites in
  which starting an application on it is what takes the time. Its tests use names of their own.

A test that asks for one of them, except the last, runs on each generation (``tests/support/generations.py``).
"""

from collections.abc import AsyncIterator, Iterator
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from redis.asyncio import Redis

from shoal.brain.connection import Brain
from shoal.brain.settings import BrainSettings
from shoal.ledger.pool import Ledger
from shoal.ledger.settings import LedgerSettings
from shoal.local.valkey import EmbeddedValkey
from tests.support.generations import (
    POSTGRES_GENERATIONS,
    VALKEY_GENERATIONS,
    run_on_each_generation,
)
from tests.support.postgres import PostgresServer
from tests.support.servers import Servers, servers_folder


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    run_on_each_generation(metafunc)


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    with servers_folder() as folder:
        servers = Servers(folder)
        try:
            yield servers
        finally:
            servers.stop()


@pytest.fixture
def postgres_generation(request: pytest.FixtureRequest) -> str:
    return str(getattr(request, "param", POSTGRES_GENERATIONS[0]))


@pytest.fixture
def valkey_generation(request: pytest.FixtureRequest) -> str:
    return str(getattr(request, "param", VALKEY_GENERATIONS[0]))


@pytest.fixture
def postgres(servers: Servers, postgres_generation: str) -> PostgresServer:
    return servers.postgres(postgres_generation)


@pytest.fixture
def postgres_to_stop(servers: Servers, postgres_generation: str) -> PostgresServer:
    return servers.postgres_to_stop(postgres_generation)


@pytest.fixture
async def database_url(postgres: PostgresServer) -> AsyncIterator[str]:
    async with postgres.migrated_database() as name:
        yield postgres.url(name)


@pytest.fixture
async def pooler_url(servers: Servers, postgres: PostgresServer, database_url: str) -> AsyncIterator[str]:
    pooler = await servers.pgbouncer(postgres)
    yield pooler.url_of(urlsplit(database_url).path.removeprefix("/"))
    pooler.stop()


@pytest.fixture
async def ledger(database_url: str) -> AsyncIterator[Ledger]:
    ledger = Ledger(LedgerSettings(database_url=database_url, database_pool_size=4))
    await ledger.start()
    yield ledger
    await ledger.stop()


@pytest.fixture(scope="session")
def newest_postgres(servers: Servers) -> PostgresServer:
    return servers.postgres(POSTGRES_GENERATIONS[0])


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shared_ledger(newest_postgres: PostgresServer) -> AsyncIterator[Ledger]:
    async with newest_postgres.migrated_database() as name:
        ledger = Ledger(LedgerSettings(database_url=newest_postgres.url(name), database_pool_size=4))
        await ledger.start()
        yield ledger
        await ledger.stop()


@pytest.fixture
def valkey_server(servers: Servers, valkey_generation: str) -> EmbeddedValkey:
    """Shared with other tests; it is started here, outside of the test's event loop."""
    return servers.valkey(valkey_generation)


@pytest.fixture
async def valkey_url(valkey_server: EmbeddedValkey) -> str:
    url = valkey_server.url
    async with Redis.from_url(url) as client:
        await client.flushall()
        await client.script_flush()
    return url


@pytest.fixture
async def brain(valkey_url: str) -> AsyncIterator[Brain]:
    brain = Brain(BrainSettings(redis_url=valkey_url))
    await brain.start()
    yield brain
    await brain.stop()
