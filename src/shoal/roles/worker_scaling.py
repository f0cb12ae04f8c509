"""How many workers there shall be: enough for what waits and runs, within bounds, and not fewer too soon.

* **More at once.** What is needed is a number of workers and not a step, so a worker that is still
  starting is not asked for twice.
* **Fewer after the cool-down.** The size is the largest need of the last ``cool_down_s``: a queue that
  comes and goes within that time changes nothing.
* **Blind means still.** While the ledger does not answer, the size stays as it is. What the scaler did not
  manage is asked of it again.
"""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import asyncpg
import structlog

from shoal.ledger.connection import REPEATABLE
from shoal.ledger.pool import Ledger
from shoal.runtime.errors import Invalid
from shoal.runtime.lifecycle import Part
from shoal.worker.claims import sql
from shoal.worker.settings import ScaleSettings

log = structlog.get_logger(__name__)

LOOK_EVERY_S = 2.0


@dataclass(frozen=True, kw_only=True)
class Bounds:
    least: int
    most: int
    tasks_per_worker: int
    cool_down_s: float

    @classmethod
    def of(cls, settings: ScaleSettings, *, concurrency: int) -> "Bounds":
        if settings.scale_min > settings.scale_max:
            raise Invalid(
                "scale_bounds_crossed",
                f"scale_min is {settings.scale_min}, and scale_max only {settings.scale_max}.",
                hint="Give --min no more than --max.",
            )
        return cls(
            least=settings.scale_min,
            most=settings.scale_max,
            tasks_per_worker=settings.scale_tasks_per_worker or concurrency,
            cool_down_s=settings.scale_cool_down_s,
        )

    def workers_for(self, depth: int) -> int:
        return max(self.least, min(self.most, math.ceil(depth / self.tasks_per_worker)))


@dataclass(frozen=True)
class Needs:
    """What was needed, and when: the newest need, and each earlier one that is larger than all since."""

    seen: tuple[tuple[float, int], ...]

    @property
    def size(self) -> int:
        return self.seen[0][1]

    def after(self, workers: int, *, now: float, cool_down_s: float) -> "Needs":
        """When ``workers`` are needed now."""
        recent = (one for one in self.seen if one[0] > now - cool_down_s and one[1] > workers)
        return Needs((*recent, (now, workers)))


@runtime_checkable
class Scaler(Protocol):
    """Where workers run. Whoever can set a number of containers, pods or machines can be one."""

    async def size(self) -> int:
        """How many workers there are, or shall be, as far as it knows. Asked once, at the start."""
        ...

    async def scale_to(self, workers: int) -> None:
        """Let there be so many. Not waited for; a worker that has to go is to be sent SIGTERM."""
        ...


class Scaling(Part):
    name = "scaling"

    def __init__(self, ledger: Ledger, scaler: Scaler, *, bounds: Bounds, task_types: Sequence[str]) -> None:
        self._ledger = ledger
        self._scaler = scaler
        self._bounds = bounds
        self._task_types = list(task_types)
        self._stopping = asyncio.Event()

    async def start(self) -> None:
        try:
            await self._depth()
        except asyncpg.InsufficientPrivilegeError as error:
            raise Invalid(
                "queue_not_readable",
                f"The user of the database may not look at the queue: {error}.",
                hint="A worker needs no more than the role shoal_worker; whoever scales must read job_tasks.",
            ) from error

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        size = await self._scaler.size()
        needs = Needs(((loop.time(), size),))
        while not self._stopping.is_set():
            try:
                workers = self._bounds.workers_for(await self._depth())
            except REPEATABLE as error:
                log.warning("could not look at the queue", error=str(error))
            else:
                needs = needs.after(workers, now=loop.time(), cool_down_s=self._bounds.cool_down_s)
                size = await self._scaled(size, needs.size)
            await self._pause()

    async def _scaled(self, size: int, wanted: int) -> int:
        """The size there is now."""
        if size == wanted:
            return size
        log.info("scaling", workers=wanted, before=size)
        try:
            await self._scaler.scale_to(wanted)
        except Exception:
            log.exception("could not scale", workers=wanted)
            return size
        return wanted

    async def stop(self) -> None:
        self._stopping.set()

    async def _depth(self) -> int:
        enough = self._bounds.most * self._bounds.tasks_per_worker
        async with self._ledger.connection() as connection:
            depth = await sql.read_depth.value(connection, task_types=self._task_types, enough=enough)
        return int(depth)

    async def _pause(self) -> None:
        try:
            async with asyncio.timeout(LOOK_EVERY_S):
                await self._stopping.wait()
        except TimeoutError:
            return
