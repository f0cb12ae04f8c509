"""What the room does by itself. Any number of processes run a chore; the ledger lets one work at a time."""

import asyncio
import time
from collections.abc import Awaitable, Callable

import structlog

from shoal.jobs.store import sql
from shoal.ledger.connection import REPEATABLE
from shoal.ledger.pool import Ledger
from shoal.runtime.lifecycle import Part

log = structlog.get_logger(__name__)


class Chore(Part):
    """Does its ``work`` again and again. What passes by itself is tried again the next time."""

    name = "chore"
    every_s = 60.0

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._stopping = asyncio.Event()

    async def work(self) -> None:
        raise NotImplementedError

    async def run(self) -> None:
        while not self._stopping.is_set():
            try:
                await self.work()
            except REPEATABLE as error:
                log.warning("a chore was not done", chore=self.name, error=str(error))
            await self.pause(self.every_s)

    async def until_none_is_left(self, do_batch: Callable[[], Awaitable[int]]) -> None:
        """Half of the time is the others': after each batch a pause as long as it took."""
        while not self._stopping.is_set():
            began = time.monotonic()
            if not await do_batch():
                return
            await self.pause(time.monotonic() - began)

    async def pause(self, seconds: float) -> None:
        """Wait, but not longer than until it is told to stop."""
        try:
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        except TimeoutError:
            return

    async def stop(self) -> None:
        self._stopping.set()


class Watchdog(Chore):
    """Gives the tasks of dead workers to others."""

    name = "jobs watchdog"
    every_s = 5.0

    async def work(self) -> None:
        async with self._ledger.connection() as connection:
            reclaimed = await sql.reclaim_stale_tasks.value(connection)
        if reclaimed:
            log.warning("tasks of silent workers taken back", count=reclaimed)
