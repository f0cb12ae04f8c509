"""procrastinate: ``batch_defer_async``, and one worker with a few tasks at a time."""

import asyncio
import logging
from typing import Any

import uvloop
from procrastinate import App, PsycopgConnector

from bench.jobs.sides.protocol import Runs, Settings, Side, drive


class Procrastinate(Side):
    _is_open = False
    _batches: list[int]

    def __init__(self, url: str, ran: Runs) -> None:
        super().__init__(url, ran)
        logging.getLogger("procrastinate").setLevel(logging.ERROR)
        self._app = App(connector=PsycopgConnector(conninfo=url, min_size=2, max_size=20))

        async def noop() -> None:
            ran()

        self._noop: Any = self._app.task(name="noop")(noop)

    async def install(self) -> None:
        await self._open()
        await self._app.schema_manager.apply_schema_async()

    async def prepare(self, count: int, settings: Settings) -> None:
        size = settings["batch"]
        self._batches = [min(size, count - done) for done in range(0, count, size)]
        await self._open()

    async def enqueue(self) -> None:
        for size in self._batches:
            await self._noop.batch_defer_async(*[{}] * size)

    async def enqueue_one(self) -> None:
        await self._noop.defer_async()

    async def work(self, settings: Settings) -> None:
        await self._open()
        self._working = asyncio.create_task(
            self._app.run_worker_async(install_signal_handlers=False, **settings)
        )

    async def rest(self) -> None:
        self._working.cancel()
        await asyncio.wait({self._working})

    async def _open(self) -> None:
        if not self._is_open:
            self._is_open = True
            await self._app.open_async()


if __name__ == "__main__":
    drive(Procrastinate, uvloop.new_event_loop)
