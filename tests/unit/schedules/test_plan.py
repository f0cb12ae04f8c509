"""What is to be done with a due schedule, held against walking through all its occurrences one by one."""

from datetime import datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.runtime.errors import Invalid
from shoal.schedules.model import Due, MissedRuns, Pattern, Plan
from shoal.schedules.recurrence import Unit
from shoal.schedules.rules import (
    MOST_FIRES_AT_ONCE,
    due_at,
    first_occurrence,
    plan,
    recurrence_of,
)

from .stepping import MINUTE, utc

ID = UUID("00000000-0000-4000-8000-0000000000aa")
START = utc(2026, 1, 31, 8)
HOUR = timedelta(hours=1)


def due(
    *,
    count: int = 1,
    unit: Unit = "MINUTES",
    occurrence: datetime | None = START,
    missed: MissedRuns | None = None,
    jitter: timedelta = timedelta(0),
    end: datetime | None = None,
    runs_left: int | None = None,
) -> Due:
    return Due(
        id=ID,
        version=1,
        pattern=Pattern(unit, count, None, "UTC", START, end),
        occurrence=occurrence,
        due=occurrence or START,
        missed=missed or MissedRuns(),
        jitter=jitter,
        runs_left=runs_left,
    )


def drain(schedule: Due, now: datetime) -> tuple[list[datetime], Plan]:
    """Plan until nothing is due at this moment; everything that fires, and the last plan."""
    fires: list[datetime] = []
    for _ in range(10_000):
        done = plan(schedule, now=now)
        fires += done.fires
        if done.next_due is None or done.next_due > now:
            return fires, done
        left = None if schedule.runs_left is None else schedule.runs_left - len(done.fires)
        schedule = due(
            count=schedule.pattern.count,
            occurrence=done.next_occurrence,
            missed=schedule.missed,
            jitter=schedule.jitter,
            end=schedule.pattern.end,
            runs_left=left,
        )
    raise AssertionError("it never comes to an end")


missed_runs = st.builds(
    MissedRuns,
    st.sampled_from(["skip", "last", "all"]),
    st.integers(1, 60),
    st.none() | st.integers(1, 300).map(lambda minutes: minutes * MINUTE),
)


@given(
    missed_runs,
    st.integers(1, 7),
    st.integers(0, 500),
    st.none() | st.integers(1, 50),
    st.none() | st.integers(0, 600),
)
def test_whatever_was_missed_the_right_ones_run_and_the_next_is_the_first_that_is_not_due(
    missed: MissedRuns, count: int, late: int, left: int | None, ends: int | None
) -> None:
    now = START + late * MINUTE + timedelta(seconds=7)
    end = None if ends is None else START + ends * MINUTE

    fires, last = drain(due(count=count, missed=missed, end=end, runs_left=left), now)

    every = [START + number * count * MINUTE for number in range(1200)]
    every = [one for one in every if end is None or one <= end]
    owed = [one for one in every if one <= now]
    youngest = now - (missed.window or (MINUTE if missed.policy == "skip" else timedelta(days=999)))
    wanted = [one for one in owed if one >= youngest]
    wanted = wanted[-missed.limit :] if missed.policy == "all" else wanted[-1:]
    assert fires == wanted[:left]
    following = [one for one in every if one > now]
    has_ended = not following or (left is not None and len(wanted) >= left)
    assert last.next_occurrence == (None if has_ended else following[0])


def test_three_hours_of_a_minutely_schedule_are_one_run_that_says_for_how_many_it_stands() -> None:
    found = plan(due(), now=START + 3 * HOUR)

    assert found == Plan((START + 3 * HOUR,), START, START + 3 * HOUR + MINUTE, START + 3 * HOUR + MINUTE)


def test_of_one_schedule_no_more_than_some_fire_at_once() -> None:
    found = plan(due(missed=MissedRuns("all", 1000)), now=START + 3 * HOUR)

    assert len(found.fires) == MOST_FIRES_AT_ONCE
    assert found.next_occurrence == START + MOST_FIRES_AT_ONCE * MINUTE


def test_where_nobody_has_looked_yet_nothing_fires_but_the_first_occurrence_is_found() -> None:
    now = START + 90 * MINUTE
    unplanned = Due(ID, 1, Pattern("HOURS", 1, None, "UTC", START), None, now, MissedRuns())

    assert plan(unplanned, now=now) == Plan((), None, START + 2 * HOUR, START + 2 * HOUR)


@given(st.integers(0, 10_000), st.integers(1, 86_400))
def test_jitter_is_within_its_bounds_and_the_same_whoever_asks(number: int, jitter_s: int) -> None:
    jitter, occurrence = timedelta(seconds=jitter_s), START + number * MINUTE

    moment = due_at(ID, occurrence, jitter)

    assert occurrence <= moment < occurrence + jitter
    assert due_at(ID, occurrence.astimezone(), jitter) == moment


def test_jitter_spreads_and_neither_moves_nor_loses_an_occurrence() -> None:
    jitter = timedelta(minutes=30)
    moments = {due_at(ID, START + number * HOUR, jitter) - number * HOUR for number in range(50)}
    assert len(moments) > 40

    fires, last = drain(due(count=1, missed=MissedRuns("all", 1000), jitter=jitter), START + 3 * HOUR)
    assert fires == [START + number * MINUTE for number in range(len(fires))]
    assert last.next_occurrence == START + len(fires) * MINUTE
    assert 150 <= len(fires) <= 181


@pytest.mark.parametrize("count", [0, -1, -(2**31), 2**31, 60 * 24 * 366 * 101])
def test_a_frequency_that_never_comes_or_never_ends_is_refused(count: int) -> None:
    with pytest.raises(Invalid) as refusal:
        recurrence_of(Pattern("MINUTES", count, None, "UTC", START))
    assert refusal.value.code == "invalid_frequency"


@pytest.mark.parametrize(
    ("pattern", "code"),
    [
        (Pattern("DAYS", 1, None, "Mars/Olympus", START), "unknown_time_zone"),
        (Pattern("DAYS", 1, None, "../etc/passwd", START), "unknown_time_zone"),
        (Pattern("DAYS", 1, None, "UTC", START, START - MINUTE), "schedule_ends_before_start"),
        (Pattern("DAYS", 1, None, "UTC", utc(9500, 1, 1)), "schedule_out_of_range"),
        (Pattern("DAYS", 1, None, "UTC", utc(1, 1, 1)), "schedule_out_of_range"),
        (Pattern("CRON", 1, "0 0 30 2 *", "UTC", START), "cron_never_matches"),
        (Pattern("CRON", 1, "every day", "UTC", START), "invalid_cron"),
        (Pattern("CRON", 1, None, "UTC", START), "invalid_cron"),
        (Pattern("CRON", 1, "0 9 1 1 *", "UTC", START, START + HOUR), "schedule_never_runs"),
    ],
)
def test_what_cannot_be_is_refused_with_a_code_and_advice(pattern: Pattern, code: str) -> None:
    with pytest.raises(Invalid) as refusal:
        first_occurrence(pattern, after=START)
    assert refusal.value.code == code
    assert refusal.value.hint


@pytest.mark.parametrize("unit", ["SECONDS", "MINUTES", "HOURS", "DAYS", "WEEKS", "MONTHS", "YEARS"])
def test_the_longest_frequency_at_the_last_start_can_be_worked_out(unit: Unit) -> None:
    longest = {"SECONDS": 2**31 - 1, "MINUTES": 52_704_000, "HOURS": 878_400, "DAYS": 36_600}
    count = {**longest, "WEEKS": 5228, "MONTHS": 1180, "YEARS": 100}[unit]
    start = utc(8999, 12, 31, 23, 59)

    found = recurrence_of(Pattern(unit, count, None, "Pacific/Kiritimati", start)).after(start)

    assert found is None or found > start
