"""Several relay processes tell one sink; they are killed, paused beyond their lease, and woken up."""

import asyncio
import random
from functools import partial

import pytest

from shoal.ledger.connection import Connection
from shoal.ledger.pool import Ledger

from .receiver import LOOPBACK, Receiver, first_of_each, receiving
from .relaying import RelayProcess, until

AGGREGATES = 20
EVENTS_EACH = 60

# Each with the row of its aggregate locked, as whoever changes one does; some commit late.
APPEND = "SELECT shoal.append_events('thing', ARRAY[$1], '{thing.done}', ARRAY[$2::jsonb])"


async def append_all(connection: Connection, name: str) -> None:
    for number in range(EVENTS_EACH):
        async with connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock(hashtext($1))", name)
            await connection.execute(APPEND, name, {"note": f"{number}"})
            await asyncio.sleep(random.uniform(0, 0.05))  # noqa: S311 - no secret


@pytest.mark.newest_servers
async def test_nothing_is_lost_and_order_holds_whatever_happens_to_relays(
    ledger: Ledger, database_url: str
) -> None:
    def relay() -> RelayProcess:
        return RelayProcess(database_url, webhook_networks=LOOPBACK)

    async with receiving() as receiver, ledger.connection() as connection:
        await connection.fetch("SELECT add_webhook($1, '{thing.*}')", receiver.url)
        await shorten_leases(connection)
        relays = [await asyncio.to_thread(relay) for _ in range(3)]
        try:
            appending = asyncio.gather(*(one_writer(ledger, part) for part in range(3)))
            for turn in range(6):
                await until(partial(has_told, receiver, 100 * turn))
                victim = relays[turn % 3]
                if turn % 2:
                    victim.pause()
                    await asyncio.sleep(1.0)  # beyond its lease
                    victim.resume()
                else:
                    victim.kill()
                    relays[turn % 3] = await asyncio.to_thread(relay)
            await appending
            expected = {f"thing-{n}": [f"{k}" for k in range(EVENTS_EACH)] for n in range(AGGREGATES)}
            await until(
                lambda: sum(map(len, first_of_each(receiver.told).values())) == AGGREGATES * EVENTS_EACH
            )
            assert first_of_each(receiver.told) == expected
        finally:
            for one in relays:
                one.kill()


def has_told(receiver: Receiver, count: int) -> bool:
    return len(receiver.told) > count


async def one_writer(ledger: Ledger, part: int) -> None:
    async with ledger.connection() as connection:
        for number in range(part, AGGREGATES, 3):
            await append_all(connection, f"thing-{number}")


async def shorten_leases(connection: Connection) -> None:
    """A turn lasts half a second here, so that a test sees the end of many."""
    await connection.execute("""
        CREATE FUNCTION shorten() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          NEW.held_until := least(NEW.held_until, clock_timestamp() + interval '0.5 s');
          RETURN NEW;
        END $$;
        CREATE TRIGGER shorten BEFORE UPDATE ON consumer_offset_t FOR EACH ROW EXECUTE FUNCTION shorten();
    """)
