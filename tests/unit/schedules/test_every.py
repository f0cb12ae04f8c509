"""Intervals against an independent calculation: no drift, month ends, leap years, zones that jump."""

import calendar
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.schedules.recurrence import Every, Unit, occurrences

from .stepping import MINUTE, ZONES, skipped_walls, utc

NEW_YORK = ZoneInfo("America/New_York")
starts = st.datetimes(datetime(1990, 1, 1), datetime(2037, 1, 1)).map(  # noqa: DTZ001 - a time on the wall
    lambda wall: wall.replace(second=0, microsecond=0, tzinfo=UTC)
)
elapsed: st.SearchStrategy[Unit] = st.sampled_from(["SECONDS", "MINUTES", "HOURS"])
by_the_wall: st.SearchStrategy[Unit] = st.sampled_from(["DAYS", "WEEKS", "MONTHS", "YEARS"])


@given(starts, elapsed, st.integers(1, 5000), st.timedeltas(timedelta(0), timedelta(days=9000)))
def test_time_that_passes_is_a_multiple_of_the_step(
    start: datetime, unit: Unit, count: int, passed: timedelta
) -> None:
    step = {"SECONDS": 1, "MINUTES": 60, "HOURS": 3600}[unit] * count
    moment = start + passed

    found = Every(count, unit, start, NEW_YORK).after(moment)

    assert found is not None
    assert moment < found <= moment + timedelta(seconds=step)
    assert (found - start) % timedelta(seconds=step) == timedelta(0)


def day_of(start: date, unit: Unit, steps: int) -> date:
    """Counted one by one, as on a calendar on the wall."""
    if unit in ("DAYS", "WEEKS"):
        return date.fromordinal(start.toordinal() + steps * (7 if unit == "WEEKS" else 1))
    year, month = start.year, start.month
    for _ in range(steps * (12 if unit == "YEARS" else 1)):
        year, month = (year + 1, 1) if month == 12 else (year, month + 1)
    day = start.day
    while day > calendar.monthrange(year, month)[1]:
        day -= 1
    return date(year, month, day)


@settings(max_examples=300, deadline=None)
@given(starts, by_the_wall, st.integers(1, 20), st.sampled_from(ZONES), st.integers(1, 12))
def test_on_the_wall_it_is_the_same_time_of_the_right_day(
    start: datetime, unit: Unit, count: int, zone_name: str, number: int
) -> None:
    zone = ZoneInfo(zone_name)
    found = Every(count, unit, start, zone).occurrence(number)

    wall_at_start = start.astimezone(zone).replace(tzinfo=None)
    expected = datetime.combine(day_of(wall_at_start.date(), unit, number * count), wall_at_start.time())
    shown = found.astimezone(zone)
    if shown.replace(tzinfo=None) == expected:
        assert not shown.fold  # its first appearance
    else:
        assert expected in set(skipped_walls(found, zone))


@settings(max_examples=300, deadline=None)
@given(starts, by_the_wall, st.integers(1, 20), st.sampled_from(ZONES), st.integers(-2000, 20000))
def test_the_next_one_is_the_first_of_all_that_is_later(
    start: datetime, unit: Unit, count: int, zone_name: str, days: int
) -> None:
    every = Every(count, unit, start, ZoneInfo(zone_name))
    moment = start + timedelta(days=days)

    found = every.after(moment)

    length = {"DAYS": 1, "WEEKS": 7, "MONTHS": 28, "YEARS": 365}[unit] * count
    least = min(abs(days) // length + 3, 25_000)
    assert found == next(one for number in range(least + 1) if (one := every.occurrence(number)) > moment)


def test_the_31st_comes_back_after_february() -> None:
    every = Every(1, "MONTHS", utc(2024, 1, 31, 8), ZoneInfo("UTC"))

    assert occurrences(every, first=utc(2024, 1, 1), last=utc(2024, 5, 31, 8)) == [
        utc(2024, 1, 31, 8),
        utc(2024, 2, 29, 8),
        utc(2024, 3, 31, 8),
        utc(2024, 4, 30, 8),
        utc(2024, 5, 31, 8),
    ]


def test_the_leap_day_comes_back_after_four_years() -> None:
    every = Every(1, "YEARS", utc(2024, 2, 29, 8), ZoneInfo("UTC"))

    assert [every.occurrence(number) for number in (1, 4)] == [utc(2025, 2, 28, 8), utc(2028, 2, 29, 8)]


def test_nine_in_new_york_stays_nine_when_the_clock_changes() -> None:
    start = datetime(2026, 3, 7, 9, tzinfo=NEW_YORK)
    every = Every(1, "DAYS", start, NEW_YORK)

    found = occurrences(every, first=start, last=start + timedelta(days=3))

    assert [one.astimezone(NEW_YORK).hour for one in found] == [9, 9, 9, 9]
    assert found[1] - found[0] == timedelta(hours=23)


def test_between_two_moments_both_ends_count_and_no_more_than_asked() -> None:
    every = Every(1, "MINUTES", utc(2026, 1, 1), ZoneInfo("UTC"))
    first, last = utc(2026, 1, 1, 0, 5), utc(2026, 1, 1, 0, 8)

    assert occurrences(every, first=first, last=last) == [first + number * MINUTE for number in range(4)]
    assert occurrences(every, first=first, last=last, at_most=2) == [first, first + MINUTE]
