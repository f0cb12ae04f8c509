"""The loop of whoever leads, with its parts as a sentinel runs them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

from prometheus_client import CollectorRegistry

from shoal.ledger.listener import Listener
from shoal.ledger.pool import Ledger
from shoal.ledger.settings import LedgerSettings
from shoal.runtime.lifecycle import Part
from shoal.schedules.leader import Leadership
from shoal.schedules.measures import SchedulerMeasures
from shoal.schedules.scheduler import Scheduler

from .timetable import OWNER, Timetable

DEADLINE_S = 20.0
FAR_AWAY: Any = {"frequency_unit": "YEARS", "start_ts": "2100-01-01T00:00:00Z"}
AGE = "UPDATE schedule_fires SET fired_at = clock_timestamp() - interval '3 days'"


@asynccontextmanager
async def scheduling(
    url: str, ledger: Ledger, *, batch: int = 100, keep_runs: timedelta | None = None
) -> AsyncIterator[CollectorRegistry]:
    settings, registry = LedgerSettings(database_url=url), CollectorRegistry()
    leadership, listener = Leadership(settings, lease_s=5.0), Listener(settings)
    scheduler = Scheduler(
        ledger,
        leadership,
        listener,
        measures=SchedulerMeasures(registry),
        batch=batch,
        keep_runs=keep_runs,
    )
    parts: list[Part] = [listener, leadership, scheduler]
    running = [asyncio.create_task(part.run()) for part in parts]
    try:
        yield registry
    finally:
        for part, task in zip(reversed(parts), reversed(running), strict=True):
            await part.stop()
            await task


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while not await condition():  # noqa: ASYNC110 - rows have no event
            await asyncio.sleep(0.02)


async def number(timetable: Timetable, question: str) -> int:
    return int(await timetable.connection.fetchval(question))


async def test_more_than_fits_into_a_turn_is_fired_once_each_and_counted(
    timetable: Timetable, database_url: str, ledger: Ledger
) -> None:
    for _ in range(57):
        await timetable.add(owes=timedelta(seconds=10))

    async with scheduling(database_url, ledger, batch=2) as registry:
        await until(lambda: has_counted(registry, 57))

        assert registry.get_sample_value("shoal_scheduler_leads") == 1
    assert await number(timetable, "SELECT count(*) FROM schedule_fires") == 57
    assert await number(timetable, "SELECT sum(runs) FROM schedule_t") == 57
    assert registry.get_sample_value("shoal_schedule_runs_total") == 57


async def has_counted(registry: CollectorRegistry, runs: int) -> bool:
    return (registry.get_sample_value("shoal_schedule_runs_total") or 0) >= runs


async def all_fired(timetable: Timetable, count: int) -> bool:
    return await number(timetable, "SELECT count(*) FROM schedule_fires") >= count


async def test_one_that_is_added_is_fired_at_once_though_nothing_was_due(
    timetable: Timetable, database_url: str, ledger: Ledger
) -> None:
    async with scheduling(database_url, ledger):
        far = await timetable.add(**FAR_AWAY)
        added = {"schedule_name": "soon", "frequency_unit": "SECONDS", "event_type": "user.tick"}
        await timetable.connection.execute("SELECT add_schedule($1, $2)", added, OWNER)
        await until(lambda: all_fired(timetable, 2))
    assert await timetable.runs(far) == []


async def test_what_waits_for_a_job_to_end_is_started_without_anybody_asking(
    timetable: Timetable, database_url: str, ledger: Ledger
) -> None:
    await timetable.connection.execute("SELECT shoal.register_job_type('graph', '1', '{}', '[]')")
    schedule_id = await timetable.add(
        event_type="job.start", event_data='{"type": "graph"}', overlap="queue", **FAR_AWAY
    )
    for _ in range(2):
        await timetable.connection.execute("SELECT run_schedule($1, ARRAY[clock_timestamp()])", schedule_id)
        event = (await timetable.events(schedule_id))[-1]
        await timetable.connection.execute("SELECT shoal.start_scheduled_job($1)", event["event_id"])
    first, second = await timetable.runs(schedule_id)
    assert (first["outcome"], second["outcome"]) == ("started", "queued")

    async with scheduling(database_url, ledger):
        await timetable.connection.execute("SELECT cancel_job($1)", first["job_id"])
        await until(lambda: is_started(timetable, schedule_id))


async def is_started(timetable: Timetable, schedule_id: object) -> bool:
    rows = await timetable.connection.fetch(
        "SELECT outcome FROM schedule_fires WHERE schedule_id = $1 ORDER BY fire_ts", schedule_id
    )
    return [row["outcome"] for row in rows] == ["started", "started"]


async def test_old_runs_are_forgotten_and_young_ones_are_not(
    timetable: Timetable, database_url: str, ledger: Ledger
) -> None:
    schedule_id = await timetable.add(**FAR_AWAY)
    for aged in (AGE, AGE, None):
        await timetable.connection.execute("SELECT run_schedule($1, ARRAY[clock_timestamp()])", schedule_id)
        if aged:
            await timetable.connection.execute(aged)

    async with scheduling(database_url, ledger, keep_runs=timedelta(days=2)):
        await until(lambda: is_forgotten(timetable))

    assert await number(timetable, "SELECT count(*) FROM schedule_fires") == 1


async def is_forgotten(timetable: Timetable) -> bool:
    return await number(timetable, "SELECT count(*) FROM schedule_fires") < 3
