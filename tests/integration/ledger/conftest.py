"""Databases without a schema, and clusters without our roles."""

from collections.abc import AsyncIterator

import pytest

from shoal.ledger.listener import Listener
from shoal.ledger.settings import LedgerSettings
from tests.support.postgres import Connection, PostgresServer

ROLES = ("anon", "authenticated", "service_role", "shoal_worker")


@pytest.fixture
async def empty_database(postgres: PostgresServer) -> AsyncIterator[str]:
    """The name of a database that was never migrated."""
    async with postgres.database() as name:
        yield name


@pytest.fixture
async def connection(postgres: PostgresServer, empty_database: str) -> AsyncIterator[Connection]:
    """A connection to the empty database, as its superuser."""
    async with postgres.connection(empty_database) as connection:
        yield connection


@pytest.fixture
async def no_roles(postgres: PostgresServer) -> AsyncIterator[None]:
    """A cluster nobody has migrated a database on: our roles go by other names meanwhile."""
    async with postgres.migrated_database():
        pass  # now the cluster has them
    await postgres.execute(*(f"ALTER ROLE {role} RENAME TO {role}_away" for role in ROLES))
    try:
        yield
    finally:
        await postgres.execute(
            *(f"DROP ROLE IF EXISTS {role}" for role in ROLES),
            *(f"ALTER ROLE {role}_away RENAME TO {role}" for role in ROLES),
        )


@pytest.fixture
def listener(database_url: str) -> Listener:
    return Listener(LedgerSettings(database_url=database_url), application="test")
