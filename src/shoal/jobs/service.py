"""What the room does, in order."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

from shoal.jobs.rules import as_written, served_as
from shoal.jobs.store import (
    job_type_view,
    live_progress_of,
    sql,
    stored_progress_of,
    summary_fields,
    task_view,
)
from shoal.ledger.connection import Connection, Row
from shoal.ledger.pool import Ledger
from shoal.runtime.cursors import decode_cursor, encode_cursor
from shoal.runtime.errors import NotFound
from shoal.runtime.moments import in_utc
from shoal.vault.store import Vault
from shoal.wire.jobs import (
    MOST_ARTIFACTS_SHOWN,
    ArtifactPage,
    ArtifactView,
    JobPage,
    JobSummary,
    JobView,
    LogLineView,
    LogPage,
    StartedJobs,
    StartJob,
    StartJobs,
    TaskPage,
    TaskView,
)
from shoal.wire.types import JobTypePage

Claims = Mapping[str, object]

BEFORE_ALL = (-1, datetime.min.replace(tzinfo=UTC), UUID(int=0))


class Jobs:
    def __init__(self, ledger: Ledger, vault: Vault, *, link_expiry: timedelta) -> None:
        self._ledger = ledger
        self._vault = vault
        self._link_expiry = link_expiry

    async def start(
        self, claims: Claims, request: StartJob, *, idempotency_key: str | None = None
    ) -> JobView:
        async with self._ledger.acting_as(claims) as connection:
            job_id = await sql.create_job.value(
                connection,
                type=request.type,
                params=request.params,
                user_id=request.user_id,
                priority=request.priority,
                unique_key=request.unique_key,
                on_conflict=request.on_conflict,
                run_at=in_utc(request.run_at),
                idempotency_key=idempotency_key,
            )
        return await self.read(claims, job_id)

    async def start_many(
        self, claims: Claims, request: StartJobs, *, idempotency_key: str | None = None
    ) -> StartedJobs:
        """Start all of the jobs, or none of them."""
        async with self._ledger.acting_as(claims) as connection:
            ids = await sql.create_jobs.value(
                connection,
                jobs=[as_written(job, number) for number, job in enumerate(request.jobs)],
                user_id=request.user_id,
                on_conflict=request.on_conflict,
                idempotency_key=idempotency_key,
            )
        return StartedJobs(ids)

    async def read(self, claims: Claims, job_id: UUID) -> JobView:
        async with self._ledger.acting_as(claims) as connection:
            row = await sql.read_job.row(connection, job_id=job_id)
            if row is None:
                raise _not_found(job_id)
            made = await _made(connection, job_id, BEFORE_ALL, MOST_ARTIFACTS_SHOWN + 1)
        shown = await self._artifacts(made, MOST_ARTIFACTS_SHOWN)
        return JobView(
            **summary_fields(row, live_progress_of(row)),
            params=row["params"],
            result=row["result"],
            artifacts=shown.artifacts,
            artifacts_next=shown.next,
        )

    async def list(
        self,
        claims: Claims,
        *,
        status: str | None = None,
        type: str | None = None,  # noqa: A002 - the word users know from the API
        unique_key: str | None = None,
        created_from: datetime | None = None,
        created_before: datetime | None = None,
        cursor: str | None = None,
        page_size: int = 50,
    ) -> JobPage:
        before = decode_cursor(cursor, tuple[datetime, UUID]) if cursor else None
        async with self._ledger.acting_as(claims) as connection:
            rows = await sql.list_jobs.rows(
                connection,
                status=status,
                type=type,
                unique_key=unique_key,
                created_from=created_from,
                created_before=created_before,
                before_at=before[0] if before else None,
                before_id=before[1] if before else None,
                page_size=page_size + 1,
            )
        page = rows[:page_size]
        more = len(rows) > page_size
        return JobPage(
            jobs=[JobSummary(**summary_fields(row, stored_progress_of(row))) for row in page],
            next=encode_cursor((page[-1]["created_at"], page[-1]["id"])) if more else None,
        )

    async def cancel(self, claims: Claims, job_id: UUID, reason: str) -> JobView:
        """End a job and its tasks; one that has ended already stays as it is."""
        async with self._ledger.acting_as(claims) as connection:
            await sql.cancel_job.run(connection, job_id=job_id, reason=reason)
        return await self.read(claims, job_id)

    async def retry(self, claims: Claims, job_id: UUID) -> JobView:
        """Try everything again that failed or was cancelled."""
        async with self._ledger.acting_as(claims) as connection:
            await sql.retry_job.run(connection, job_id=job_id)
        return await self.read(claims, job_id)

    async def read_task(self, claims: Claims, task_id: UUID) -> TaskView:
        async with self._ledger.acting_as(claims) as connection:
            return await _task(connection, task_id)

    async def cancel_task(self, claims: Claims, task_id: UUID, reason: str) -> TaskView:
        """End one task; one that has ended already stays as it is."""
        async with self._ledger.acting_as(claims) as connection:
            await sql.cancel_task.run(connection, task_id=task_id, reason=reason)
            return await _task(connection, task_id)

    async def retry_task(self, claims: Claims, task_id: UUID) -> TaskView:
        """Try one task again, and what did not run because of it."""
        async with self._ledger.acting_as(claims) as connection:
            await sql.retry_task.run(connection, task_id=task_id)
            return await _task(connection, task_id)

    async def list_tasks(
        self, claims: Claims, job_id: UUID, *, cursor: str | None = None, page_size: int = 100
    ) -> TaskPage:
        after = decode_cursor(cursor, tuple[int, UUID]) if cursor else (-1, UUID(int=0))
        async with self._ledger.acting_as(claims) as connection:
            await _require_visible(connection, job_id)
            rows = await sql.list_tasks.rows(
                connection,
                job_id=job_id,
                after_sequence=after[0],
                after_id=after[1],
                page_size=page_size + 1,
            )
        page = rows[:page_size]
        more = len(rows) > page_size
        return TaskPage(
            tasks=[task_view(row) for row in page],
            next=encode_cursor((page[-1]["sequence"], page[-1]["id"])) if more else None,
        )

    async def list_artifacts(
        self, claims: Claims, job_id: UUID, *, cursor: str | None = None, page_size: int = 100
    ) -> ArtifactPage:
        """What the tasks that completed have made, with links that expire."""
        after = decode_cursor(cursor, tuple[int, datetime, UUID]) if cursor else BEFORE_ALL
        async with self._ledger.acting_as(claims) as connection:
            await _require_visible(connection, job_id)
            rows = await _made(connection, job_id, after, page_size + 1)
        return await self._artifacts(rows, page_size)

    async def list_logs(
        self, claims: Claims, job_id: UUID, *, cursor: str | None = None, page_size: int = 500
    ) -> LogPage:
        after = decode_cursor(cursor, tuple[int])[0] if cursor else 0
        async with self._ledger.acting_as(claims) as connection:
            await _require_visible(connection, job_id)
            rows = await sql.list_logs.rows(connection, job_id=job_id, after_id=after, page_size=page_size)
        return LogPage(
            lines=[LogLineView(row["task_id"], row["at"], row["level"], row["line"]) for row in rows],
            next=encode_cursor((rows[-1]["id"] if rows else after,)),
        )

    async def list_types(
        self, claims: Claims, *, cursor: str | None = None, page_size: int = 100
    ) -> JobTypePage:
        after = decode_cursor(cursor, tuple[str])[0] if cursor else ""
        async with self._ledger.acting_as(claims) as connection:
            rows = await sql.list_job_types.rows(connection, after=after, page_size=page_size + 1)
        page = rows[:page_size]
        more = len(rows) > page_size
        return JobTypePage(
            types=[job_type_view(row) for row in page],
            next=encode_cursor((page[-1]["type"],)) if more else None,
        )

    async def _artifacts(self, rows: Sequence[Row], page_size: int) -> ArtifactPage:
        page = rows[:page_size]
        last = page[-1] if len(rows) > page_size else None
        return ArtifactPage(
            artifacts=[await self._artifact(row) for row in page],
            next=encode_cursor((last["sequence"], last["created_at"], last["id"])) if last else None,
        )

    async def _artifact(self, row: Row) -> ArtifactView:
        filename, content_type = served_as(row["name"], row["content_type"])
        return ArtifactView(
            id=row["id"],
            task_id=row["task_id"],
            name=row["name"],
            type=row["artifact_type"],
            url=await self._vault.link(
                row["storage_path"],
                content_type=content_type,
                filename=filename,
                expires_in=self._link_expiry,
            ),
            content_type=row["content_type"],
            size=row["file_size_bytes"],
            sha256=row["sha256"],
            duration=row["duration_seconds"],
            fallback_for=row["fallback_for"],
        )


async def _made(
    connection: Connection, job_id: UUID, after: tuple[int, datetime, UUID], page_size: int
) -> Sequence[Row]:
    return await sql.list_artifacts.rows(
        connection,
        job_id=job_id,
        after_sequence=after[0],
        after_at=after[1],
        after_id=after[2],
        page_size=page_size,
    )


async def _require_visible(connection: Connection, job_id: UUID) -> None:
    if not await sql.job_exists.value(connection, job_id=job_id):
        raise _not_found(job_id)


async def _task(connection: Connection, task_id: UUID) -> TaskView:
    row = await sql.read_task.row(connection, task_id=task_id)
    if row is None:
        raise NotFound(
            "task_not_found",
            f"There is no task {task_id}.",
            hint="'shoal job tasks JOB' shows the tasks of a job.",
        )
    return task_view(row)


def _not_found(job_id: UUID) -> NotFound:
    return NotFound(
        "job_not_found",
        f"There is no job {job_id}.",
        hint="'shoal job list' shows the jobs you can see.",
    )
