"""What cannot be fired is put aside with the reason, and everything beside it fires."""

from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from .timetable import OWNER, Timetable

LATE = timedelta(seconds=30)


async def test_data_that_is_no_json_parks_its_schedule_and_no_other(timetable: Timetable) -> None:
    good = [await timetable.add(owes=LATE) for _ in range(9)]
    bad = await timetable.add(owes=LATE, event_data="{not json")
    good += [await timetable.add(owes=LATE) for _ in range(9)]

    fired = await timetable.turn()

    assert (fired.runs, fired.parked) == (18, 1)
    row = await timetable.schedule(bad)
    assert not row["active"]
    assert row["parked_at"] is not None
    assert "json" in row["error"]
    assert (await timetable.told(bad))[-1] == "schedule.parked"
    assert all([len(await timetable.runs(one)) == 1 for one in good])
    assert not await timetable.due()  # nor is it first in every batch from now on


@pytest.mark.parametrize(
    "columns",
    [
        {"frequency_unit": "CRON", "cron": "0 0 30 2 *"},
        {"frequency_unit": "CRON", "cron": "whenever"},
        {"zone": "Mars/Olympus"},
        {"event_data": '{"a": "\\u0000"}'},
        {"event_data": "[" * 60_000},
        {"frequency_time": 2**31 - 1, "frequency_unit": "YEARS"},
    ],
    ids=lambda columns: next(iter(columns)),
)
async def test_what_a_client_wrote_past_the_api_parks_when_it_is_due(
    timetable: Timetable, columns: dict[str, Any]
) -> None:
    bad = await timetable.insert(**columns)
    good = await timetable.add(owes=LATE)

    await timetable.drain()

    row = await timetable.schedule(bad)
    assert row["error"]
    assert not row["active"]
    assert len(await timetable.runs(good)) == 1


async def test_one_that_was_parked_goes_on_when_it_is_resumed_after_it_was_put_right(
    timetable: Timetable,
) -> None:
    schedule_id = await timetable.add(owes=LATE, schedule_name="reports", event_data="oh")
    await timetable.drain()
    assert (await timetable.schedule(schedule_id))["error"]

    same = await timetable.connection.fetchval(
        "SELECT add_schedule($1, $2, 'replace')",
        {
            "schedule_name": "reports",
            "frequency_unit": "SECONDS",
            "event_type": "user.tick",
            "event_data": "{}",
        },
        OWNER,
    )

    assert same == schedule_id
    row = await timetable.schedule(schedule_id)
    assert (row["active"], row["error"], row["parked_at"]) == (True, None, None)


@pytest.mark.parametrize(
    ("columns", "constraint"),
    [
        ({"frequency_time": 0}, "invalid_frequency"),
        ({"frequency_time": -1}, "invalid_frequency"),
        ({"event_type": "job.completed"}, "scheduled_event_check"),
        ({"event_type": "user."}, "scheduled_event_check"),
        ({"frequency_unit": "CRON"}, "cron_is_the_frequency"),
        ({"overlap": "skip"}, "overlap_needs_job"),
        ({"event_data": '"' + "x" * 65536 + '"'}, "schedule_data_fits"),
    ],
    ids=str,
)
async def test_what_would_fire_for_ever_or_speak_for_others_is_no_row(
    timetable: Timetable, columns: dict[str, Any], constraint: str
) -> None:
    with pytest.raises(asyncpg.CheckViolationError) as refusal:
        await timetable.insert(**columns)
    assert refusal.value.constraint_name == constraint


async def test_a_name_is_taken_once_for_each_owner(timetable: Timetable) -> None:
    await timetable.insert(schedule_name="reports")
    with pytest.raises(asyncpg.UniqueViolationError):
        await timetable.insert(schedule_name="reports")
