"""Migrations on a real database: once, in order, whole or not at all."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from shoal.ledger.migrate import Migration, load_migrations, migrate, read_applied, require_current
from shoal.runtime.errors import Conflict, Invalid
from tests.support.postgres import Connection, PostgresServer

SHIPPED = load_migrations()


def made_of(*texts: str) -> list[Migration]:
    return [
        Migration(number, f"{number:04}_before_x.sql", text) for number, text in enumerate(texts, start=1)
    ]


async def relations(connection: Connection) -> set[str]:
    rows = await connection.fetch("SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace")
    return {row["relname"] for row in rows}


async def test_a_fresh_database_gets_everything_in_order(connection: Connection) -> None:
    with pytest.raises(Conflict) as outdated:
        await require_current(connection)
    assert outdated.value.code == "schema_outdated"

    assert await migrate(connection) == SHIPPED

    assert [one.name for one in await read_applied(connection)] == [one.name for one in SHIPPED]
    await require_current(connection)


async def test_a_second_time_nothing_is_applied(connection: Connection) -> None:
    await migrate(connection)
    assert await migrate(connection) == []


async def test_of_many_at_once_each_file_is_applied_by_one(
    postgres: PostgresServer, empty_database: str
) -> None:
    async with AsyncExitStack() as stack:
        connections = [await stack.enter_async_context(postgres.connection(empty_database)) for _ in range(5)]
        done = await asyncio.gather(*(migrate(one) for one in connections))
        await require_current(connections[0])

    assert sorted(one.version for part in done for one in part) == [one.version for one in SHIPPED]


async def test_databases_of_one_new_cluster_are_migrated_at_once(
    no_roles: None, postgres: PostgresServer
) -> None:
    async with AsyncExitStack() as stack:
        names = [await stack.enter_async_context(postgres.database()) for _ in range(4)]
        async with AsyncExitStack() as connected:
            connections = [await connected.enter_async_context(postgres.connection(name)) for name in names]
            done = await asyncio.gather(*(migrate(one) for one in connections))

    assert done == [SHIPPED] * 4


async def test_an_older_database_gets_the_rest(connection: Connection) -> None:
    await migrate(connection, SHIPPED[:2])
    assert await migrate(connection) == SHIPPED[2:]


async def test_a_gap_in_the_database_is_refused(connection: Connection) -> None:
    await migrate(connection, SHIPPED[:3])
    await connection.execute("DELETE FROM shoal.migrations WHERE version = 2")
    before = await relations(connection)

    with pytest.raises(Conflict) as refused:
        await migrate(connection)

    assert refused.value.code == "schema_history_broken"
    assert await relations(connection) == before


async def test_a_file_that_was_edited_since_is_refused(connection: Connection) -> None:
    await migrate(connection, SHIPPED[:1])
    edited = [Migration(1, SHIPPED[0].name, SHIPPED[0].text + "-- also\n"), *SHIPPED[1:]]

    with pytest.raises(Conflict) as refused:
        await migrate(connection, edited)

    assert refused.value.code == "migration_edited"
    assert SHIPPED[0].name in refused.value.message
    assert len(await read_applied(connection)) == 1


async def test_a_newer_database_is_refused(connection: Connection) -> None:
    await migrate(connection)
    await connection.execute("INSERT INTO shoal.migrations VALUES ($1, 'later', 'x')", len(SHIPPED) + 1)

    for look in (migrate, require_current):
        with pytest.raises(Conflict) as refused:
            await look(connection)
        assert refused.value.code == "schema_too_new"
        assert refused.value.hint


async def test_a_failing_migration_leaves_nothing_and_can_be_repeated(connection: Connection) -> None:
    broken = made_of("CREATE TABLE one ()", "CREATE TABLE two (); SELECT 1 / 0; CREATE TABLE three ()")

    with pytest.raises(Invalid) as failed:
        await migrate(connection, broken)

    assert failed.value.code == "migration_failed"
    assert "0002_before_x.sql" in failed.value.message
    assert "division by zero" in failed.value.message
    assert await relations(connection) == {"one"}
    assert [one.version for one in await read_applied(connection)] == [1]

    mended = made_of("CREATE TABLE one ()", "CREATE TABLE two ()")
    assert await migrate(connection, mended) == mended[1:]
    assert await relations(connection) == {"one", "two"}
