"""The statements of the room, and how its rows become values."""

from datetime import timedelta

from shoal.ledger.connection import Row
from shoal.ledger.statements import load_statements
from shoal.schedules.model import Due, MissedRuns, Pattern

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
