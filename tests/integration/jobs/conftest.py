"""Connections to an emptied database: ``ann`` and ``bob`` are workers; ``open_client`` opens more of them.

One database per generation and test process, emptied before each test: most tests here take less time
than making a database does.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import pytest

from shoal.ledger.connection import connect
from tests.integration.jobs.invariants import broken
from tests.integration.jobs.ledger_client import LedgerClient
from tests.support.postgres import MIGRATED, PostgresServer

OpenClient = Callable[[str], Awaitable[LedgerClient]]

DATABASE = "room_of_jobs"
MAKE = f"CREATE DATABASE {DATABASE} TEMPLATE {MIGRATED} STRATEGY file_copy"
EMPTY = (
    "DELETE FROM jobs; DELETE FROM idempotency_keys; DELETE FROM job_types; DELETE FROM users; "
    "DELETE FROM access_keys; DELETE FROM shoal.deleted_jobs; DELETE FROM shoal.chores; "
    "DELETE FROM vault_usage; DELETE FROM shoal.vault_quota; DELETE FROM task_limits; "
    "DELETE FROM event_sink_t WHERE kind <> 'jobs'; DELETE FROM outbox_message_t; DELETE FROM event_store_t"
)


@pytest.fixture(scope="session")
def generations_made() -> set[str]:
    return set()


@pytest.fixture
async def database_url(postgres: PostgresServer, postgres_generation: str, generations_made: set[str]) -> str:
    if postgres_generation not in generations_made:
        async with postgres.migrated_database():
            pass  # now there is one to copy
        await postgres.execute(MAKE)
        generations_made.add(postgres_generation)
    else:
        await postgres.end_connections(DATABASE)
    async with postgres.connection(DATABASE) as connection:
        await connection.execute(EMPTY)
    return postgres.url(DATABASE)


@pytest.fixture
async def open_client(database_url: str) -> AsyncIterator[OpenClient]:
    async with AsyncExitStack() as stack:

        async def open_one(worker: str) -> LedgerClient:
            connection = await connect(database_url, application=f"test {worker}")
            stack.push_async_callback(connection.close)
            return LedgerClient(connection, worker=worker)

        yield open_one


@pytest.fixture
async def ann(open_client: OpenClient) -> AsyncIterator[LedgerClient]:
    """A worker. When her test is over, every job is as it must be."""
    client = await open_client("ann")
    yield client
    assert await broken(client.connection) == []


@pytest.fixture
async def bob(open_client: OpenClient) -> LedgerClient:
    return await open_client("bob")
