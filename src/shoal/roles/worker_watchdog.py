"""The watchdog of a worker: it watches while nobody else does.

Whoever has looked for silent workers says so, and all who hear it wait anew: of any number of workers one
looks at a time, and beside a sentinel, which looks more often, none does. There is no office to lose. When
whoever looked last is gone, nobody speaks, and the first whose patience ends is the next. A worker that
cannot hear, behind a transaction pooler, looks by itself; the ledger still lets one work at a time.
"""

import asyncio
import random

from shoal.jobs.chores import Watchdog
from shoal.ledger.pool import Ledger

CHANNEL = "shoal_watched"
PATIENCE = (1.2, 1.8)
"""How much longer than a sentinel a worker waits; no two of them equally long."""


class WorkerWatchdog(Watchdog):
    name = "worker watchdog"

    def __init__(self, ledger: Ledger, *, watched: asyncio.Event, every_s: float = Watchdog.every_s) -> None:
        super().__init__(ledger)
        self.every_s = every_s
        self._watched = watched

    async def run(self) -> None:
        await self.pause(self.every_s)
        await super().run()

    async def pause(self, seconds: float) -> None:
        """Wait until nobody has looked for a while."""
        while not self._stopping.is_set():
            self._watched.clear()
            try:
                async with asyncio.timeout(seconds * random.uniform(*PATIENCE)):  # noqa: S311 - jitter
                    await self._watched.wait()
            except TimeoutError:
                return

    async def stop(self) -> None:
        await super().stop()
        self._watched.set()
