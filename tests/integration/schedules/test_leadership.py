"""Who leads: one at a time, by the clock of the ledger, and nobody longer than it can be sure of."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime

from shoal.ledger.connection import connect
from shoal.ledger.settings import LedgerSettings
from shoal.schedules.leader import Leadership
from shoal.schedules.store import sql
from tests.support.postgres import PostgresServer

from .timetable import Timetable

DEADLINE_S = 10.0
LEASE_S = 1.0


class WallClockThatLies:
    """Monotonic as it should be; its wall clock is years away, so whoever looks at it goes wrong."""

    def now(self) -> datetime:
        return datetime(1999, 1, 1, tzinfo=UTC)

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()


class ClockMovedByHand(WallClockThatLies):
    ahead = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead


@asynccontextmanager
async def standing(url: str, name: str, **given: object) -> AsyncIterator[Leadership]:
    leadership = Leadership(
        LedgerSettings(database_url=url),
        lease_s=LEASE_S,
        instance=name,
        **given,  # type: ignore[arg-type]
    )
    running = asyncio.create_task(leadership.run())
    try:
        yield leadership
    finally:
        await leadership.stop()
        await running


async def until(condition: Callable[[], bool], *, within_s: float = DEADLINE_S) -> None:
    async with asyncio.timeout(within_s):
        while not condition():  # noqa: ASYNC110 - it depends on the clock of the ledger
            await asyncio.sleep(0.01)


async def test_one_of_many_leads_and_the_next_at_once_when_it_ends_in_order(database_url: str) -> None:
    async with AsyncExitStack() as stack:
        all_of_them = [await stack.enter_async_context(standing(database_url, f"s{n}")) for n in range(4)]
        await until(lambda: any(one.term for one in all_of_them))
        (leads,) = [one for one in all_of_them if one.term]
        others = [one for one in all_of_them if one is not leads]
        loop = asyncio.get_running_loop()

        began = loop.time()
        await leads.stop()
        await until(lambda: any(one.term for one in others))

        assert loop.time() - began < LEASE_S / 2  # told, not timed out
        assert leads.term is None
        assert len([one for one in others if one.term]) == 1


async def test_the_first_of_an_empty_table_is_elected_whatever_its_wall_clock_says(database_url: str) -> None:
    async with standing(database_url, "ann", clock=WallClockThatLies()) as ann:
        await until(lambda: ann.term is not None)
        async with standing(database_url, "bob") as bob:
            await asyncio.sleep(LEASE_S * 2)
            assert ann.term is not None  # its heartbeats hold the term
            assert bob.term is None


async def test_who_falls_silent_is_followed_and_has_stopped_believing_before(database_url: str) -> None:
    clock = ClockMovedByHand()
    async with standing(database_url, "ann", clock=clock) as ann:
        await until(lambda: ann.term is not None)
        clock.ahead = LEASE_S  # as if it had been paused for as long
        assert ann.term is None
        await until(lambda: ann.term is not None)  # nobody took over: the same term goes on


async def test_a_lease_that_ran_out_is_taken_and_its_holder_learns_it(timetable: Timetable) -> None:
    gone = await timetable.lead("gone")
    await timetable.connection.execute(
        "UPDATE scheduler_lock_t SET lease_s = 0.2, last_heartbeat = clock_timestamp() - interval '0.1 s'"
    )
    refused = await sql.elect_scheduler.row(timetable.connection, instance_id="next", lease_s=LEASE_S)
    assert refused is not None
    assert refused["elected_at"] is None
    assert 0 < refused["free_in_s"] <= 0.2
    await asyncio.sleep(0.2)

    taken = await sql.elect_scheduler.row(timetable.connection, instance_id="next", lease_s=LEASE_S)

    assert taken is not None
    assert taken["elected_at"] > gone.elected_at
    assert not await sql.renew_scheduler.value(
        timetable.connection, instance_id=gone.instance, elected_at=gone.elected_at
    )


async def test_a_restarted_process_of_the_same_name_is_not_its_zombie(timetable: Timetable) -> None:
    zombie = await timetable.lead("same")
    again = await timetable.lead("same")

    renewed = [
        await sql.renew_scheduler.value(timetable.connection, instance_id="same", elected_at=term.elected_at)
        for term in (zombie, again)
    ]
    await sql.resign_scheduler.run(timetable.connection, instance_id="same", elected_at=zombie.elected_at)

    assert renewed == [False, True]
    row = await sql.elect_scheduler.row(timetable.connection, instance_id="other", lease_s=LEASE_S)
    assert row is not None
    assert row["elected_at"] is None  # the zombie ended nothing


async def test_the_age_of_a_lease_is_not_that_of_the_transaction_that_looks(
    timetable: Timetable, database_url: str
) -> None:
    """CURRENT_TIMESTAMP is when a transaction began: a lease that ended since then would look alive."""
    other = await connect(database_url, application="test")
    try:
        async with other.transaction():
            await other.execute("SELECT 1")
            await timetable.lead("gone")
            await timetable.connection.execute("UPDATE scheduler_lock_t SET lease_s = 0.1")
            await asyncio.sleep(0.15)
            row = await sql.elect_scheduler.row(other, instance_id="next", lease_s=LEASE_S)
        assert row is not None
        assert row["elected_at"] is not None
    finally:
        await other.close()


async def test_a_leader_that_cannot_reach_the_ledger_believes_no_longer_than_its_lease(
    postgres_to_stop: PostgresServer,
) -> None:
    async with (
        postgres_to_stop.migrated_database() as name,
        standing(postgres_to_stop.url(name), "ann") as ann,
    ):
        await until(lambda: ann.term is not None)
        await postgres_to_stop.stop()
        try:
            await until(lambda: ann.term is None, within_s=LEASE_S + 1)
        finally:
            await postgres_to_stop.start()
        await until(lambda: ann.term is not None)
