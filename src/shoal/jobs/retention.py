"""Deletes what is older than it is kept, a small batch at a time."""

import structlog

from shoal.jobs.chores import Chore
from shoal.jobs.settings import RetentionSettings, as_interval
from shoal.jobs.store import sql
from shoal.ledger.pool import Ledger

log = structlog.get_logger(__name__)


class Retention(Chore):
    name = "retention"
    every_s = 60.0

    def __init__(self, ledger: Ledger, settings: RetentionSettings) -> None:
        super().__init__(ledger)
        self._keep_ended = as_interval(settings.keep_jobs_days)
        self._keep_failed = as_interval(settings.keep_failed_jobs_days)
        self._keep_lines = as_interval(settings.keep_lines_days)
        self._max_bytes = settings.vault_max_bytes
        self._max_bytes_per_user = settings.vault_max_bytes_per_user

    async def start(self) -> None:
        """Tell the ledger the quota: it is checked where artifacts are added, whoever adds them."""
        async with self._ledger.connection() as connection:
            await sql.set_vault_quota.run(
                connection, max_bytes=self._max_bytes, max_bytes_per_user=self._max_bytes_per_user
            )

    async def work(self) -> None:
        await self.until_none_is_left(self._delete_jobs)
        await self.until_none_is_left(self._delete_lines)
        await self.until_none_is_left(self._delete_keys)

    async def _delete_jobs(self) -> int:
        async with self._ledger.connection() as connection:
            row = await sql.delete_old_jobs.row(
                connection, keep_ended=self._keep_ended, keep_failed=self._keep_failed
            )
        if row is None or not row["jobs"]:
            return 0
        log.info("old jobs deleted", jobs=row["jobs"], artifacts=row["artifacts"], bytes=row["bytes"])
        return int(row["jobs"])

    async def _delete_lines(self) -> int:
        if self._keep_lines is None:
            return 0
        async with self._ledger.connection() as connection:
            deleted = int(await sql.delete_old_lines.value(connection, keep=self._keep_lines))
        if deleted:
            log.info("old lines deleted", lines=deleted)
        return deleted

    async def _delete_keys(self) -> int:
        async with self._ledger.connection() as connection:
            deleted = int(await sql.delete_old_keys.value(connection))
        if deleted:
            log.info("old idempotency keys deleted", keys=deleted)
        return deleted
