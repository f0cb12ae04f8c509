"""What the room does, in order."""

from collections.abc import Mapping
from datetime import timedelta
from uuid import UUID

from shoal.jobs.cursors import decode_cursor, encode_cursor
from shoal.jobs.store import live_progress_of, sql, stored_progress_of, summary_fields
from shoal.ledger.connection import Row
from shoal.ledger.pool import Ledger
from shoal.runtime.errors import NotFound
from shoal.vault.store import Vault
from shoal.wire.jobs import ArtifactView, JobPage, JobSummary, JobView, StartJob

Claims = Mapping[str, object]


class Jobs:
    def __init__(self, ledger: Ledger, vault: Vault, *, link_expiry: timedelta) -> None:
        self._ledger = ledger
        self._vault = vault
        self._link_expiry = link_expiry

    async def start(self, claims: Claims, request: StartJob) -> JobView:
        async with self._ledger.acting_as(claims) as connection:
            job_id = await sql.create_job.value(
                connection,
                type=request.type,
                params=request.params,
                user_id=request.user_id,
                priority=request.priority,
                unique_key=request.unique_key,
                on_conflict=request.on_conflict,
                run_at=request.run_at,
            )
        return await self.read(claims, job_id)

    async def read(self, claims: Claims, job_id: UUID) -> JobView:
        async with self._ledger.acting_as(claims) as connection:
            row = await sql.read_job.row(connection, job_id=job_id)
            if row is None:
                raise NotFound(
                    "job_not_found",
                    f"There is no job {job_id}.",
                    hint="'shoal job list' shows the jobs you can see.",
                )
            made = await sql.list_artifacts.rows(connection, job_id=job_id)
        return JobView(
            **summary_fields(row, live_progress_of(row)),
            params=row["params"],
            result=row["result"],
            artifacts=[await self._artifact(artifact) for artifact in made],
        )

    async def list(
        self,
        claims: Claims,
        *,
        status: str | None = None,
        type: str | None = None,  # noqa: A002 - the word users know from the API
        cursor: str | None = None,
        page_size: int = 50,
    ) -> JobPage:
        before = decode_cursor(cursor) if cursor else None
        async with self._ledger.acting_as(claims) as connection:
            rows = await sql.list_jobs.rows(
                connection,
                status=status,
                type=type,
                before_at=before[0] if before else None,
                before_id=before[1] if before else None,
                page_size=page_size + 1,
            )
        page = rows[:page_size]
        more = len(rows) > page_size
        return JobPage(
            jobs=[JobSummary(**summary_fields(row, stored_progress_of(row))) for row in page],
            next=encode_cursor(page[-1]["created_at"], page[-1]["id"]) if more else None,
        )

    async def _artifact(self, row: Row) -> ArtifactView:
        return ArtifactView(
            id=row["id"],
            task_id=row["task_id"],
            name=row["name"],
            type=row["artifact_type"],
            url=await self._vault.link(
                row["storage_path"],
                content_type=row["content_type"],
                filename=row["name"] or None,
                expires_in=self._link_expiry,
            ),
            content_type=row["content_type"],
            size=row["file_size_bytes"],
            sha256=row["sha256"],
            duration=row["duration_seconds"],
        )
