"""Databases without a schema, clusters without our roles, and databases that belong to somebody else."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from shoal.ledger.listener import Listener
from shoal.ledger.migrate import load_migrations, migrate, require_current
from shoal.ledger.pool import Ledger
from shoal.ledger.settings import LedgerSettings
from tests.support.postgres import Connection, PostgresServer

ROLES = ("anon", "authenticated", "service_role", "shoal_worker")
SHIPPED = load_migrations()

# As a project of Supabase has them: the functions are not ours, and new tables are open to everybody.
SUPABASE_ROLES = """
CREATE ROLE supabase_auth_admin NOLOGIN NOINHERIT CREATEROLE;
CREATE ROLE anon NOLOGIN NOINHERIT;
CREATE ROLE authenticated NOLOGIN NOINHERIT;
CREATE ROLE service_role NOLOGIN NOINHERIT BYPASSRLS;
CREATE ROLE landlord LOGIN CREATEROLE CREATEDB REPLICATION BYPASSRLS;
GRANT anon, authenticated, service_role TO landlord;
"""
SUPABASE_DATABASE = """
CREATE SCHEMA auth AUTHORIZATION supabase_auth_admin;
GRANT USAGE ON SCHEMA auth TO anon, authenticated, service_role, landlord;
CREATE FUNCTION auth.uid() RETURNS uuid LANGUAGE sql STABLE AS $$
  SELECT coalesce(nullif(current_setting('request.jwt.claim.sub', true), ''),
                  nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'sub')::uuid $$;
CREATE FUNCTION auth.jwt() RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT coalesce(nullif(current_setting('request.jwt.claim', true), ''),
                  nullif(current_setting('request.jwt.claims', true), ''))::jsonb $$;
ALTER FUNCTION auth.uid() OWNER TO supabase_auth_admin;
ALTER FUNCTION auth.jwt() OWNER TO supabase_auth_admin;
GRANT USAGE ON SCHEMA public TO anon, authenticated, service_role, landlord;
ALTER DEFAULT PRIVILEGES FOR ROLE landlord IN SCHEMA public
  GRANT ALL ON TABLES TO landlord, anon, authenticated, service_role;
ALTER DEFAULT PRIVILEGES FOR ROLE landlord IN SCHEMA public
  GRANT ALL ON FUNCTIONS TO landlord, anon, authenticated, service_role;
ALTER DEFAULT PRIVILEGES FOR ROLE landlord IN SCHEMA public
  GRANT ALL ON SEQUENCES TO landlord, anon, authenticated, service_role;
"""


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


@asynccontextmanager
async def owned_by_landlord(server: PostgresServer) -> AsyncIterator[str]:
    async with server.database("OWNER landlord") as name:
        yield name


def as_landlord(server: PostgresServer, database: str) -> str:
    return server.url(database).replace("//postgres@", "//landlord@")


@asynccontextmanager
async def ledger_of_landlord(server: PostgresServer, database: str) -> AsyncIterator[Ledger]:
    ledger = Ledger(LedgerSettings(database_url=as_landlord(server, database), database_pool_size=2))
    await ledger.start()
    try:
        yield ledger
    finally:
        await ledger.stop()


@pytest.fixture
async def landlord(no_roles: None, postgres: PostgresServer) -> AsyncIterator[None]:
    """An owner of databases who may make roles and is nothing more."""
    await postgres.execute("CREATE ROLE landlord LOGIN CREATEROLE")
    try:
        yield
    finally:
        await postgres.execute(*(f"DROP ROLE IF EXISTS {role}" for role in ROLES), "DROP ROLE landlord")


@pytest.fixture
async def owned(landlord: None, postgres: PostgresServer) -> AsyncIterator[str]:
    async with owned_by_landlord(postgres) as name:
        yield name


@pytest.fixture
async def supabase(no_roles: None, postgres: PostgresServer) -> AsyncIterator[str]:
    await postgres.execute(*SUPABASE_ROLES.strip().splitlines())
    try:
        async with owned_by_landlord(postgres) as name:
            async with postgres.connection(name) as connection:
                await connection.execute(SUPABASE_DATABASE)
            yield name
    finally:
        await postgres.execute(
            *(f"DROP ROLE IF EXISTS {role}" for role in ROLES), "DROP ROLE landlord, supabase_auth_admin"
        )


@pytest.fixture(params=["owned", "supabase"])
def foreign(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(request.param))


async def migrate_as_landlord(ledger: Ledger) -> None:
    async with ledger.connection() as connection:
        assert await migrate(connection) == SHIPPED
        await require_current(connection)
