"""A workshop: one emptied database with a folder as its vault, jobs in it, and workers that come and go.

Workers are made of the parts of ``shoal worker run`` and run in this process, with leases of a second.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

from shoal.app.declare import App
from shoal.ledger.connection import Row
from shoal.roles.config import SECTIONS, RoleSettings
from shoal.roles.worker import worker_parts
from shoal.runtime.lifecycle import run_parts
from shoal.runtime.settings import read_settings
from tests.integration.jobs.ledger_client import LedgerClient, PlannedJob, graph, task

DEADLINE_S = 20.0
LOOK_EVERY_S = 0.005
LEASE_S = 3  # the shortest there is: a heartbeat a second
ENDED = {"complete", "failed", "cancelled"}


class Workshop:
    def __init__(self, client: LedgerClient, *, database_url: str, folder: Path) -> None:
        self.client = client
        self.database_url = database_url
        self.vault = folder / "vault"

    @asynccontextmanager
    async def worker(
        self,
        app: App,
        *,
        without: str = "",
        database_url: str = "",
        grace_s: float = 10.0,
        **settings: object,
    ) -> AsyncIterator[str]:
        """A worker, for as long as it is needed; its id. ``without``: the name of a part that is missing."""
        given = {
            "database_url": database_url or self.database_url,
            "vault_url": self.vault.as_uri(),
            "worker_lease_s": LEASE_S,
            "worker_id": f"worker-{id(app)}",
            "grace_period_s": grace_s,
            **settings,
        }
        read = read_settings(SECTIONS, flags=given, environ={})
        parts = [part for part in worker_parts(read, app) if part.name != without]
        ending, started = asyncio.Event(), asyncio.Event()
        running = asyncio.create_task(
            run_parts(
                parts,
                grace_s=read[RoleSettings].grace_period_s,
                until=ending,
                on_started=started.set,
            )
        )
        await _first(running, asyncio.create_task(started.wait()))
        try:
            yield str(given["worker_id"])
        finally:
            ending.set()
            await running

    async def start(self, task_type: str, **more: Any) -> PlannedJob:
        """A job of one task, called as its type is."""
        return await self.client.start(graph(task(task_type, task_type=task_type, **more)))

    async def ended(self, job: PlannedJob | UUID) -> Row:
        """The row of a job, once it has ended."""
        job_id = job if isinstance(job, UUID) else job.id
        row = await self.client.job(job_id)
        async with asyncio.timeout(DEADLINE_S):
            while row["status"] not in ENDED:
                await asyncio.sleep(LOOK_EVERY_S)
                row = await self.client.job(job_id)
        return row

    async def task(self, job: PlannedJob, name: str = "") -> Row:
        """The row of a task of a job; of its only one."""
        return await self.client.task(job.tasks[name or next(n for n in job.tasks if n != "plan")])

    async def task_is(self, job: PlannedJob, status: str, name: str = "") -> Row:
        """The row of a task, once it has this status."""
        row: Row = await until(lambda: self.task(job, name), lambda row: row["status"] == status)
        return row

    async def heartbeats_of(self, job: PlannedJob) -> Any:
        """When the last heartbeat of the job's claimed task came; None before the first."""
        return await self.client.connection.fetchval(
            """SELECT max(heartbeat_at) FROM task_leases l JOIN job_tasks t ON t.id = l.task_id
                WHERE t.job_id = $1""",
            job.id,
        )

    async def lines_of(self, job: PlannedJob) -> list[str]:
        rows = await self.client.connection.fetch(
            "SELECT line FROM task_logs WHERE job_id = $1 ORDER BY id", job.id
        )
        return [row["line"] for row in rows]

    async def artifacts_of(self, job: PlannedJob) -> list[Row]:
        """What is shown of it: that of attempts that completed."""
        return list(
            await self.client.connection.fetch(
                """SELECT a.* FROM job_artifacts a JOIN job_tasks t ON t.id = a.task_id
                    WHERE a.job_id = $1 AND t.status = 'complete' AND t.claim_token = a.claim_token
                    ORDER BY a.created_at, a.id""",
                job.id,
            )
        )


async def until(look: Callable[[], Awaitable[Any]], holds: Callable[[Any], object] = bool) -> Any:
    """What ``look`` sees, once it is what we wait for."""
    async with asyncio.timeout(DEADLINE_S):
        while not holds(seen := await look()):  # noqa: ASYNC110 - the ledger tells nobody
            await asyncio.sleep(LOOK_EVERY_S)
    return seen


async def happened(event: asyncio.Event) -> None:
    async with asyncio.timeout(DEADLINE_S):
        await event.wait()


async def _first(running: "asyncio.Task[None]", started: "asyncio.Task[Any]") -> None:
    """Return once it has started; raise when it could not."""
    try:
        async with asyncio.timeout(DEADLINE_S):
            await asyncio.wait({running, started}, return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            await running
    finally:
        started.cancel()
