"""A job that a test moves on by hand."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import UUID, uuid4

from shoal.ledger.pool import Ledger
from shoal.worker.held import Claim
from tests.integration.jobs.ledger_client import LedgerClient, graph, task


@dataclass
class Work:
    """Of types of its own, so that nobody else claims its tasks."""

    id: UUID
    worker: LedgerClient
    task_type: str

    @property
    def channel(self) -> str:
        return f"jobs:{self.id}"

    async def claim(self) -> Claim:
        (claim,) = await self.worker.claim(1, types=[self.task_type])
        return claim

    async def complete_one(self, output: object = None) -> None:
        assert await self.worker.complete(await self.claim(), output=output) == ["completed"]

    async def fail(self, error: str) -> None:
        assert await self.worker.fail(await self.claim(), error=error, permanent=True) == ["failed"]


@asynccontextmanager
async def work_for(ledger: Ledger, user: UUID, *, tasks: int = 2) -> AsyncIterator[Work]:
    name = uuid4().hex[:12]
    task_type, job_type = f"task_{name}", f"job_{name}"
    names = [f"t{number}" for number in range(tasks)]
    made = [task(one, *names[:number][-1:], task_type=task_type) for number, one in enumerate(names)]
    async with ledger.connection() as connection:
        worker = LedgerClient(connection)
        started = await worker.start(graph(*made, result=names[-1]), job_type=job_type, user_id=user)
        yield Work(started.id, worker, task_type)
