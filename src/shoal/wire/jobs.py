"""Jobs on the wire. Names are camel case, as the clients of the job API know them."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec

Status = Literal["queued", "processing", "complete", "failed", "cancelled"]

TaskStatus = Literal["pending", "claimed", "complete", "failed", "cancelled"]


OnConflict = Literal["reject", "existing"]

MOST_JOBS_AT_ONCE = 10_000
MOST_ARTIFACTS_SHOWN = 1000


class NewJob(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    """One job of a batch."""

    type: Annotated[str, msgspec.Meta(max_length=63)]
    params: dict[str, Any] = {}
    priority: Annotated[int, msgspec.Meta(ge=-100, le=100)] = 0
    unique_key: Annotated[str, msgspec.Meta(min_length=1, max_length=255)] | None = None
    run_at: Annotated[datetime, msgspec.Meta(tz=True)] | None = None


class StartJob(NewJob, rename="camel", forbid_unknown_fields=True, frozen=True):
    """``POST /api/jobs/start``. A service names the user it starts the job for; a user does not."""

    on_conflict: OnConflict = "reject"
    user_id: UUID | None = None


class StartJobs(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    """``POST /api/jobs/start-batch``: all of these jobs, or none of them."""

    jobs: Annotated[list[NewJob], msgspec.Meta(min_length=1, max_length=MOST_JOBS_AT_ONCE)]
    on_conflict: OnConflict = "reject"
    user_id: UUID | None = None


class StartedJobs(msgspec.Struct, rename="camel", frozen=True):
    """The ids, in the order of the request."""

    ids: list[UUID]


class Progress(msgspec.Struct, rename="camel", frozen=True):
    percent: int
    phase: str
    docs_complete: int
    docs_total: int
    message: str


class ArtifactView(msgspec.Struct, rename="camel", frozen=True):
    """``url`` is signed when read and works for a limited time without further authentication.

    ``fallback_for`` names the artifact of the same task that this one is a second format of.
    """

    id: UUID
    task_id: UUID
    name: str
    type: str
    url: str
    content_type: str
    size: int
    sha256: str | None
    duration: float | None
    fallback_for: str | None


class JobSummary(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    id: UUID
    type: str
    status: Status
    progress: Progress
    error: str | None
    priority: int
    unique_key: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class JobView(JobSummary, rename="camel", frozen=True, kw_only=True):
    """``GET /api/jobs/{id}``. It shows the first thousand artifacts; with more of them, ``artifacts_next`` is
    the cursor with which ``GET /api/jobs/{id}/artifacts`` goes on.
    """

    params: dict[str, Any]
    result: Any
    artifacts: list[ArtifactView]
    artifacts_next: str | None = None


class ArtifactPage(msgspec.Struct, rename="camel", frozen=True):
    """In the order of the tasks. ``next`` is the cursor of the following page; none on the last one."""

    artifacts: list[ArtifactView]
    next: str | None


class TaskView(msgspec.Struct, rename="camel", frozen=True):
    """One task of a job, with the names of the tasks it needs."""

    id: UUID
    job_id: UUID
    name: str
    type: str
    executor: str
    status: TaskStatus
    needs: list[str]
    attempts: int
    max_attempts: int
    progress: float
    message: str
    error: str | None
    worker: str | None
    run_at: datetime | None
    claimed_at: datetime | None
    finished_at: datetime | None


class TaskPage(msgspec.Struct, rename="camel", frozen=True):
    tasks: list[TaskView]
    next: str | None


class LogLineView(msgspec.Struct, rename="camel", frozen=True):
    task_id: UUID
    at: datetime
    level: str
    line: str


class LogPage(msgspec.Struct, rename="camel", frozen=True):
    """``next`` is always there: asking again with it later returns what was written since."""

    lines: list[LogLineView]
    next: str


class Cancel(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    """Why a job or a task is cancelled, for whoever looks at it later."""

    reason: Annotated[str, msgspec.Meta(max_length=1000)] = "Cancelled."


class JobPage(msgspec.Struct, rename="camel", frozen=True):
    """``next`` is the cursor of the following page; none on the last one."""

    jobs: list[JobSummary]
    next: str | None
