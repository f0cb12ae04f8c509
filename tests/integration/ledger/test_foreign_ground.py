"""The same migrations for an owner who is no superuser, and where Supabase was before us.

What each role may do there is in ``rights/``.
"""

import asyncio
from contextlib import AsyncExitStack
from uuid import UUID, uuid4

import pytest

from shoal.ledger.connection import connect
from shoal.ledger.migrate import migrate
from shoal.runtime.errors import Invalid
from tests.support.postgres import PostgresServer

from .conftest import SHIPPED, as_landlord, ledger_of_landlord, migrate_as_landlord, owned_by_landlord


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
