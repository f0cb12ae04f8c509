"""Sentinels without the bot read the filters that the one with it saves."""

import asyncio
from collections.abc import Callable

import structlog

from shoal.discord.filter_store import FilterStore
from shoal.discord.filters import Filters
from shoal.ledger.connection import REPEATABLE
from shoal.runtime.lifecycle import Part

log = structlog.get_logger(__name__)

READ_EVERY_S = 15.0


class FilterReader(Part):
    name = "membership filters"

    def __init__(self, filters: Filters, store: FilterStore, *, is_kept_here: Callable[[], bool]) -> None:
        self._filters = filters
        self._store = store
        self._is_kept_here = is_kept_here
        self._stopping = asyncio.Event()

    async def start(self) -> None:
        await self._store.refresh(self._filters)

    async def run(self) -> None:
        while not self._stopping.is_set():
            try:
                if not self._is_kept_here():
                    await self._store.refresh(self._filters)
            except REPEATABLE as error:
                log.warning("filters not read", error=str(error))
            try:
                async with asyncio.timeout(READ_EVERY_S):
                    await self._stopping.wait()
            except TimeoutError:
                continue

    async def stop(self) -> None:
        self._stopping.set()
