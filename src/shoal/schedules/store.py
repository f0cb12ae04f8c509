"""The statements of the room, and how its rows become values."""

from datetime import datetime, timedelta
from typing import Any

import msgspec

from shoal.ledger.connection import Row
from shoal.ledger.statements import load_statements
from shoal.runtime.errors import ShoalError
from shoal.schedules.model import Due, MissedRuns, Pattern
from shoal.schedules.rules import next_due
from shoal.wire.schedules import ScheduledEvent, ScheduledJob, ScheduleStatus, ScheduleView

sql = load_statements("shoal.schedules")


def pattern_of(row: Row) -> Pattern:
    return Pattern(
        unit=row["frequency_unit"],
        count=row["frequency_time"],
        cron=row["cron"],
        zone=row["zone"],
        start=row["start_ts"],
        end=row["end_ts"],
    )


def due_of(row: Row) -> Due:
    window_s, max_runs = row["missed_window_s"], row["max_runs"]
    return Due(
        id=row["schedule_id"],
        version=row["aggregate_version"],
        pattern=pattern_of(row),
        occurrence=row["next_fire_ts"],
        due=row["next_run_ts"],
        missed=MissedRuns(
            row["missed_runs"],
            row["missed_limit"],
            None if window_s is None else timedelta(seconds=window_s),
        ),
        jitter=timedelta(seconds=row["jitter_s"]),
        runs_left=None if max_runs is None else max(0, max_runs - row["runs"]),
    )


def status_of(row: Row) -> ScheduleStatus:
    if row["ended_at"] is not None:
        return "ended"
    if row["error"] is not None:
        return "parked"
    return "active" if row["active"] else "paused"


def schedule_view(row: Row) -> ScheduleView:
    unit, status = row["frequency_unit"], status_of(row)
    return ScheduleView(
        id=row["schedule_id"],
        name=row["schedule_name"],
        status=status,
        frequency_unit=None if unit == "CRON" else unit,
        frequency_time=row["frequency_time"],
        cron=row["cron"],
        zone=row["zone"],
        start_at=row["start_ts"],
        end_at=row["end_ts"],
        **_action_of(row),
        max_runs=row["max_runs"],
        runs=row["runs"],
        jitter_s=row["jitter_s"],
        missed_runs=row["missed_runs"],
        missed_limit=row["missed_limit"],
        missed_window_s=row["missed_window_s"],
        overlap=row["overlap"],
        next_run_at=_next_due_of(row) if status == "active" else None,
        pause_reason=row["pause_reason"],
        error=row["error"],
        version=row["aggregate_version"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def _action_of(row: Row) -> dict[str, Any]:
    """What clients wrote past the API may be anything: it can be read, and parks when it is due."""
    try:
        data = msgspec.json.decode(row["event_data"])
        if row["event_type"] == "job.start":
            return {"job": msgspec.convert(data, ScheduledJob), "event": None}
    except msgspec.MsgspecError:
        data = {}
    data = data if isinstance(data, dict) else {"data": data}
    if row["event_type"] == "job.start":
        return {"job": None, "event": None}
    return {"job": None, "event": ScheduledEvent(row["event_type"], row["event_topic"], data)}


def _next_due_of(row: Row) -> datetime | None:
    try:
        return next_due(due_of(row))
    except (ShoalError, ArithmeticError, ValueError):  # it will be parked with the reason
        return None
