"""Kafka: everything arrives, in order per aggregate, whatever happens to the broker and to relays."""

import asyncio
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from confluent_kafka import Consumer

from shoal.ledger.connection import Connection
from shoal.ledger.pool import Ledger
from tests.support.kafka_broker import KafkaBroker

from .receiver import first_of_each
from .relaying import RelayProcess, relaying, until

AGGREGATES = 12
EVENTS_EACH = 400
APPEND = """
SELECT shoal.append_events('thing', array_agg($1 || a), array_agg('thing.done'::text),
                           array_agg(jsonb_build_object('note', $2::text)))
  FROM generate_series(0, 11) AS a
"""
PREFIX = "test."

pytestmark = pytest.mark.newest_servers


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[KafkaBroker]:
    broker = KafkaBroker(tmp_path)
    broker.start()
    try:
        yield broker
    finally:
        broker.stop()


def read_all(broker: KafkaBroker, topic: str, *, at_least: int) -> list[tuple[Any, Any]]:
    """The messages of a topic as (message, what it says), each partition in its order."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.address,
            "group.id": str(uuid.uuid4()),
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
        }
    )
    consumer.subscribe([topic])
    found: list[tuple[Any, Any]] = []
    idle = 0
    try:
        while len(found) < at_least or idle < 2:  # also what came twice
            messages = consumer.consume(1000, timeout=1.0)
            idle = 0 if messages else idle + 1
            assert idle < 20, f"{len(found)} of {at_least} came"
            found += [
                (one, msgspec.json.decode(one.value() or b"")) for one in messages if one.error() is None
            ]
    finally:
        consumer.close()
    return found


async def behind(connection: Connection) -> int:
    """How many messages Kafka has not been told of."""
    count = """
        SELECT (SELECT count(*) FROM outbox_message_t WHERE position IS NULL)
             + (SELECT sum(p.last_position - k.position) FROM consumer_offset_t k
                  JOIN outbox_partition_t p USING (partition) WHERE k.sink = 'kafka')
    """
    return int(await connection.fetchval(count) or 0)


async def append(connection: Connection, *, first: int, count: int) -> None:
    for number in range(first, first + count):
        await connection.execute(APPEND, "thing-", f"{number}")
        await asyncio.sleep(0.005)


async def test_messages_carry_key_topic_and_ids(
    ledger: Ledger, database_url: str, broker: KafkaBroker
) -> None:
    given = {"kafka_brokers": broker.address, "kafka_topic_prefix": PREFIX}
    async with relaying(database_url, **given), ledger.connection() as connection:
        job = "SELECT shoal.append_events('job', '{j1}', '{job.completed}', p_event_ids => ARRAY[$1::uuid])"
        event = uuid.uuid4()
        await connection.execute(job, event)
        user = uuid.uuid4()
        emit = "SELECT shoal.append_events('schedule', '{s1}', '{user.x}', p_event_topics => '{payments}')"
        await connection.execute(emit)
        await connection.fetchval("SELECT emit_event('user.big', $1, '', $2)", {"x": "x" * 60_000}, user)
        await until(lambda: asyncio.ensure_future(is_through(connection)))
    ((message, said),) = await asyncio.to_thread(read_all, broker, f"{PREFIX}job", at_least=1)
    assert message.key() == b"j1"
    assert dict(message.headers()) == {"id": str(event).encode(), "type": b"job.completed"}
    assert (said["id"], said["type"], said["aggregateId"]) == (str(event), "job.completed", "j1")
    # A topic that a user named is below our prefix: nobody writes into those of others.
    assert len(await asyncio.to_thread(read_all, broker, f"{PREFIX}payments", at_least=1)) == 1
    assert len(await asyncio.to_thread(read_all, broker, f"{PREFIX}user", at_least=1)) == 1


async def is_through(connection: Connection) -> bool:
    return await behind(connection) == 0


async def test_nothing_is_lost_and_order_holds_while_broker_and_relays_come_and_go(
    ledger: Ledger, database_url: str, broker: KafkaBroker
) -> None:
    def relay() -> RelayProcess:
        return RelayProcess(database_url, kafka_brokers=broker.address, kafka_topic_prefix=PREFIX)

    relays = [await asyncio.to_thread(relay) for _ in range(2)]
    try:
        async with ledger.connection() as connection, ledger.connection() as looking:
            appending = asyncio.create_task(append(connection, first=0, count=EVENTS_EACH))
            await asyncio.sleep(0.5)
            await asyncio.to_thread(broker.kill)
            await asyncio.sleep(2)
            assert not appending.done() or await behind(looking)
            await asyncio.to_thread(broker.start)
            relays[0].kill()
            relays[1].pause()
            await asyncio.sleep(1)
            relays[0] = await asyncio.to_thread(relay)
            relays[1].resume()
            await asyncio.to_thread(broker.stop)
            await asyncio.to_thread(broker.start)
            await appending
            await until(lambda: asyncio.ensure_future(is_through(looking)), within_s=120)
    finally:
        for one in relays:
            one.kill()

    found = await asyncio.to_thread(read_all, broker, f"{PREFIX}thing", at_least=AGGREGATES * EVENTS_EACH)
    told = [said for _, said in found]
    expected = {f"thing-{n}": [f"{k}" for k in range(EVENTS_EACH)] for n in range(AGGREGATES)}
    assert first_of_each(told) == expected
    assert len({event["id"] for event in told}) == AGGREGATES * EVENTS_EACH, "a repeat has the id it had"
