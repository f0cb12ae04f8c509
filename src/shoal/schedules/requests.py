"""What somebody asks for, as a pattern and as the columns of its row; what cannot be is refused. Pure."""

import re
from datetime import datetime
from typing import Any

import msgspec

from shoal.runtime.errors import Invalid, TooLarge
from shoal.runtime.moments import in_utc
from shoal.schedules.model import Pattern
from shoal.wire.schedules import AddSchedule, Recurs

MOST_DATA_BYTES = 65536
NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
"""The escape itself, and not a backslash that is followed by the same letters."""


def pattern_asked(request: Recurs, *, now: datetime) -> Pattern:
    """``now`` is when it starts if nobody says."""
    if (request.frequency_unit is None) == (request.cron is None):
        raise Invalid(
            "frequency_missing" if request.cron is None else "frequency_ambiguous",
            "A schedule has either a frequency or a cron expression.",
            hint="Give frequencyUnit with frequencyTime (--every '5 minutes'), or cron (--cron '0 9 * * 1').",
        )
    return Pattern(
        unit=request.frequency_unit or "CRON",
        count=request.frequency_time if request.cron is None else 1,
        cron=request.cron,
        zone=request.zone,
        start=in_utc(request.start_at) or now,
        end=in_utc(request.end_at),
    )


def columns_of(request: AddSchedule) -> dict[str, Any]:
    """As ``add_schedule`` takes it; what nobody said is left out."""
    if (request.job is None) == (request.event is None):
        raise Invalid(
            "schedule_does_nothing" if request.job is None else "schedule_does_two_things",
            "A schedule either starts a job or emits an event.",
            hint="Give job (--job TYPE) or event (--event user.TYPE).",
        )
    if request.event is not None and request.overlap != "allow":
        raise Invalid(
            "overlap_needs_job",
            "An event has no duration: an overlap policy is for schedules that start jobs.",
            hint="Leave out the overlap policy.",
        )
    given = {
        "schedule_name": request.name,
        "frequency_unit": request.frequency_unit or "CRON",
        "frequency_time": request.frequency_time if request.cron is None else 1,
        "cron": request.cron,
        "zone": request.zone,
        "start_ts": in_utc(request.start_at),
        "end_ts": in_utc(request.end_at),
        "max_runs": request.max_runs,
        "jitter_s": request.jitter_s,
        "missed_runs": request.missed_runs,
        "missed_limit": request.missed_limit,
        "missed_window_s": request.missed_window_s,
        "overlap": request.overlap,
        **_action(request),
    }
    return {name: value for name, value in given.items() if value is not None}


def _action(request: AddSchedule) -> dict[str, str]:
    if request.job is not None:
        asked = {"type": request.job.type, "params": request.job.params, "priority": request.job.priority}
        return {"event_type": "job.start", "event_topic": "jobs", "event_data": _as_text(asked)}
    if request.event is None:
        return {}
    return {
        "event_type": request.event.type,
        "event_topic": request.event.topic,
        "event_data": _as_text(request.event.data),
    }


def _as_text(data: dict[str, Any]) -> str:
    """JSON that the ledger can keep; so a schedule that was taken can also be fired."""
    text = msgspec.json.encode(data).decode()
    if len(text.encode()) > MOST_DATA_BYTES:
        raise TooLarge(
            "schedule_data_too_large",
            "The data of the schedule is over the limit of the ledger (64 KiB).",
            hint="Keep large values as artifacts or files, and pass their names.",
        )
    if NUL.search(text):
        raise Invalid("text_not_storable", "A text holds the character U+0000, which cannot be stored.")
    return text
