"""Cron expressions: five fields, read as Vixie's cron reads them.

``minute hour day-of-month month day-of-week``, each ``*`` or a list of values, ranges and steps; names of
months and weekdays; 7 is Sunday as 0 is; ``L`` is the last day of the month. Where both days are
restricted, either is enough. ``@hourly``, ``@daily``, ``@weekly``, ``@monthly``, ``@yearly`` stand for what
they say.

What a zone that changes its clock makes of it:

* With a minute or an hour that begins with ``*``, the expression follows the clock on the wall: what is
  skipped does not happen, and what is repeated happens twice. ``*/15 * * * *`` is every quarter of an hour.
* Else each time of the day happens once: at the moment of the jump when it is skipped, and at its first
  appearance when it is repeated. ``30 2 * * *`` is once a day on every day.
"""

import calendar
from bisect import bisect_left
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache

from shoal.runtime.errors import Invalid
from shoal.schedules.local_time import SECOND, jump_between, moment_of, wall_time

SHORTHANDS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
MONTHS = {
    name: number
    for number, name in enumerate(
        ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"), start=1
    )
}
WEEKDAYS = {name: number for number, name in enumerate(("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"))}
LAST_DAY = 32  # as a day of the month

DAY = timedelta(days=1)
LONGEST_GAP = timedelta(days=366 * 8)  # from one 29 February to the next, where a century comes between


@dataclass(frozen=True)
class Field:
    name: str
    least: int
    most: int
    names: dict[str, int]


FIELDS = (
    Field("minute", 0, 59, {}),
    Field("hour", 0, 23, {}),
    Field("day of the month", 1, 31, {"L": LAST_DAY}),
    Field("month", 1, 12, MONTHS),
    Field("day of the week", 0, 7, WEEKDAYS),
)


@dataclass(frozen=True)
class Cron:
    text: str
    times: tuple[time, ...]
    """The times of a day, in order."""
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    """Sunday is 0."""
    needs_both_days: bool
    follows_the_wall: bool

    def has_day(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        of_month = day.day in self.days or (
            LAST_DAY in self.days and day.day == calendar.monthrange(day.year, day.month)[1]
        )
        of_week = day.isoweekday() % 7 in self.weekdays
        return of_month and of_week if self.needs_both_days else of_month or of_week

    def after(self, moment: datetime, zone: tzinfo) -> datetime | None:
        """The first occurrence after a moment; None when there is none."""
        if self.follows_the_wall:
            return self._after_on_the_wall(moment, zone)
        wall = self.next_wall_time(wall_time(moment, zone) - DAY)  # a jump may skip as much as a day
        while wall is not None:
            if (found := moment_of(wall, zone)) > moment:
                return found
            wall = self.next_wall_time(wall)
        return None

    def _after_on_the_wall(self, moment: datetime, zone: tzinfo) -> datetime | None:
        """From one change of the offset to the next: in between, the wall is the time plus a constant."""
        at, offset = moment.astimezone(UTC).replace(microsecond=0), _offset(moment, zone)
        while True:
            wall = self.next_wall_time((at + offset).replace(tzinfo=None))
            if wall is None:
                return None
            found = wall.replace(tzinfo=UTC) - offset
            if found - at > 2 * DAY:  # nothing happens on the days before, whatever the offset is
                at = found - DAY
                offset = _offset(at, zone)
            elif (new := _offset(found, zone)) == offset:
                return found
            else:
                at, offset = jump_between(at, found, zone) - SECOND, new

    def next_wall_time(self, wall: datetime) -> datetime | None:
        """The first matching time after this one on a clock that never jumps."""
        if self.has_day(wall.date()):
            found = bisect_left(self.times, wall.time().replace(microsecond=0))
            for at in self.times[found:]:
                if (candidate := datetime.combine(wall.date(), at)) > wall:
                    return candidate
        day, end = wall.date(), wall.date() + LONGEST_GAP
        while (day := _following(day, self.months)) <= end:
            if self.has_day(day):
                return datetime.combine(day, self.times[0])
        return None


def _offset(moment: datetime, zone: tzinfo) -> timedelta:
    return moment.astimezone(zone).utcoffset() or timedelta(0)


def _following(day: date, months: frozenset[int]) -> date:
    """The next day that is in one of the months."""
    following = day + DAY
    while following.month not in months:
        following = (following.replace(day=1) + 32 * DAY).replace(day=1)
    return following


@lru_cache(maxsize=4096)
def parse_cron(text: str) -> Cron:
    written = SHORTHANDS.get(text.strip().lower(), text).upper().split()
    if len(written) != len(FIELDS):
        raise _malformed(text, f"it has {len(written)} fields and not 5")
    minutes, hours, days, months, weekdays = (
        frozenset(value for part in field_text.split(",") for value in _values(text, field, part))
        for field, field_text in zip(FIELDS, written, strict=True)
    )
    found = Cron(
        text=text,
        times=tuple(time(hour, minute) for hour in sorted(hours) for minute in sorted(minutes)),
        days=days,
        months=months,
        weekdays=frozenset(value % 7 for value in weekdays),
        needs_both_days=written[2].startswith("*") or written[4].startswith("*"),
        follows_the_wall=written[0].startswith("*") or written[1].startswith("*"),
    )
    if found.next_wall_time(datetime(2000, 1, 1)) is None:  # noqa: DTZ001 - a time on the wall
        raise Invalid(
            "cron_never_matches",
            f"The cron expression {text!r} names no day that exists.",
            hint="As 30 February does. Look at the day of the month and the month.",
        )
    return found


def _values(text: str, field: Field, part: str) -> range:
    if field.names.get(part) == LAST_DAY:
        return range(LAST_DAY, LAST_DAY + 1)
    span, slash, step_text = part.partition("/")
    step = _number(text, field, step_text) if slash else 1
    if step < 1:
        raise _malformed(text, f"the step of the {field.name} is {step}")
    first_text, dash, last_text = span.partition("-")
    if span == "*":
        first, last = field.least, field.most - (1 if field.most == 7 else 0)
    elif dash:
        first, last = _number(text, field, first_text), _number(text, field, last_text)
    else:
        first = _number(text, field, span)
        last = field.most if slash else first
    if not field.least <= first <= last <= field.most:
        raise _malformed(
            text, f"{part!r} as the {field.name} is not within {field.least} to {field.most}, in this order"
        )
    return range(first, last + 1, step)


def _number(text: str, field: Field, written: str) -> int:
    if written in field.names:
        return field.names[written]
    if not (written.isascii() and written.isdigit() and len(written) <= 3):
        raise _malformed(text, f"{written!r} is not a {field.name}")
    return int(written)


def _malformed(text: str, why: str) -> Invalid:
    return Invalid(
        "invalid_cron",
        f"{text!r} is not a cron expression: {why}.",
        hint="Write minute, hour, day of the month, month and day of the week, as in '0 9 * * 1'.",
    )
