"""From the event of a run to its job: once, for the owner of the schedule, as its overlap policy says."""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from shoal.ledger.connection import Row, connect
from shoal.schedules.store import sql
from tests.integration.jobs.ledger_client import JOB_TYPE, LedgerClient

from .timetable import OWNER, Timetable

START = "SELECT shoal.start_scheduled_job($1)"
STRANGER = UUID("00000000-0000-4000-8000-0000000000bb")


class Office:
    """A schedule that starts jobs, its runs, and what the consumer does with their events."""

    def __init__(self, timetable: Timetable, schedule_id: UUID) -> None:
        self.timetable = timetable
        self.schedule_id = schedule_id
        self.jobs = LedgerClient(timetable.connection)

    async def run(self) -> UUID | None:
        """Run it now, and hand the event to the consumer; returns the job."""
        await self.timetable.connection.execute(
            "SELECT run_schedule($1, ARRAY[clock_timestamp()])", self.schedule_id
        )
        return await self.start((await self.timetable.events(self.schedule_id))[-1]["event_id"])

    async def start(self, event_id: UUID) -> UUID | None:
        job_id: UUID | None = await self.timetable.connection.fetchval(START, event_id)
        return job_id

    async def outcomes(self) -> list[str]:
        return [row["outcome"] for row in await self.timetable.runs(self.schedule_id)]

    async def job(self, job_id: UUID | None) -> Row:
        (row,) = await self.timetable.connection.fetch("SELECT * FROM jobs WHERE id = $1", job_id)
        found: Row = row
        return found

    async def end(self, job_id: UUID | None) -> None:
        await self.timetable.connection.execute("SELECT cancel_job($1)", job_id)


async def open_office(timetable: Timetable, *, data: str | None = None, **columns: Any) -> Office:
    await LedgerClient(timetable.connection).register_once(JOB_TYPE)
    known = data or f'{{"type": "{JOB_TYPE}", "params": {{"n": 7}}, "priority": 3}}'
    return Office(timetable, await timetable.add(event_type="job.start", event_data=known, **columns))


async def test_a_run_starts_its_job_once_however_often_its_event_is_read(timetable: Timetable) -> None:
    office = await open_office(timetable, owes=timedelta(seconds=5))
    await timetable.drain()
    _, event = await timetable.events(office.schedule_id)

    started = [await office.start(event["event_id"]) for _ in range(3)]

    assert started[0] is not None
    assert set(started) == {started[0]}
    job = await office.job(started[0])
    assert (job["user_id"], job["type"], job["params"], job["priority"]) == (OWNER, JOB_TYPE, {"n": 7}, 3)
    assert await timetable.connection.fetchval("SELECT count(*) FROM jobs") == 1


async def test_the_job_belongs_to_the_owner_whatever_the_data_say(timetable: Timetable) -> None:
    forged = f'"user_id": "{STRANGER}", "userId": "{STRANGER}", "host_id": "{STRANGER}"'
    office = await open_office(timetable, data=f'{{"type": "{JOB_TYPE}", {forged}}}')

    assert (await office.job(await office.run()))["user_id"] == OWNER


async def test_consumers_that_read_the_same_event_at_once_start_one_job(
    timetable: Timetable, database_url: str
) -> None:
    office = await open_office(timetable, owes=timedelta(seconds=5), overlap="queue")
    await timetable.drain()
    _, event = await timetable.events(office.schedule_id)
    others = [await connect(database_url, application="test") for _ in range(3)]
    try:
        started = await asyncio.gather(*(other.fetchval(START, event["event_id"]) for other in others))
    finally:
        for other in others:
            await other.close()

    assert len(set(started)) == 1
    assert await timetable.connection.fetchval("SELECT count(*) FROM jobs") == 1


@pytest.mark.parametrize(
    ("overlap", "outcomes"),
    [
        ("allow", ["started", "started"]),
        ("skip", ["started", "skipped"]),
        ("queue", ["started", "queued"]),
        ("cancel", ["started", "started"]),
    ],
)
async def test_a_run_whose_predecessor_is_alive_follows_its_policy(
    timetable: Timetable, overlap: str, outcomes: list[str]
) -> None:
    office = await open_office(timetable, overlap=overlap)

    first, second = await office.run(), await office.run()

    assert await office.outcomes() == outcomes
    assert (second is not None) == (outcomes[1] == "started")
    assert (await office.job(first))["status"] == ("cancelled" if overlap == "cancel" else "queued")


async def test_what_waits_starts_in_its_order_when_the_one_before_has_ended(timetable: Timetable) -> None:
    office = await open_office(timetable, overlap="queue")
    first = await office.run()
    assert [await office.run(), await office.run()] == [None, None]

    assert await sql.release_queued_runs.value(timetable.connection, at_most=9) == 0
    await office.end(first)
    assert await office.run() is None  # it stands behind those that wait
    assert await sql.release_queued_runs.value(timetable.connection, at_most=9) == 1

    assert await office.outcomes() == ["started", "started", "queued", "queued"]


async def test_no_more_wait_than_the_schedule_allows(timetable: Timetable) -> None:
    office = await open_office(timetable, overlap="queue", missed_limit=2)

    for _ in range(4):
        await office.run()

    assert await office.outcomes() == ["started", "queued", "queued", "skipped"]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ('{"type": "nobody.made.it"}', "There is no job type"),
        ("{}", ""),
        ("[]", ""),
        ('{"type": "graph", "priority": 1000}', "priority"),
        ('{"type": "graph", "priority": "high"}', "integer"),
    ],
)
async def test_a_job_that_cannot_be_started_is_a_failed_run_with_its_reason(
    timetable: Timetable, data: str, why: str
) -> None:
    office = await open_office(timetable, data=data)

    assert await office.run() is None

    (run,) = await timetable.runs(office.schedule_id)
    assert run["outcome"] == "failed"
    assert why in run["error"]


async def test_of_a_deleted_schedule_nothing_more_starts(timetable: Timetable) -> None:
    office = await open_office(timetable, owes=timedelta(seconds=5))
    await timetable.drain()
    event = (await timetable.events(office.schedule_id))[-1]

    await timetable.connection.execute("SELECT delete_schedule($1)", office.schedule_id)

    assert await office.start(event["event_id"]) is None
    assert await timetable.connection.fetchval("SELECT count(*) FROM jobs") == 0
    assert await timetable.told(office.schedule_id) == ["schedule.created", "job.start", "schedule.deleted"]


async def test_events_of_others_start_nothing(timetable: Timetable) -> None:
    schedule_id = await timetable.add(event_data=f'{{"type": "{JOB_TYPE}"}}')
    await timetable.connection.execute("SELECT run_schedule($1, ARRAY[clock_timestamp()])", schedule_id)
    (_, ticked) = await timetable.events(schedule_id)
    await timetable.connection.execute(
        "SELECT shoal.append_events('job', $1, '{job.start}', ARRAY[jsonb_build_object('data', 1)])",
        [str(schedule_id)],
    )

    for event_id in (ticked["event_id"], (await timetable.events(schedule_id))[-1]["event_id"], uuid4()):
        assert await timetable.connection.fetchval(START, event_id) is None
