"""What a scenario asks the ledger. Questions are repeated while the server is away."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import asyncpg

from shoal.ledger.connection import BROKEN, UNREACHABLE

AWAY_S = 30.0
LOOK_EVERY_S = 0.1
WITNESS = Path(__file__).parent / "witness.sql"

COMPLETED = "SELECT count(*) FROM witness.completions"
OPEN_JOBS = "SELECT count(*) FROM jobs WHERE status IN ('queued', 'processing')"
CLAIMED = "SELECT count(*) FROM job_tasks WHERE status = 'claimed'"
CLAIMED_BY = "SELECT count(*) FROM job_tasks WHERE status = 'claimed' AND worker_id = $1"
WHAT_IS_OPEN = """
  SELECT task_type, t.status, worker_id, count(*), max(attempts) AS attempts, bool_or(delayed) AS delayed,
         bool_or(waiting_on > 0) AS waiting
    FROM job_tasks t JOIN jobs j ON j.id = t.job_id
   WHERE j.status IN ('queued', 'processing') AND t.status IN ('pending', 'claimed')
   GROUP BY 1, 2, 3 ORDER BY 4 DESC LIMIT 12
"""
CUT_ALL = """
  SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
   WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
"""


class LedgerView:
    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: asyncpg.Connection[Any] | None = None

    async def rows(self, question: str, *values: object) -> list[Any]:
        async with asyncio.timeout(AWAY_S):
            while True:
                try:
                    if self._connection is None or self._connection.is_closed():
                        self._connection = await asyncpg.connect(self._url, timeout=5)
                    return await self._connection.fetch(question, *values)
                except (*UNREACHABLE, *BROKEN):
                    self._connection = None
                    await asyncio.sleep(LOOK_EVERY_S)

    async def number(self, question: str, *values: object) -> int:
        return int((await self.rows(question, *values))[0][0])

    async def install_witness(self) -> None:
        connection = await asyncpg.connect(self._url)
        try:
            await connection.execute(WITNESS.read_text(encoding="utf-8"))
        finally:
            await connection.close()

    async def completed(self) -> int:
        return await self.number(COMPLETED)

    async def claimed(self) -> int:
        return await self.number(CLAIMED)

    async def claimed_by(self, worker_id: str) -> int:
        return await self.number(CLAIMED_BY, worker_id)

    async def cut_all_connections(self) -> int:
        return await self.number(CUT_ALL)

    async def until(self, condition: Callable[[], Awaitable[bool]], *, within_s: float) -> bool:
        """Whether the condition came true in time."""
        try:
            async with asyncio.timeout(within_s):
                while not await condition():  # noqa: ASYNC110 - what is asked has no event
                    await asyncio.sleep(LOOK_EVERY_S)
        except TimeoutError:
            return False
        return True

    async def all_jobs_ended(self) -> bool:
        return await self.number(OPEN_JOBS) == 0

    async def what_is_open(self) -> list[str]:
        return [
            ", ".join(f"{name} {value}" for name, value in row.items())
            for row in await self.rows(WHAT_IS_OPEN)
        ]

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.terminate()
