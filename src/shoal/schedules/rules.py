"""Pure decisions about schedules."""

import hashlib
from datetime import UTC, datetime, timedelta
from uuid import UUID

from shoal.runtime.errors import Invalid
from shoal.schedules.cron import parse_cron
from shoal.schedules.local_time import find_zone
from shoal.schedules.model import Due, MissedRuns, Pattern, Plan
from shoal.schedules.recurrence import (
    ELAPSED,
    LAST_YEAR,
    MICROSECOND,
    ByCron,
    Every,
    Recurrence,
    Unit,
    Until,
    latest_occurrences,
    occurrences,
)

MOST_FIRES_AT_ONCE = 20
"""Of one schedule in one transaction; what it owes beyond that is still due afterwards."""

USUAL_WINDOW = timedelta(seconds=60)
"""How late a run may be of a schedule that skips what it missed."""

FIRST_YEAR = 1970
LONGEST_PERIOD = timedelta(days=100 * 366)
LENGTH: dict[Unit, timedelta] = ELAPSED | {
    "DAYS": timedelta(days=1),
    "WEEKS": timedelta(days=7),
    "MONTHS": timedelta(days=31),
    "YEARS": timedelta(days=366),
}
MOST_OF_A_UNIT = 2**31 - 1


def recurrence_of(pattern: Pattern) -> Recurrence:
    """The set of moments that a pattern means; refuses one that means none, or nothing sensible."""
    zone = find_zone(pattern.zone)
    for moment in (pattern.start, pattern.end):
        if moment is not None and not FIRST_YEAR <= moment.year < LAST_YEAR:
            raise Invalid(
                "schedule_out_of_range",
                f"{moment.isoformat()} is not a moment for a schedule.",
                hint=f"They begin in {FIRST_YEAR} and end before the year {LAST_YEAR}.",
            )
    recurrence: Recurrence
    if pattern.unit == "CRON":
        recurrence = ByCron(parse_cron(pattern.cron or ""), pattern.start, zone)
    else:
        check_frequency(pattern.unit, pattern.count)
        recurrence = Every(pattern.count, pattern.unit, pattern.start, zone)
    if pattern.end is None:
        return recurrence
    if pattern.end < pattern.start:
        raise Invalid(
            "schedule_ends_before_start",
            "The schedule ends before it starts.",
            hint="Give an end that is later than the start.",
        )
    return Until(recurrence, pattern.end)


def check_frequency(unit: Unit, count: int) -> None:
    if count < 1:
        raise Invalid(
            "invalid_frequency",
            f"A schedule cannot run every {count} {unit.lower()}.",
            hint="Say every 1 or more.",
        )
    if count > MOST_OF_A_UNIT or count > LONGEST_PERIOD // LENGTH[unit]:
        raise Invalid(
            "invalid_frequency",
            f"Every {count} {unit.lower()} is longer than 100 years.",
            hint="To run something once, start a job with --run-at.",
        )


def first_occurrence(pattern: Pattern, *, after: datetime) -> datetime:
    """The first that is not earlier than a moment; refuses a pattern that has none any more."""
    found = recurrence_of(pattern).after(after - MICROSECOND)
    if found is None:
        raise Invalid(
            "schedule_never_runs",
            "The schedule has no occurrence before its end.",
            hint="Look at its end; 'shoal schedule preview' shows when it would run.",
        )
    return found


def upcoming(pattern: Pattern, *, after: datetime, count: int) -> list[datetime]:
    """The next occurrences, from a moment on."""
    last = datetime(LAST_YEAR, 1, 1, tzinfo=UTC)
    return occurrences(recurrence_of(pattern), first=after, last=last, at_most=count)


def next_due(schedule: Due) -> datetime | None:
    """When a schedule is due next, also where nobody has worked that out yet."""
    if schedule.occurrence is not None:
        return schedule.due
    return plan(schedule, now=schedule.due).next_due


def plan(schedule: Due, *, now: datetime) -> Plan:
    """What to do with a schedule that is due."""
    recurrence = recurrence_of(schedule.pattern)
    if schedule.occurrence is None:
        return _go_on(schedule, (), None, recurrence.after(schedule.due - MICROSECOND))
    following = recurrence.after(schedule.occurrence)
    horizon = now - schedule.jitter
    if following is None or following > horizon:  # only one is owed: nearly always
        is_wanted = _begins(schedule.missed, now) <= schedule.occurrence
        return _go_on(schedule, (schedule.occurrence,) if is_wanted else (), None, following)
    return _catch_up(schedule, schedule.occurrence, recurrence, horizon=horizon, now=now)


def _catch_up(
    schedule: Due, earliest: datetime, recurrence: Recurrence, *, horizon: datetime, now: datetime
) -> Plan:
    """Several are owed, from the earliest on; the last of them is not later than the horizon."""
    missed = schedule.missed
    owed = latest_occurrences(
        recurrence,
        first=max(earliest, _begins(missed, now)),
        last=horizon,
        at_most=missed.limit if missed.policy == "all" else 1,
    )
    since = earliest if not owed or owed[0] > earliest else None
    wanted = tuple(owed[:MOST_FIRES_AT_ONCE])
    return _go_on(schedule, wanted, since, recurrence.after(wanted[-1] if wanted else horizon))


def _begins(missed: MissedRuns, now: datetime) -> datetime:
    """What is older than this does not run any more."""
    window = missed.window or (USUAL_WINDOW if missed.policy == "skip" else None)
    return datetime.min.replace(tzinfo=UTC) if window is None else now - window


def _go_on(
    schedule: Due, wanted: tuple[datetime, ...], since: datetime | None, following: datetime | None
) -> Plan:
    if schedule.runs_left is not None:
        wanted = wanted[: schedule.runs_left]
        if len(wanted) == schedule.runs_left:
            following = None
    return Plan(
        fires=wanted,
        since=since if wanted else None,
        next_occurrence=following,
        next_due=None if following is None else due_at(schedule.id, following, schedule.jitter),
    )


def due_at(schedule_id: UUID, occurrence: datetime, jitter: timedelta) -> datetime:
    """When an occurrence is fired: up to the jitter later, always the same for the same occurrence."""
    if not jitter:
        return occurrence
    digest = hashlib.sha256(_name(schedule_id, occurrence, "jitter")).digest()
    return occurrence + jitter * (int.from_bytes(digest[:6]) / 2**48)


def _name(schedule_id: UUID, occurrence: datetime, what: str) -> bytes:
    return schedule_id.bytes + f"{occurrence.astimezone(UTC).isoformat()} {what}".encode()
