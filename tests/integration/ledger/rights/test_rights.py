"""Every role against every table and every function. ``rights.txt`` is what must come out."""

from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime

import asyncpg
import pytest

from shoal.ledger.connection import Connection, connect
from tests.integration.jobs.ledger_client import JOB_TYPE
from tests.integration.ledger.conftest import ledger_of_landlord, migrate_as_landlord
from tests.support.postgres import PostgresServer

from .actors import ACTORS, NAMELESS, OUTSIDER, STRANGER, Actor, become, undone
from .expected import Line, differences, read_expected
from .function_rights import Function, all_functions, right_to_execute
from .table_rights import rights_in_table
from .world import ANN, IDEMPOTENCY_KEY, SECRET_OF_ANN, UNIQUE_KEY, World, all_rows, make_world

HEADER = tuple(actor.name for actor in ACTORS)


@pytest.fixture
async def ours(postgres: PostgresServer) -> AsyncIterator[str]:
    async with postgres.migrated_database() as name:
        yield name


@pytest.fixture(params=["ours", "owned", "supabase"])
def place(request: pytest.FixtureRequest) -> tuple[str, str]:
    """A database of ours, one of an owner who is no superuser, and one where Supabase was before us."""
    return request.param, request.getfixturevalue(request.param)


@pytest.fixture
async def connection(postgres: PostgresServer, place: tuple[str, str]) -> AsyncIterator[Connection]:
    """As the superuser, with a role more than there is: one that was granted nothing."""
    whose, database = place
    if whose != "ours":
        async with ledger_of_landlord(postgres, database) as ledger:
            await migrate_as_landlord(ledger)
    connection = await connect(postgres.url(database), application="test")
    await connection.execute(f"CREATE ROLE {OUTSIDER}")
    yield connection
    await connection.execute(f"DROP ROLE {OUTSIDER}")
    await connection.close()


@pytest.fixture
async def world(connection: Connection) -> World:
    return await make_world(connection)


def test_each_table_and_function_has_one_line() -> None:
    for kind in ("table", "function"):
        header, *lines = read_expected(kind)
        assert header == (kind, *HEADER)
        names = [line[0] for line in lines]
        assert names == sorted(set(names))


async def test_rows_are_seen_and_changed_as_written(connection: Connection, world: World) -> None:
    empty = [name for name, rows in world.rows.items() if not rows]
    assert not empty, f"nothing is proven about a table without rows: add some of {empty} to world.py"
    found: list[Line] = [
        (table, *[await rights_in_table(connection, actor, world, table) for actor in ACTORS])
        for table in world.rows
    ]
    assert differences("table", found) == []


async def test_functions_are_executed_as_written(connection: Connection) -> None:
    found: list[Line] = [
        (function.name, *[await right_to_execute(connection, actor, function) for actor in ACTORS])
        for function in await all_functions(connection)
    ]
    assert differences("function", found) == []


@pytest.mark.parametrize("actor", [STRANGER, NAMELESS], ids=lambda actor: actor.name)
async def test_what_users_may_call_neither_shows_nor_changes_what_others_have(
    connection: Connection, world: World, actor: Actor
) -> None:
    hers = {
        "p_job_id": world.job_of_ann,
        "p_task_id": world.task_of_ann,
        "p_user_id": ANN,
        "p_host_id": ANN,
        "p_schedule_id": world.schedule_of_ann,
        "p_node_id": world.node_of_ann,
        "p_changes": {"name": SECRET_OF_ANN, "paused": True},
        "p_access": [{"access_type": "public"}],
        "p_schedule": {"schedule_name": SECRET_OF_ANN, "frequency_unit": "DAYS", "event_type": "user.told"},
        "p_fire_ts": [datetime(2026, 1, 1, tzinfo=UTC)],
        "p_type": JOB_TYPE,
        "p_jobs": [{"type": JOB_TYPE, "unique_key": UNIQUE_KEY}],
        "p_unique_key": UNIQUE_KEY,
        "p_on_conflict": "existing",
        "p_idempotency_key": IDEMPOTENCY_KEY,
        "p_name": world.sink_of_ann,
        "p_sink": world.sink_of_ann,
        "p_event_id": world.event_of_ann,
        "p_event_ids": [world.event_of_ann],
        "p_url": "https://example.org/",
    }
    for function in await all_functions(connection):
        if await right_to_execute(connection, actor, function) == "x":
            unknown = function.names_of("uuid") - set(hers)
            assert not unknown, f"say here what {unknown} of {function.signature} means"
            nobody = {name: hers[name] for name in hers if name not in {"p_user_id", "p_host_id"}}
            for given in (hers, nobody):
                await assert_harmless(connection, world, actor, function, given)


async def assert_harmless(
    connection: Connection, world: World, actor: Actor, function: Function, given: Mapping[str, object]
) -> None:
    """Call it, naming what is Ann's wherever something can be named; it tells and changes nothing of hers."""
    names = [name for name in function.parameters if name in given]
    named = ", ".join(f"{name} => ${number}" for number, name in enumerate(names, start=1))
    async with undone(connection):
        await become(connection, actor)
        try:
            async with connection.transaction():
                call = f"SELECT {function.name}({named})::text"
                said = str(await connection.fetch(call, *(given[name] for name in names)))
        except asyncpg.PostgresError as error:
            said = str(error)
        await connection.execute("RESET ROLE")
        rows = await all_rows(connection)
    assert SECRET_OF_ANN not in said, function.signature
    touched = {name for name, own in world.rows_of_ann.items() if not own <= rows[name]}
    assert not touched, f"{function.signature} changed Ann's rows in {touched}"
    forged = {name for name in rows if any(str(ANN) in row for row in rows[name] - world.rows[name])}
    assert not forged, f"{function.signature} added rows for Ann to {forged}"


async def test_nobody_empties_a_table_takes_a_number_or_makes_things(
    connection: Connection, world: World
) -> None:
    sequences = await connection.fetch("SELECT oid::regclass::text FROM pg_class WHERE relkind = 'S'")
    schemas = {name.partition(".")[0] for name in world.rows}
    forbidden = [
        *(f"TRUNCATE {table} CASCADE" for table in world.rows),
        *(f"SELECT nextval('{row[0]}')" for row in sequences),
        *(f"CREATE TABLE {schema}.mine ()" for schema in schemas),
        "CREATE SCHEMA mine",
        "SET LOCAL session_replication_role = replica",
    ]
    for actor in ACTORS:
        for statement in forbidden:
            async with undone(connection):
                await become(connection, actor)
                with pytest.raises((asyncpg.InsufficientPrivilegeError, asyncpg.WrongObjectTypeError)):
                    await connection.execute(f"{statement} -- {actor.name}")
