"""Firing what is due: once, with its event, and on to the next time, in one step."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from shoal.schedules.firing import NotLeadingError

from .timetable import OWNER, Timetable

HALF_A_MINUTE = timedelta(seconds=30)


async def test_what_is_due_is_fired_with_its_event_and_goes_on_to_its_next_time(timetable: Timetable) -> None:
    schedule_id = await timetable.add(owes=HALF_A_MINUTE, event_data='{"is": 7}', event_topic="greetings")
    before = await timetable.schedule(schedule_id)

    fired = await timetable.turn()

    assert (fired.schedules, fired.runs, fired.parked) == (1, 1, 0)
    (run,) = await timetable.runs(schedule_id)
    assert (run["fire_ts"], run["kind"], run["since_ts"]) == (before["next_fire_ts"], "scheduled", None)
    _, event = await timetable.events(schedule_id)
    assert (event["event_id"], event["user_id"]) == (run["event_id"], OWNER)
    assert (event["event_type"], event["event_topic"]) == ("user.tick", "greetings")
    assert event["payload"]["data"] == {"is": 7}
    assert event["payload"]["scheduleId"] == str(schedule_id)
    assert datetime.fromisoformat(event["payload"]["fireTs"]) == run["fire_ts"]
    after = await timetable.schedule(schedule_id)
    assert after["next_run_ts"] == after["next_fire_ts"] == before["start_ts"] + timedelta(minutes=1)
    assert after["runs"] == 1
    assert not await timetable.due()


async def test_two_leaders_who_read_the_same_fire_it_once(timetable: Timetable) -> None:
    schedule_id = await timetable.add(owes=HALF_A_MINUTE)
    paused = await timetable.lead("ann")
    read_before_the_pause = await timetable.due()

    leads = await timetable.lead("bob")
    assert (await timetable.turn(leads)).runs == 1
    with pytest.raises(NotLeadingError):
        await timetable.turn(paused, read_before_the_pause)
    # Nor does it fire twice if both believed to lead: it is not as it was read.
    assert (await timetable.turn(leads, read_before_the_pause)).runs == 0

    assert len(await timetable.runs(schedule_id)) == 1
    assert await timetable.told(schedule_id) == ["schedule.created", "user.tick"]


async def test_batches_fired_at_the_same_moment_make_each_run_once(timetable: Timetable) -> None:
    for _ in range(40):
        await timetable.add(owes=HALF_A_MINUTE)
    term = await timetable.lead()
    rows = await timetable.due()

    turns = await asyncio.gather(
        timetable.turn(term, rows), timetable.turn(term, rows[::-1]), timetable.turn(term, rows)
    )

    assert sum(fired.runs for fired in turns) + await timetable.drain(term) == 40
    assert await timetable.connection.fetchval("SELECT count(*) FROM schedule_fires") == 40
    assert (
        await timetable.connection.fetchval(
            "SELECT count(*) FROM event_store_t WHERE event_type = 'user.tick'"
        )
        == 40
    )


async def test_a_schedule_that_was_changed_since_it_was_read_is_left_out(timetable: Timetable) -> None:
    changed, paused, edited = [await timetable.add(owes=HALF_A_MINUTE) for _ in range(3)]
    rows = await timetable.due()
    name = (await timetable.schedule(changed))["schedule_name"]
    await timetable.connection.execute(
        "SELECT add_schedule($1, $2, 'replace')",
        {"schedule_name": name, "frequency_unit": "HOURS", "event_type": "user.tick"},
        OWNER,
    )
    await timetable.connection.execute("SELECT pause_schedule($1)", paused)
    await timetable.connection.execute(
        "UPDATE schedule_t SET aggregate_version = 2 WHERE schedule_id = $1",
        edited,
    )

    assert (await timetable.turn(rows=rows)).runs == 0

    assert (await timetable.schedule(changed))["frequency_unit"] == "HOURS"
    assert not (await timetable.schedule(paused))["active"]


async def test_a_row_that_a_client_of_the_seed_inserts_is_fired(timetable: Timetable) -> None:
    now = await timetable.now()
    start = now - timedelta(seconds=90)
    schedule_id = await timetable.insert(start_ts=start, next_run_ts=start, event_data='{"a": 1}')

    assert await timetable.drain() == 1  # two were missed; the last runs for both

    (run,) = await timetable.runs(schedule_id)
    assert (run["fire_ts"], run["since_ts"]) == (start + timedelta(minutes=1), start)
    assert (await timetable.schedule(schedule_id))["next_run_ts"] == start + timedelta(minutes=2)


async def test_a_schedule_ends_with_its_end_or_with_its_runs(timetable: Timetable) -> None:
    now = await timetable.now()
    by_time = await timetable.insert(
        start_ts=now - timedelta(seconds=70),
        next_run_ts=now - timedelta(seconds=70),
        end_ts=now,
        missed_runs="all",
    )
    by_runs = await timetable.insert(
        start_ts=now - timedelta(hours=1), next_run_ts=now - timedelta(hours=1), max_runs=3, missed_runs="all"
    )

    assert await timetable.drain() == 2 + 3

    for schedule_id in (by_time, by_runs):
        row = await timetable.schedule(schedule_id)
        assert not row["active"]
        assert row["ended_at"] is not None
        assert (await timetable.told(schedule_id))[-1] == "schedule.ended"


async def test_what_fires_is_read_in_one_transaction_with_its_run(timetable: Timetable) -> None:
    """A crash before the commit leaves nothing; one after it leaves everything."""
    schedule_id = await timetable.add(owes=HALF_A_MINUTE)
    await timetable.connection.execute(
        "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE division_by_zero; END';"
        "CREATE TRIGGER fail BEFORE INSERT ON event_store_t FOR EACH ROW WHEN (new.event_type = 'user.tick')"
        " EXECUTE FUNCTION fail()"
    )

    fired = await timetable.turn()

    assert (fired.runs, fired.parked) == (0, 1)
    assert await timetable.runs(schedule_id) == []
    row = await timetable.schedule(schedule_id)
    assert row["next_run_ts"] < datetime.now(UTC)
    assert "division by zero" in row["error"] or "division_by_zero" in row["error"]
