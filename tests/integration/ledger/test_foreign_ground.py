"""The same migrations for an owner who is no superuser, and where Supabase was before us."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from uuid import UUID, uuid4

import pytest

from shoal.ledger.connection import connect
from shoal.ledger.migrate import load_migrations, migrate, require_current
from shoal.ledger.pool import Ledger
from shoal.ledger.settings import LedgerSettings
from shoal.runtime.errors import Invalid
from tests.support.postgres import PostgresServer

from .conftest import ROLES

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

CLAIMING = ("claim_tasks", "heartbeat_task", "complete_task", "fail_task", "reclaim_stale_tasks")
MAY_EXECUTE = """
SELECT p.proname FROM pg_proc p
 WHERE p.pronamespace = 'public'::regnamespace AND has_function_privilege($1::text, p.oid, 'EXECUTE')
"""
MAY_TOUCH = """
SELECT c.relname FROM pg_class c
 WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'v', 'S')
   AND has_table_privilege($1::text, c.oid, $2)
"""


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


async def test_users_and_services_are_who_their_claims_say(foreign: str, postgres: PostgresServer) -> None:
    user = uuid4()
    async with ledger_of_landlord(postgres, foreign) as ledger:
        await migrate_as_landlord(ledger)
        for role in ("authenticated", "service_role"):
            async with ledger.acting_as({"role": role, "sub": str(user)}) as connection:
                row = await connection.fetchrow(
                    "SELECT current_user AS role, auth.uid() AS id, auth.jwt() AS jwt"
                )
                assert row is not None
                assert (row["role"], row["id"]) == (role, user)
                assert row["jwt"]["sub"] == str(user)


async def test_users_see_their_own_jobs_only(foreign: str, postgres: PostgresServer) -> None:
    ann, bob = uuid4(), uuid4()
    async with ledger_of_landlord(postgres, foreign) as ledger:
        await migrate_as_landlord(ledger)
        async with ledger.transaction() as connection:
            await connection.execute("SELECT shoal.register_job_type('hello', '1', '{}', '[]')")
        jobs: dict[UUID, UUID] = {}
        for user in (ann, bob):
            async with ledger.acting_as({"role": "authenticated", "sub": str(user)}) as connection:
                jobs[user] = await connection.fetchval("SELECT create_job('hello')")
        async with ledger.acting_as({"role": "authenticated", "sub": str(ann)}) as connection:
            assert [row["id"] for row in await connection.fetch("SELECT id FROM jobs")] == [jobs[ann]]
        async with ledger.acting_as({"role": "service_role"}) as connection:
            assert {row["id"] for row in await connection.fetch("SELECT id FROM jobs")} == set(jobs.values())


async def test_nobody_may_more_than_was_granted(foreign: str, postgres: PostgresServer) -> None:
    async with ledger_of_landlord(postgres, foreign) as ledger:
        await migrate_as_landlord(ledger)
        async with ledger.connection() as connection:

            async def executes(role: str) -> set[str]:
                return {row[0] for row in await connection.fetch(MAY_EXECUTE, role)}

            async def touches(role: str, privilege: str) -> set[str]:
                return {row[0] for row in await connection.fetch(MAY_TOUCH, role, privilege)}

            for role in ("anon", "authenticated"):
                assert not await executes(role) & set(CLAIMING)
                for privilege in ("INSERT", "UPDATE", "DELETE", "TRUNCATE"):
                    assert await touches(role, privilege) == set()
            assert await executes("anon") == await touches("anon", "SELECT") == set()
            assert await touches("shoal_worker", "SELECT, INSERT, UPDATE, DELETE") == set()
            for role in ("service_role", "shoal_worker"):
                assert await executes(role) >= set(CLAIMING)


async def test_an_owner_migrates_several_databases_at_once(
    no_roles: None, landlord: None, postgres: PostgresServer
) -> None:
    async with AsyncExitStack() as stack:
        names = [await stack.enter_async_context(owned_by_landlord(postgres)) for _ in range(4)]
        async with AsyncExitStack() as connected:
            urls = [as_landlord(postgres, name) for name in names]
            connections = [await connect(url, application="test") for url in urls]
            for connection in connections:
                connected.push_async_callback(connection.close)
            done = await asyncio.gather(*(migrate(connection) for connection in connections))

    assert done == [SHIPPED] * 4


async def test_an_owner_who_may_not_make_roles_is_told_so(no_roles: None, postgres: PostgresServer) -> None:
    await postgres.execute("CREATE ROLE landlord LOGIN")
    try:
        async with owned_by_landlord(postgres) as name, ledger_of_landlord(postgres, name) as ledger:
            async with ledger.connection() as connection:
                with pytest.raises(Invalid) as refused:
                    await migrate(connection)
            assert refused.value.code == "migration_failed"
            assert "permission denied" in refused.value.message
            assert "rights" in refused.value.hint
    finally:
        await postgres.execute("DROP ROLE landlord")
