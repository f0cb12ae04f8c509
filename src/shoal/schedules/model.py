"""Schedules as the rules see them."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from shoal.schedules.recurrence import Unit

Kind = Literal["scheduled", "manual", "backfill"]
Missed = Literal["skip", "last", "all"]


@dataclass(frozen=True)
class Pattern:
    """When a schedule happens, as its row says it."""

    unit: Unit | Literal["CRON"]
    count: int
    cron: str | None
    zone: str
    start: datetime
    end: datetime | None = None


@dataclass(frozen=True)
class MissedRuns:
    """What becomes of occurrences whose time had passed before anybody could fire them.

    * ``last``: the latest of them runs, for all of them.
    * ``all``: each of them runs, but no more than the latest ``limit``.
    * ``skip``: none runs that is older than ``window``; of the others the latest does.

    With a ``window``, the other two leave out what is older as well.
    """

    policy: Missed = "last"
    limit: int = 100
    window: timedelta | None = None


@dataclass(frozen=True)
class Due:
    """A schedule whose time has come. ``occurrence`` is the next one it owes; None when nobody has worked
    out which that is, and ``due`` is only the moment from which to look.
    """

    id: UUID
    version: int
    pattern: Pattern
    occurrence: datetime | None
    due: datetime
    missed: MissedRuns
    jitter: timedelta = timedelta(0)
    runs_left: int | None = None


@dataclass(frozen=True)
class Plan:
    """What is to be done with a due schedule: which occurrences to fire, and which it owes next.

    ``since`` is the first of those that the first fire stands for as well. Without a next one, the schedule
    has ended.
    """

    fires: tuple[datetime, ...]
    since: datetime | None
    next_occurrence: datetime | None
    next_due: datetime | None


@dataclass(frozen=True)
class Term:
    """A time of leading: who, and since when by the clock of the database."""

    instance: str
    elected_at: datetime
