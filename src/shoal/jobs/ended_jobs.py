"""Jobs that have ended: what failed for good, and deleting them before their time."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

import structlog

from shoal.jobs.store import sql
from shoal.ledger.pool import Ledger
from shoal.runtime.cursors import decode_cursor, encode_cursor
from shoal.runtime.moments import in_utc
from shoal.wire.ended_jobs import DeadLetter, DeadLetterPage, Purged, PurgeJobs, Reason

log = structlog.get_logger(__name__)


class EndedJobs:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def list_dead_letters(
        self,
        claims: Mapping[str, object],
        *,
        job_type: str | None = None,
        task_type: str | None = None,
        reason: Reason | None = None,
        cursor: str | None = None,
        page_size: int = 50,
    ) -> DeadLetterPage:
        before = decode_cursor(cursor, tuple[datetime, UUID]) if cursor else None
        async with self._ledger.acting_as(claims) as connection:
            rows = await sql.list_dead_letters.rows(
                connection,
                job_type=job_type,
                task_type=task_type,
                reason=reason,
                before_at=before[0] if before else None,
                before_id=before[1] if before else None,
                page_size=page_size + 1,
            )
        page = rows[:page_size]
        more = len(rows) > page_size
        return DeadLetterPage(
            tasks=[DeadLetter(**row) for row in page],
            next=encode_cursor((page[-1]["failed_at"], page[-1]["task_id"])) if more else None,
        )

    async def purge(self, claims: Mapping[str, object], request: PurgeJobs) -> Purged:
        """Delete a batch of the jobs that are meant; their files follow within a minute or so."""
        async with self._ledger.acting_as(claims) as connection:
            (row,) = await sql.purge_jobs.rows(
                connection,
                statuses=request.statuses,
                type=request.type,
                finished_before=in_utc(request.finished_before),
                user_id=request.user_id,
                dry_run=request.dry_run,
            )
        purged = Purged(**row)
        if purged.jobs and not request.dry_run:
            log.info("jobs purged", jobs=purged.jobs, artifacts=purged.artifacts, bytes=purged.bytes)
        return purged
