"""Removes from the vault what belongs to nobody any more: what deleted jobs left, and lost attempts.

The ledger goes first: an object is removed once no artifact names it. So a crash at any moment leaves at
most objects that nobody sees, and the next sweep finds those. All steps are safe when two processes do
them.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from datetime import datetime, timedelta

import structlog

from shoal.jobs.chores import Chore
from shoal.jobs.orphans import GRACE, Known, KnownTask, folder_of, is_orphan, place_of, token_start
from shoal.jobs.store import sql
from shoal.ledger.pool import Ledger
from shoal.vault.store import Found, Vault

log = structlog.get_logger(__name__)

FOLDERS_AT_ONCE = 100
OBJECTS_AT_ONCE = 500
SWEEP_EVERY = timedelta(hours=6)


class Sweeper(Chore):
    name = "vault sweeper"
    every_s = 60.0

    def __init__(self, ledger: Ledger, vault: Vault) -> None:
        super().__init__(ledger)
        self._vault = vault

    async def work(self) -> None:
        await self.until_none_is_left(self._empty_folders)
        async with self._ledger.connection() as connection:
            began = await sql.take_turn.value(connection, name=self.name, again_after=SWEEP_EVERY)
        if began is not None:
            await self.sweep(began)

    async def _empty_folders(self) -> int:
        """Empty folders of deleted jobs; what has not come to its end is due again later."""
        async with self._ledger.connection() as connection:
            folders = await sql.claim_folders.rows(connection, at_most=FOLDERS_AT_ONCE)
        removed = 0
        for folder in folders:
            if self._stopping.is_set():
                break
            async with aclosing(self._batches(folder_of(folder["user_id"], folder["job_id"]))) as batches:
                async for batch in batches:
                    removed += await self._remove([found.key for found in batch])
            async with self._ledger.connection() as connection:
                await sql.folders_emptied.run(connection, job_ids=[folder["job_id"]])
        if removed:
            log.info("files of deleted jobs removed", jobs=len(folders), files=removed)
        return len(folders)

    async def sweep(self, now: datetime) -> None:
        """Look at every object there is. ``now`` is the database's time when this began."""
        removed = looked_at = 0
        async with aclosing(self._batches("")) as batches:
            async for batch in batches:
                known = await self._look_up(batch)
                removed += await self._remove([one.key for one in batch if is_orphan(one, known, now=now)])
                looked_at += len(batch)
                if self._stopping.is_set():
                    return
        async with self._ledger.connection() as connection:
            # What was deleted before that and had an upload under way: it has been seen by now.
            await sql.forget_deleted_jobs.run(connection, before=now - GRACE)
        log.info("vault swept", looked_at=looked_at, removed=removed)

    async def _batches(self, prefix: str) -> AsyncGenerator[Sequence[Found], None]:
        batch: list[Found] = []
        async with aclosing(self._vault.list(prefix)) as objects:
            async for found in objects:
                batch.append(found)
                if len(batch) == OBJECTS_AT_ONCE:
                    yield batch
                    batch = []
        if batch:
            yield batch

    async def _look_up(self, batch: Sequence[Found]) -> Known:
        places = [place for found in batch if (place := place_of(found.key))]
        async with self._ledger.connection() as connection:
            deleted = await sql.find_deleted_jobs.rows(
                connection, job_ids=list({place.job for place in places})
            )
            tasks = await sql.find_attempts.rows(
                connection, task_ids=list({place.attempt.task for place in places if place.attempt})
            )
        return Known(
            deleted={row["job_id"]: row["user_id"] for row in deleted},
            tasks={
                row["task_id"]: KnownTask(
                    row["user_id"], row["job_id"], row["claim_token"] and token_start(row["claim_token"])
                )
                for row in tasks
            },
        )

    async def _remove(self, keys: Sequence[str]) -> int:
        if not keys:
            return 0
        async with self._ledger.connection() as connection:
            rows = await sql.disown_objects.rows(connection, paths=list(keys))
        await self._vault.delete([row["path"] for row in rows])
        return len(rows)
