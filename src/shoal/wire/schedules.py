"""Schedules on the wire."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec

FrequencyUnit = Literal["SECONDS", "MINUTES", "HOURS", "DAYS", "WEEKS", "MONTHS", "YEARS"]
MissedPolicy = Literal["skip", "last", "all"]
OverlapPolicy = Literal["allow", "skip", "queue", "cancel"]
ScheduleStatus = Literal["active", "paused", "parked", "ended"]
RunKind = Literal["scheduled", "manual", "backfill"]
Outcome = Literal["started", "queued", "skipped", "failed"]

Moment = Annotated[datetime, msgspec.Meta(tz=True)]
Name = Annotated[
    str,
    msgspec.Meta(pattern="^[A-Za-z0-9][A-Za-z0-9 _.:/-]{0,125}$", description="One of its owner's has it."),
]

MOST_UPCOMING = 1000
MOST_BACKFILLED = 10_000


class Recurs(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True, kw_only=True):
    """When: every so many units from ``startAt``, or by a cron expression; on the clock of ``zone``."""

    frequency_unit: FrequencyUnit | None = None
    frequency_time: Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)] = 1
    cron: Annotated[str, msgspec.Meta(max_length=255)] | None = None
    zone: Annotated[str, msgspec.Meta(max_length=64)] = "UTC"
    start_at: Moment | None = None
    end_at: Moment | None = None


class ScheduledJob(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    """The job each run starts. It belongs to the owner of the schedule."""

    type: Annotated[str, msgspec.Meta(max_length=63)]
    params: dict[str, Any] = {}
    priority: Annotated[int, msgspec.Meta(ge=-100, le=100)] = 0


class ScheduledEvent(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    """The event each run emits."""

    type: Annotated[str, msgspec.Meta(pattern=r"^user\.[a-z0-9_.-]{1,120}$")]
    topic: Annotated[str, msgspec.Meta(pattern="^[a-z][a-z0-9_.-]{0,125}$")] = "user"
    data: dict[str, Any] = {}


class AddSchedule(Recurs, rename="camel", forbid_unknown_fields=True, frozen=True, kw_only=True):
    """``POST /api/schedules``. It starts a job or emits an event. A service names the user it is for."""

    name: Name
    job: ScheduledJob | None = None
    event: ScheduledEvent | None = None
    max_runs: Annotated[int, msgspec.Meta(ge=1, le=2**62)] | None = None
    jitter_s: Annotated[float, msgspec.Meta(ge=0, le=86400)] = 0.0
    missed_runs: MissedPolicy = "last"
    missed_limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 100
    missed_window_s: Annotated[float, msgspec.Meta(gt=0, le=315_360_000)] | None = None
    overlap: OverlapPolicy = "allow"
    on_conflict: Literal["reject", "replace"] = "reject"
    user_id: UUID | None = None


class PauseSchedule(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    reason: Annotated[str, msgspec.Meta(min_length=1, max_length=1000)] = "Paused."


class RunSchedule(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    """``POST /api/schedules/{id}/run``: now, or as if it were ``at``. The same moment runs once."""

    at: Moment | None = None


class BackfillSchedule(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    """Run every occurrence from ``first`` to ``last``, both included. Each runs once, however often asked."""

    first: Moment
    last: Moment


class PreviewSchedule(Recurs, rename="camel", forbid_unknown_fields=True, frozen=True, kw_only=True):
    after: Moment | None = None
    count: Annotated[int, msgspec.Meta(ge=1, le=MOST_UPCOMING)] = 10


class Upcoming(msgspec.Struct, rename="camel", frozen=True):
    """Occurrences in their order, each with the offset of the zone."""

    occurrences: list[datetime]


class Ran(msgspec.Struct, rename="camel", frozen=True):
    """How many runs are new."""

    runs: int


class ScheduleView(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """``nextRunAt`` is when it is due, with its jitter; none when it is not active. ``error`` says why it was
    parked.
    """

    id: UUID
    name: str
    status: ScheduleStatus
    frequency_unit: FrequencyUnit | None
    frequency_time: int
    cron: str | None
    zone: str
    start_at: datetime
    end_at: datetime | None
    job: ScheduledJob | None
    event: ScheduledEvent | None
    max_runs: int | None
    runs: int
    jitter_s: float
    missed_runs: MissedPolicy
    missed_limit: int
    missed_window_s: float | None
    overlap: OverlapPolicy
    next_run_at: datetime | None
    pause_reason: str | None
    error: str | None
    version: int
    created_at: datetime
    updated_at: datetime


class SchedulePage(msgspec.Struct, rename="camel", frozen=True):
    schedules: list[ScheduleView]
    next: str | None


class RunView(msgspec.Struct, rename="camel", frozen=True):
    """``since`` is the first of the missed occurrences that this run stands for as well. ``outcome`` says
    what became of the job it is to start; none while nobody has read its event.
    """

    fire_at: datetime
    kind: RunKind
    fired_at: datetime
    since: datetime | None
    event_id: UUID
    outcome: Outcome | None
    job_id: UUID | None
    error: str | None


class RunPage(msgspec.Struct, rename="camel", frozen=True):
    runs: list[RunView]
    next: str | None
