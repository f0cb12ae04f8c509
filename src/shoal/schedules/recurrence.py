"""Which moments a schedule means. A recurrence is a set of moments; these functions walk along it."""

import calendar
from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Literal, Protocol

from shoal.schedules.cron import Cron
from shoal.schedules.local_time import moment_of, wall_time

Unit = Literal["SECONDS", "MINUTES", "HOURS", "DAYS", "WEEKS", "MONTHS", "YEARS"]

ELAPSED: dict[Unit, timedelta] = {
    "SECONDS": timedelta(seconds=1),
    "MINUTES": timedelta(minutes=1),
    "HOURS": timedelta(hours=1),
}
DAYS_IN: dict[Unit, int] = {"DAYS": 1, "WEEKS": 7}
MONTHS_IN: dict[Unit, int] = {"MONTHS": 1, "YEARS": 12}

LAST_YEAR = 9000
"""Schedules end there: the calendar of Python does soon after."""

MICROSECOND = timedelta(microseconds=1)


class Recurrence(Protocol):
    def after(self, moment: datetime) -> datetime | None:
        """The first occurrence after a moment; None when there is none."""
        ...


@dataclass(frozen=True)
class Every:
    """``start``, and every so many units after it.

    * Seconds, minutes and hours are time that passes; the others are counted on the clock on the wall.
    * What would be the 31st of a shorter month is its last day, and the 31st again in the next long one.
    """

    count: int
    unit: Unit
    start: datetime
    zone: tzinfo

    def after(self, moment: datetime) -> datetime | None:
        if moment < self.start:
            return self.start.astimezone(UTC)
        if moment.year >= LAST_YEAR:
            return None
        number = self._number_at(moment)
        while (found := self.occurrence(number)) <= moment:
            number += 1
        return found

    def occurrence(self, number: int) -> datetime:
        """The n-th; the start is the 0th."""
        steps = number * self.count
        if self.unit in ELAPSED:
            return self.start.astimezone(UTC) + steps * ELAPSED[self.unit]
        if number == 0:
            return self.start.astimezone(UTC)
        wall = wall_time(self.start, self.zone)
        if self.unit in DAYS_IN:
            return moment_of(wall + timedelta(days=steps * DAYS_IN[self.unit]), self.zone)
        return moment_of(_months_later(wall, steps * MONTHS_IN[self.unit]), self.zone)

    def _number_at(self, moment: datetime) -> int:
        """A number whose occurrence is at the moment or not long before it."""
        if self.unit in ELAPSED:
            return (moment - self.start) // (self.count * ELAPSED[self.unit])
        first, wall = wall_time(self.start, self.zone), wall_time(moment, self.zone)
        if self.unit in DAYS_IN:
            passed = (wall - first).days // DAYS_IN[self.unit]
        else:
            passed = ((wall.year - first.year) * 12 + wall.month - first.month) // MONTHS_IN[self.unit]
        return max(0, passed // self.count - 1)  # one less, as the zone may have jumped in between


@dataclass(frozen=True)
class ByCron:
    cron: Cron
    start: datetime
    zone: tzinfo

    def after(self, moment: datetime) -> datetime | None:
        if moment.year >= LAST_YEAR:
            return None
        return self.cron.after(max(moment, self.start - MICROSECOND), self.zone)


@dataclass(frozen=True)
class Until:
    """Of a recurrence what is not later than the end."""

    recurrence: Recurrence
    end: datetime

    def after(self, moment: datetime) -> datetime | None:
        found = self.recurrence.after(moment)
        return None if found is None or found > self.end else found


def occurrences(
    recurrence: Recurrence, *, first: datetime, last: datetime, at_most: int | None = None
) -> list[datetime]:
    """Those from ``first`` to ``last``, both included; the earliest when there are too many."""
    found: list[datetime] = []
    moment = recurrence.after(first - MICROSECOND)
    while moment is not None and moment <= last and (at_most is None or len(found) < at_most):
        found.append(moment)
        moment = recurrence.after(moment)
    return found


def latest_occurrences(
    recurrence: Recurrence, *, first: datetime, last: datetime, at_most: int
) -> list[datetime]:
    """The latest of those from ``first`` to ``last``. Looks back twice as far each time, so it costs about
    what it finds, however long ago ``first`` is.
    """
    back = timedelta(minutes=1)
    found: deque[datetime] = deque(maxlen=at_most)
    while at_most > 0 and len(found) < at_most:
        begin = max(first, last - back)
        found.clear()
        moment = recurrence.after(begin - MICROSECOND)
        while moment is not None and moment <= last:
            found.append(moment)
            moment = recurrence.after(moment)
        if begin == first:
            break
        back *= 2
    return list(found)


def _months_later(wall: datetime, months: int) -> datetime:
    years, month = divmod(wall.month - 1 + months, 12)
    year = wall.year + years
    last_day = calendar.monthrange(year, month + 1)[1]
    return wall.replace(year=year, month=month + 1, day=min(wall.day, last_day))
