"""The statements of the room, and how its rows become values."""

from typing import Any

import msgspec

from shoal.jobs.model import Phase, RunningTask
from shoal.jobs.rules import counted, live_progress
from shoal.ledger.connection import Row
from shoal.ledger.statements import load_statements
from shoal.wire.jobs import Progress, TaskView
from shoal.wire.live import JobCancelled, JobCompleted, JobFailed, JobMessage, JobProgressed
from shoal.wire.types import JobTypeView, PhaseView

sql = load_statements("shoal.jobs")

SUMMARY_COLUMNS = (
    "id",
    "type",
    "status",
    "error",
    "priority",
    "unique_key",
    "created_at",
    "started_at",
    "finished_at",
)


def summary_fields(row: Row, progress: Progress) -> dict[str, Any]:
    return {name: row[name] for name in SUMMARY_COLUMNS} | {"progress": progress}


def stored_progress_of(row: Row) -> Progress:
    return msgspec.convert(row["progress"], Progress)


def live_progress_of(row: Row) -> Progress:
    phases = [
        Phase(name, ends, total, done)
        for name, ends, total, done in zip(
            row["phase_names"], row["phase_ends"], row["phase_total"], row["phase_done"], strict=True
        )
    ]
    return live_progress(stored_progress_of(row), phases, _running_of(row))


def live_message(row: Row) -> JobMessage:
    match row["status"]:
        case "complete":
            return JobCompleted(result=row["result"])
        case "failed":
            return JobFailed(error=row["error"])
        case "cancelled":
            return JobCancelled(error=row["error"])
        case status:
            now = live_progress_of(row)
            completed, total = counted(now, _running_of(row))
            return JobProgressed(
                status=status,
                percent=now.percent,
                phase=now.phase,
                message=now.message,
                completed=completed,
                total=total,
            )


def _running_of(row: Row) -> list[RunningTask]:
    return [
        RunningTask(one["phase"], one["fraction"], one["message"], one.get("chunks"))
        for one in row["running"]
    ]


def task_view(row: Row) -> TaskView:
    return TaskView(
        id=row["id"],
        job_id=row["job_id"],
        name=row["name"],
        type=row["task_type"],
        executor=row["executor"],
        status=row["status"],
        needs=row["needs"],
        attempts=row["attempts"],
        max_attempts=row["max_attempts"],
        progress=1.0 if row["status"] == "complete" else row["progress"] or 0.0,
        message=row["message"] or "",
        error=row["error"],
        worker=row["worker_id"],
        run_at=row["run_at"],
        claimed_at=row["claimed_at"],
        finished_at=row["finished_at"],
    )


def job_type_view(row: Row) -> JobTypeView:
    return JobTypeView(
        type=row["type"],
        version=row["version"],
        params_schema=row["params_schema"],
        phases=msgspec.convert(row["phases"], list[PhaseView]),
        registered_at=row["registered_at"],
    )
