"""Deletes what everybody was told of, and what is older than it is kept; a small batch at a time."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta

import structlog

from shoal.events.settings import EventSettings
from shoal.events.store import sql
from shoal.ledger.connection import REPEATABLE
from shoal.ledger.pool import Ledger
from shoal.runtime.lifecycle import Part

log = structlog.get_logger(__name__)

EVERY_S = 5.0


class EventRetention(Part):
    name = "event retention"

    def __init__(self, ledger: Ledger, settings: EventSettings) -> None:
        self._ledger = ledger
        self._keep = timedelta(days=settings.keep_events_days)
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        is_healed = False
        while not self._stopping.is_set():
            try:
                if not is_healed:
                    await self._heal()
                    is_healed = True
                await self._until_none_is_left(self._delete_told)
                await self._until_none_is_left(self._delete_old)
            except REPEATABLE as error:
                log.warning("a chore was not done", chore=self.name, error=str(error))
            await self._pause(EVERY_S)

    async def stop(self) -> None:
        self._stopping.set()

    async def _heal(self) -> None:
        async with self._ledger.connection() as connection:
            healed = await sql.heal_event_order.value(connection)
        if healed:
            log.info("events of another server put in order", events=healed)

    async def _delete_told(self) -> int:
        async with self._ledger.connection() as connection:
            return int(await sql.delete_told_messages.value(connection))

    async def _delete_old(self) -> int:
        async with self._ledger.connection() as connection:
            row = await sql.delete_old_events.row(connection, keep=self._keep)
        if row is None or not row["deleted"]:
            return 0
        if row["untold"]:
            log.warning("events were deleted that a sink was never told", messages=row["untold"])
        return int(row["deleted"])

    async def _until_none_is_left(self, delete_batch: Callable[[], Awaitable[int]]) -> None:
        """Half of the time is the others': after each batch a pause as long as it took."""
        while not self._stopping.is_set():
            began = time.monotonic()
            if not await delete_batch():
                return
            await self._pause(time.monotonic() - began)

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        except TimeoutError:
            return
