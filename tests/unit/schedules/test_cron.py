"""Cron expressions against the slow way, in all zones, around the moments at which they change the clock."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.runtime.errors import Invalid
from shoal.schedules.cron import parse_cron
from shoal.schedules.recurrence import ByCron, latest_occurrences, occurrences

from .stepping import ZONES, cron_by_stepping, jumps_of, utc

HOUR = timedelta(hours=1)
BERLIN = ZoneInfo("Europe/Berlin")
AROUND_JUMPS = ["30 2 * * *", "0,15,30,45 0,1,2,3 * * *", "*/20 * * * *", "10 */2 * * *"]


def found_in(expression: str, zone: ZoneInfo, first: datetime, last: datetime) -> list[datetime]:
    return occurrences(ByCron(parse_cron(expression), utc(1980, 1, 1), zone), first=first, last=last)


@pytest.mark.parametrize("expression", AROUND_JUMPS)
def test_around_the_jumps_of_every_zone_it_is_what_stepping_finds(expression: str) -> None:
    wrong = []
    for name in ZONES:
        zone = ZoneInfo(name)
        for jump in jumps_of(zone, utc(2024, 1, 1), utc(2025, 1, 1)):
            first, last = jump - 4 * HOUR, jump + 4 * HOUR
            if found_in(expression, zone, first, last) != cron_by_stepping(expression, zone, first, last):
                wrong.append((name, jump))
    assert wrong == []


@st.composite
def fields(draw: st.DrawFn, least: int, most: int) -> str:
    def part() -> str:
        first = draw(st.integers(least, most))
        last = draw(st.integers(first, most))
        step = draw(st.integers(1, max(1, most - least)))
        return draw(
            st.sampled_from([f"{first}", f"{first}-{last}", f"{first}-{last}/{step}", f"{first}/{step}"])
        )

    if draw(st.booleans()):
        return draw(st.sampled_from(["*", "*/2", "*/7"]))
    return ",".join(part() for _ in range(draw(st.integers(1, 3))))


expressions = st.builds(
    lambda *parts: " ".join(parts),
    fields(0, 59),
    fields(0, 23),
    st.one_of(st.just("*"), st.just("L"), fields(1, 28)),
    st.one_of(st.just("*"), fields(1, 12)),
    st.one_of(st.just("*"), fields(0, 7)),
)


@settings(max_examples=60, deadline=None)
@given(expressions, st.sampled_from(ZONES), st.datetimes(datetime(1985, 1, 1), datetime(2037, 12, 1)))  # noqa: DTZ001
def test_any_expression_is_what_stepping_finds(expression: str, zone_name: str, day: datetime) -> None:
    zone, first = ZoneInfo(zone_name), day.replace(second=0, microsecond=0, tzinfo=UTC)
    last = first + timedelta(days=1)

    assert found_in(expression, zone, first, last) == cron_by_stepping(expression, zone, first, last)


@settings(max_examples=60, deadline=None)
@given(expressions, st.sampled_from(ZONES), st.integers(1, 50), st.integers(0, 40))
def test_the_latest_are_the_end_of_all(expression: str, zone_name: str, at_most: int, days: int) -> None:
    recurrence = ByCron(parse_cron(expression), utc(1990, 1, 1), ZoneInfo(zone_name))
    last = utc(2026, 3, 20)
    first = last - timedelta(days=days)

    everything = occurrences(recurrence, first=first, last=last)

    assert latest_occurrences(recurrence, first=first, last=last, at_most=at_most) == everything[-at_most:]


def test_a_time_that_is_skipped_happens_when_the_clock_jumps() -> None:
    assert found_in("30 2 * * *", BERLIN, utc(2026, 3, 28, 12), utc(2026, 3, 30, 12)) == [
        utc(2026, 3, 29, 1, 0),  # 03:00 in Berlin; there is no 02:30
        utc(2026, 3, 30, 0, 30),
    ]


def test_a_time_that_is_repeated_happens_once() -> None:
    assert found_in("30 2 * * *", BERLIN, utc(2026, 10, 24, 12), utc(2026, 10, 26, 12)) == [
        utc(2026, 10, 25, 0, 30),  # the first 02:30; the second is an hour later
        utc(2026, 10, 26, 1, 30),
    ]


def test_what_follows_the_wall_happens_in_both_of_the_repeated_hours_and_not_in_the_skipped_one() -> None:
    assert found_in("*/30 2 * * *", BERLIN, utc(2026, 10, 25), utc(2026, 10, 25, 23)) == [
        utc(2026, 10, 25, 0, 0),
        utc(2026, 10, 25, 0, 30),
        utc(2026, 10, 25, 1, 0),
        utc(2026, 10, 25, 1, 30),
    ]
    assert found_in("*/30 2 * * *", BERLIN, utc(2026, 3, 29), utc(2026, 3, 29, 23)) == []


def test_a_day_that_a_zone_skips_is_not_lost() -> None:
    apia = ZoneInfo("Pacific/Apia")  # went from 29 to 31 December 2011

    assert found_in("0 9 30 12 *", apia, utc(2011, 12, 1), utc(2012, 1, 30)) == [utc(2011, 12, 30, 10)]


def test_the_leap_day_is_found_over_a_century_that_has_none() -> None:
    recurrence = ByCron(parse_cron("0 0 29 2 *"), utc(2096, 3, 1), ZoneInfo("UTC"))

    assert recurrence.after(utc(2096, 3, 1)) == utc(2104, 2, 29)


def test_nothing_is_found_before_the_start() -> None:
    recurrence = ByCron(parse_cron("0 * * * *"), utc(2026, 5, 1, 12), BERLIN)

    assert recurrence.after(utc(2020, 1, 1)) == utc(2026, 5, 1, 12)


@pytest.mark.parametrize(("shorthand", "meant"), [("@daily", "0 0 * * *"), ("@Hourly", "0 * * * *")])
def test_shorthands_and_names_mean_what_they_say(shorthand: str, meant: str) -> None:
    assert parse_cron(shorthand).times == parse_cron(meant).times
    assert parse_cron("0 9 * JAN-MAR mon,SUN").weekdays == {0, 1}
    assert parse_cron("0 9 * * 5-7").weekdays == {0, 5, 6}


@pytest.mark.parametrize(
    "expression",
    ["", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * 32 * *", "* * * 13 *",
     "* * * * 8", "*/0 * * * *", "5-1 * * * *", "a * * * *", "1,,2 * * * *", "-1 * * * *", "1.5 * * * *",
     "* * L/2 * *", "L * * * *", "* * * MON *", "٣ * * * *", "* * * * MON#2", "@reboot"],
)  # fmt: skip
def test_what_is_no_expression_is_refused(expression: str) -> None:
    with pytest.raises(Invalid) as refusal:
        parse_cron(expression)
    assert refusal.value.code == "invalid_cron"
    assert refusal.value.hint


@pytest.mark.parametrize("expression", ["0 0 30 2 *", "0 0 31 4,6,9,11 *"])
def test_what_never_matches_is_refused(expression: str) -> None:
    with pytest.raises(Invalid) as refusal:
        parse_cron(expression)
    assert refusal.value.code == "cron_never_matches"
