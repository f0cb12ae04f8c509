"""Appending events: in the caller's transaction, once, and to the outbox only for who asked."""

import uuid

import asyncpg
import pytest

from shoal.ledger.connection import Connection, connect
from shoal.ledger.pool import Ledger
from shoal.runtime.errors import Invalid
from tests.integration.jobs.races import refused

APPEND = "SELECT shoal.append_events($1, $2, $3, p_event_ids => $4)"
TOLD = """
SELECT e.event_type FROM public.outbox_message_t o JOIN public.event_store_t e USING (event_id) ORDER BY o.id
"""


async def append(
    connection: Connection, *types: str, aggregate: str = "a", ids: list[uuid.UUID] | None = None
) -> int:
    return int(await connection.fetchval(APPEND, "thing", [aggregate] * len(types), list(types), ids))


async def kept(connection: Connection) -> list[str]:
    rows = await connection.fetch("SELECT event_type FROM public.event_store_t ORDER BY seq")
    return [row[0] for row in rows]


async def told(connection: Connection) -> list[str]:
    return [row[0] for row in await connection.fetch(TOLD)]


async def ask(connection: Connection, *patterns: str) -> None:
    await connection.execute(
        "INSERT INTO event_sink_t (name, kind, patterns) VALUES ($1, 'consumer', $2)",
        f"sink-{uuid.uuid4()}",
        list(patterns),
    )


async def test_what_nobody_asked_for_is_kept_and_not_sent(ledger: Ledger) -> None:
    async with ledger.connection() as connection:
        assert await append(connection, "thing.made", "task.completed") == 1
        assert await kept(connection) == ["thing.made"]
        assert await told(connection) == []


async def test_the_outbox_has_an_event_once_however_many_ask(ledger: Ledger) -> None:
    async with ledger.connection() as connection:
        await ask(connection, "thing.*")
        await ask(connection, "thing.made", "other.*")
        await append(connection, "thing.made", "thingy.made", "thing.gone")
        assert await told(connection) == ["thing.made", "thing.gone"]


async def test_the_events_of_tasks_are_for_those_who_name_them(ledger: Ledger) -> None:
    async with ledger.connection() as connection:
        await ask(connection, "*")
        await append(connection, "task.completed", "thing.made")
        assert await kept(connection) == ["thing.made"]
        await ask(connection, "task.completed")
        await append(connection, "task.completed", "task.failed")
        assert await told(connection) == ["thing.made", "task.completed"]


async def test_an_event_is_appended_once(ledger: Ledger) -> None:
    one, other = uuid.uuid4(), uuid.uuid4()
    async with ledger.connection() as connection:
        await ask(connection, "*")
        assert await append(connection, "thing.made", ids=[one]) == 1
        assert await append(connection, "thing.made", "thing.gone", ids=[one, other]) == 1
        assert await told(connection) == ["thing.made", "thing.gone"]


async def test_what_is_rolled_back_was_never_appended(ledger: Ledger) -> None:
    async with ledger.connection() as connection:
        await ask(connection, "*")
        transaction = connection.transaction()
        await transaction.start()
        await append(connection, "thing.made")
        await transaction.rollback()
        assert (await kept(connection), await told(connection)) == ([], [])


async def test_a_hash_without_an_absolute_value_has_a_partition(ledger: Ledger) -> None:
    """hashtext() gives every integer there is, also the smallest; abs() of that one is an error."""
    async with ledger.connection() as connection:
        with pytest.raises(asyncpg.NumericValueOutOfRangeError):
            await connection.fetchval("SELECT abs((-2147483648)::int)")
        assert await connection.fetchval("SELECT (-2147483648)::int & 15") == 0
        spread = await connection.fetch(
            "SELECT shoal.partition_of(n::text) AS p, count(*) FROM generate_series(1, 16000) n GROUP BY 1"
        )
        assert sorted(row["p"] for row in spread) == list(range(16))
        assert max(row["count"] for row in spread) < 1500


@pytest.mark.parametrize("wrong", ["Thing.made", "", "thing made", "x" * 127])
async def test_a_type_that_is_no_name_is_refused(ledger: Ledger, wrong: str) -> None:
    async with ledger.connection() as connection:
        with refused(Invalid, "invalid_event_type"):
            await append(connection, wrong)


async def test_who_appends_while_something_waits_wakes_nobody(ledger: Ledger, database_url: str) -> None:
    """A commit that notifies waits for the others that do: under load, one waking is for all."""
    listening = await connect(database_url, application="test")
    heard: list[str] = []
    await listening.add_listener("shoal_events", lambda *_: heard.append("woken"))
    async with ledger.connection() as connection:
        await ask(connection, "thing.*")
        await append(connection, "other.made")
        assert await after_a_round_trip(listening, heard) == 0
        for _ in range(5):
            await append(connection, "thing.made")
        assert await after_a_round_trip(listening, heard) == 1
        await connection.execute("SELECT shoal.order_outbox()")
        await append(connection, "thing.made")
        assert await after_a_round_trip(listening, heard) == 2
    await listening.close()


async def after_a_round_trip(listening: Connection, heard: list[str]) -> int:
    await listening.execute("SELECT 1")  # notifications come before the answer
    return len(heard)
