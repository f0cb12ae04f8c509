"""What nobody could fire in time: bounded, as the schedule says, and nobody else waits for it."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from shoal.schedules.rules import MOST_FIRES_AT_ONCE
from shoal.schedules.store import sql

from .timetable import Timetable

THREE_HOURS = timedelta(hours=3)


@pytest.mark.parametrize(
    ("policy", "runs"),
    [({}, 1), ({"missed_runs": "skip"}, 1), ({"missed_runs": "all", "missed_limit": 50}, 50)],
)
async def test_after_three_hours_a_minutely_schedule_does_not_fire_181_times(
    timetable: Timetable, policy: dict[str, Any], runs: int
) -> None:
    schedule_id = await timetable.add(owes=THREE_HOURS, **policy)
    start = (await timetable.schedule(schedule_id))["start_ts"]

    assert await timetable.drain() == runs

    last = (await timetable.runs(schedule_id))[-1]
    after = await timetable.schedule(schedule_id)
    assert last["fire_ts"] == start + THREE_HOURS
    assert after["next_fire_ts"] == start + THREE_HOURS + timedelta(minutes=1)
    if runs == 1:
        assert last["since_ts"] == start


async def test_what_is_too_old_for_a_schedule_that_skips_never_runs(timetable: Timetable) -> None:
    hourly = await timetable.add(
        owes=timedelta(minutes=30), frequency_unit="HOURS", missed_runs="skip", missed_window_s=600
    )

    assert await timetable.drain() == 0

    assert await timetable.runs(hourly) == []
    assert (await timetable.schedule(hourly))["active"]


async def test_the_backlog_of_one_owner_does_not_hold_up_another(timetable: Timetable) -> None:
    hog, other = uuid4(), uuid4()
    for _ in range(30):
        await timetable.add(owes=THREE_HOURS, host=hog, missed_runs="all", missed_limit=1000)
    late = await timetable.add(owes=timedelta(seconds=1), host=other)

    by_age = await sql.find_due.rows(timetable.connection, at_most=4)
    fairly = await sql.find_due_fairly.rows(timetable.connection, at_most=4)

    assert late not in {row["schedule_id"] for row in by_age}
    assert late in {row["schedule_id"] for row in fairly}


async def test_one_that_catches_up_fires_a_little_at_a_time(timetable: Timetable) -> None:
    await timetable.add(owes=THREE_HOURS, missed_runs="all", missed_limit=1000)

    assert (await timetable.turn()).runs == MOST_FIRES_AT_ONCE
