"""The database is restarted while events are told: nothing is lost, and nothing is held against an event."""

import asyncio
import uuid

import pytest

from shoal.ledger.connection import BROKEN, REPEATABLE, connect
from tests.support.postgres import PostgresServer

from .receiver import LOOPBACK, first_of_each, receiving
from .relaying import relaying, until

EVENTS = 300
APPEND = """
SELECT shoal.append_events('thing', ARRAY[$1], '{thing.done}', ARRAY[$2::jsonb],
                           p_event_ids => ARRAY[$3::uuid])
"""
GONE = (*REPEATABLE, *BROKEN)


@pytest.mark.newest_servers
async def test_nothing_is_lost_when_the_database_restarts(postgres_to_stop: PostgresServer) -> None:
    async with postgres_to_stop.migrated_database() as name, receiving() as receiver:
        url = postgres_to_stop.url(name)
        async with relaying(url, webhook_networks=LOOPBACK):
            await add_webhook(url, receiver.url)
            appending = asyncio.create_task(append_all(url))
            await until(lambda: len(receiver.told) > 50)
            await postgres_to_stop.stop()
            await postgres_to_stop.start()
            await appending
            await until(lambda: sum(map(len, first_of_each(receiver.told).values())) == EVENTS, within_s=90)
        assert first_of_each(receiver.told) == {
            f"thing-{n}": [f"{k}" for k in range(n, EVENTS, 5)] for n in range(5)
        }
        connection = await connect(url, application="test")
        assert await connection.fetchval("SELECT count(*) FROM event_dead_letter_t") == 0
        await connection.close()


async def add_webhook(url: str, hook: str) -> None:
    connection = await connect(url, application="test")
    await connection.fetch("SELECT add_webhook($1, '{thing.*}')", hook)
    await connection.close()


async def append_all(url: str) -> None:
    """Whoever appends tries again as well; by the ids, nothing is there twice."""
    number = 0
    while number < EVENTS:
        try:
            connection = await connect(url, application="test")
        except GONE:
            await asyncio.sleep(0.1)
            continue
        try:
            while number < EVENTS:
                event = uuid.uuid5(uuid.NAMESPACE_OID, f"{number}")
                await connection.execute(APPEND, f"thing-{number % 5}", {"note": f"{number}"}, event)
                number += 1
                await asyncio.sleep(0.01)
            await connection.close()
        except GONE:
            connection.terminate()
