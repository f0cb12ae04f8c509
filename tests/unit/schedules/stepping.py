"""What a recurrence should be, found the slow way: minute by minute in UTC, looking at the wall each time."""

import calendar
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, available_timezones

MINUTE = timedelta(minutes=1)
ZONES = sorted(available_timezones())
NAMES = {
    name: str(number)
    for names, start in (
        ("SUN MON TUE WED THU FRI SAT", 0),
        ("JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC", 1),
    )
    for number, name in enumerate(names.split(), start)
}


def allows(field: str, value: int, least: int, *, also: int | None = None) -> bool:
    """Whether a field of a cron expression allows a value; ``also`` is another number for the same."""
    for part in field.split(","):
        span, _, step = part.partition("/")
        first, dash, last = span.partition("-")
        for number in (value, also):
            if number is None:
                continue
            low = least if span == "*" else int(NAMES.get(first, first))
            if span == "*" or (step and not dash):
                high = 10**6
            else:
                high = int(NAMES.get(last, last)) if dash else low
            if low <= number <= high and (number - low) % int(step or 1) == 0:
                return True
    return False


def matches(expression: str, wall: datetime) -> bool:
    minute, hour, day, month, weekday = expression.split()
    last_day = "L" in day and wall.day == calendar.monthrange(wall.year, wall.month)[1]
    number = wall.isoweekday() % 7
    of_month = last_day or any(allows(part, wall.day, 1) for part in day.split(",") if part != "L")
    of_week = allows(weekday, number, 0, also=7 if number == 0 and weekday[0] != "*" else None)
    either = not (day.startswith("*") or weekday.startswith("*"))
    return (
        allows(minute, wall.minute, 0)
        and allows(hour, wall.hour, 0)
        and allows(month, wall.month, 1)
        and (of_month or of_week if either else of_month and of_week)
    )


def cron_by_stepping(expression: str, zone: ZoneInfo, first: datetime, last: datetime) -> list[datetime]:
    minute, hour, *_ = expression.split()
    on_the_wall = minute.startswith("*") or hour.startswith("*")
    found = []
    at = first
    while at <= last:
        wall = at.astimezone(zone)
        hits = matches(expression, wall) and (on_the_wall or is_first_appearance(at, zone))
        if not on_the_wall and not hits:
            hits = any(matches(expression, skipped) for skipped in skipped_walls(at, zone))
        if hits:
            found.append(at)
        at += MINUTE
    return found


def is_first_appearance(at: datetime, zone: ZoneInfo) -> bool:
    return not at.astimezone(zone).fold


def skipped_walls(at: datetime, zone: ZoneInfo) -> Iterator[datetime]:
    """The minutes that no clock on a wall showed, if the zone jumps forward at this moment."""
    wall = at.astimezone(zone).replace(tzinfo=None)
    shown = (at - MINUTE).astimezone(zone).replace(tzinfo=None) + MINUTE
    while shown < wall:
        yield shown
        shown += MINUTE


def jumps_of(zone: ZoneInfo, first: datetime, last: datetime) -> list[datetime]:
    """The moments at which the offset changes, to the minute."""
    found = []
    at, step = first, timedelta(days=1)
    while at < last:
        if at.astimezone(zone).utcoffset() != (at + step).astimezone(zone).utcoffset():
            minutes = range(int(step / MINUTE))
            found.append(
                next(
                    at + (number + 1) * MINUTE
                    for number in minutes
                    if (at + number * MINUTE).astimezone(zone).utcoffset()
                    != (at + (number + 1) * MINUTE).astimezone(zone).utcoffset()
                )
            )
        at += step
    return found


def utc(*numbers: int) -> datetime:
    return datetime(*numbers, tzinfo=UTC)  # type: ignore[misc,arg-type]  # year, month, day and so on
