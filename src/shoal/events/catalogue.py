"""The events there are, as docs/reference/events.md lists them; a test holds them against the SQL."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

JOB = ("v", "jobId", "jobType", "status")
TASK = ("v", "jobId", "jobType", "taskId", "taskName", "taskType", "executor", "attempt")
SCHEDULE = ("v", "scheduleId", "name")
NODE = ("node_id", "name")


@dataclass(frozen=True)
class EventKind:
    """``always`` are fields that are always there, ``perhaps`` those that only sometimes mean something."""

    says: str
    aggregate: str
    always: Sequence[str]
    perhaps: Sequence[str] = ()
    is_kept: bool = True


CATALOGUE: Mapping[str, EventKind] = {
    "job.created": EventKind("A job is there.", "job", JOB, ("uniqueKey",)),
    "job.started": EventKind("Its first task was claimed.", "job", JOB, ("uniqueKey",), is_kept=False),
    "job.completed": EventKind(
        "It ended well. `result` is null when it has none.", "job", (*JOB, "result"), ("uniqueKey",)
    ),
    "job.failed": EventKind("It ended, and a task of it failed.", "job", JOB, ("uniqueKey", "error")),
    "job.cancelled": EventKind(
        "It was cancelled. `error` is the reason.", "job", JOB, ("uniqueKey", "error")
    ),
    "job.retried": EventKind("It had ended, and goes on.", "job", JOB, ("uniqueKey",)),
    "job.start": EventKind(
        "A job shall be started. Schedules emit it, and the consumer `start-jobs` does it.",
        "schedule",
        ("v", "scheduleId", "scheduleName", "kind", "fireTs", "data"),
    ),
    "task.claimed": EventKind("A worker began an attempt.", "job", (*TASK, "worker"), is_kept=False),
    "task.completed": EventKind("A task ended well.", "job", (*TASK, "worker"), is_kept=False),
    "task.failed": EventKind("A task failed for good.", "job", TASK, ("worker", "error"), is_kept=False),
    "task.cancelled": EventKind(
        "A task was cancelled, or skipped.", "job", TASK, ("worker", "error"), is_kept=False
    ),
    "task.retrying": EventKind(
        "An attempt ended, and the task is to be run again.", "job", TASK, ("worker", "error"), is_kept=False
    ),
    "schedule.created": EventKind("A schedule is there.", "schedule", SCHEDULE),
    "schedule.changed": EventKind("It was changed.", "schedule", SCHEDULE, ("reason", "error")),
    "schedule.paused": EventKind("It was paused.", "schedule", SCHEDULE, ("reason", "error")),
    "schedule.resumed": EventKind("It goes on.", "schedule", SCHEDULE, ("reason", "error")),
    "schedule.parked": EventKind(
        "It could not be fired; `error` says why.", "schedule", SCHEDULE, ("error",)
    ),
    "schedule.ended": EventKind("Its last run was fired.", "schedule", SCHEDULE, ("reason", "error")),
    "schedule.deleted": EventKind("It is gone.", "schedule", SCHEDULE, ("reason", "error")),
    "node.claimed": EventKind("Somebody owns a node from now on.", "node", NODE),
    "node.joined": EventKind("A node is there and takes work.", "node", NODE),
    "node.left": EventKind("A node fell silent.", "node", NODE),
    "node.changed": EventKind("Its name, its limit or its pause was changed.", "node", NODE),
    "node.access_changed": EventKind("Whom it works for was changed.", "node", NODE),
    "node.revoked": EventKind("It takes part no more.", "node", NODE),
}
