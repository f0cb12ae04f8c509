"""What the room does by itself: give the tasks of dead workers to others.

Any number of processes run this; the ledger lets one work at a time.
"""

import asyncio

import structlog

from shoal.jobs.store import sql
from shoal.ledger.connection import REPEATABLE
from shoal.ledger.pool import Ledger
from shoal.runtime.lifecycle import Part

log = structlog.get_logger(__name__)

LOOK_EVERY_S = 5.0


class Watchdog(Part):
    name = "jobs watchdog"

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        while not self._stopping.is_set():
            try:
                async with self._ledger.connection() as connection:
                    reclaimed = await sql.reclaim_stale_tasks.value(connection)
                if reclaimed:
                    log.warning("tasks of silent workers taken back", count=reclaimed)
            except REPEATABLE as error:
                log.warning("could not look for silent workers", error=str(error))
            try:
                async with asyncio.timeout(LOOK_EVERY_S):
                    await self._stopping.wait()
            except TimeoutError:
                continue

    async def stop(self) -> None:
        self._stopping.set()
