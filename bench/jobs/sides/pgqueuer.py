"""pgqueuer: asyncpg, the batch size of ``PgQueuer.run``, lists for ``Queries.enqueue``."""

import asyncio
from datetime import timedelta
from typing import Any

import asyncpg
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver
from pgqueuer.queries import Queries

from bench.jobs.sides.protocol import Settings, Side, drive

NAME = "noop"


class Pgqueuer(Side):
    _enqueuer: Any = None
    _batches: list[int]

    async def install(self) -> None:
        await (await self._queries()).install()

    async def prepare(self, count: int, settings: Settings) -> None:
        size = settings["batch"]
        self._batches = [min(size, count - done) for done in range(0, count, size)]
        self._enqueuer = self._enqueuer or await self._queries()

    async def enqueue(self) -> None:
        for size in self._batches:
            await self._enqueuer.enqueue([NAME] * size, [None] * size, [0] * size)

    async def enqueue_one(self) -> None:
        await self._enqueuer.enqueue(NAME, None)

    async def work(self, settings: Settings) -> None:
        self._enqueuer = self._enqueuer or await self._queries()
        self._worker = PgQueuer(AsyncpgDriver(await asyncpg.connect(self.url)))
        ran = self.ran

        async def noop(_: Any) -> None:
            ran()

        self._worker.entrypoint(NAME)(noop)
        self._working = asyncio.create_task(
            self._worker.run(batch_size=settings["batch_size"], dequeue_timeout=timedelta(seconds=30))
        )

    async def rest(self) -> None:
        self._worker.shutdown.set()
        await self._working

    async def _queries(self) -> Any:
        return Queries(AsyncpgDriver(await asyncpg.connect(self.url)))


if __name__ == "__main__":
    drive(Pgqueuer, uvloop.new_event_loop)
