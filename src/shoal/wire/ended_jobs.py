"""Jobs that have ended, on the wire: what failed for good, and deleting."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

import msgspec

from shoal.wire.jobs import Status

EndedStatus = Literal["complete", "failed", "cancelled"]
Reason = Literal["attempts_used_up", "permanent"]


class DeadLetter(msgspec.Struct, rename="camel", frozen=True):
    """A task that failed for good by its own doing, with its last error."""

    task_id: UUID
    job_id: UUID
    job_type: str
    job_status: Status
    task_name: str
    task_type: str
    reason: Reason
    attempts: int
    max_attempts: int
    error: str | None
    failed_at: datetime


class DeadLetterPage(msgspec.Struct, rename="camel", frozen=True):
    """``next`` is the cursor of the following page; none on the last one."""

    tasks: list[DeadLetter]
    next: str | None


class PurgeJobs(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    """``POST /api/jobs/purge``. What is null or left out does not filter."""

    statuses: Annotated[list[EndedStatus], msgspec.Meta(min_length=1)] | None = None
    type: Annotated[str, msgspec.Meta(max_length=63)] | None = None
    finished_before: Annotated[datetime, msgspec.Meta(tz=True)] | None = None
    user_id: UUID | None = None
    dry_run: bool = False


class Purged(msgspec.Struct, rename="camel", frozen=True):
    """How much went, or with ``dryRun`` would go. While there is ``more``, ask again."""

    jobs: int
    artifacts: int
    bytes: int
    more: bool
