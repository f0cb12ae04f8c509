"""Live progress: what listeners of a job are told, and the part that tells them.

* Only jobs that somebody listens to are read, all of them in one statement, four times a second.
* A state is told when it has changed, and again every few seconds: whoever subscribed in between, or was
  cut off, is not left behind.
* With a Centrifugo one sentinel tells for all, by lease; with a hub each tells its own listeners.
"""

from collections.abc import Sequence
from contextlib import suppress
from uuid import UUID

import msgspec
import structlog
from redis.exceptions import RedisError

from shoal.beacon.ports import Beacon
from shoal.brain.leases import Lease
from shoal.jobs.chores import Chore
from shoal.jobs.model import Said
from shoal.jobs.rules import is_worth_saying, job_of_channel
from shoal.jobs.store import live_message, sql
from shoal.ledger.connection import REPEATABLE
from shoal.ledger.pool import Ledger
from shoal.runtime.clock import Clock
from shoal.runtime.errors import ShoalError
from shoal.wire.live import JobMessage

log = structlog.get_logger(__name__)

LOOK_EVERY_S = 1.0
LOOK_SHARE = 0.05
"""Of the time, at most, goes into asking the beacon who listens."""
LISTENS_STILL_S = 4.0
"""How long somebody who may listen counts before the beacon says that they do."""
HOLD_EVERY_S = 1.0
PAUSE_AFTER_ERROR_S = 2.0


class Watched:
    """The jobs somebody listens to, as far as this process has heard."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._heard: dict[UUID, float] = {}

    def note(self, *job_ids: UUID) -> None:
        self._heard |= dict.fromkeys(job_ids, self._clock.monotonic())

    def now(self) -> Sequence[UUID]:
        oldest = self._clock.monotonic() - LISTENS_STILL_S
        self._heard = {job_id: at for job_id, at in self._heard.items() if at > oldest}
        return list(self._heard)


class LiveProgress(Chore):
    name = "live progress"
    every_s = 0.25

    def __init__(
        self,
        ledger: Ledger,
        beacon: Beacon,
        *,
        watched: Watched,
        clock: Clock,
        lease: Lease | None = None,
    ) -> None:
        super().__init__(ledger)
        self._beacon = beacon
        self._watched = watched
        self._clock = clock
        self._lease = lease
        self._said: dict[UUID, Said] = {}
        self._look_at = self._hold_at = 0.0

    async def run(self) -> None:
        await super().run()
        if self._lease is not None:
            with suppress(RedisError):
                await self._lease.release()

    async def work(self) -> None:
        try:
            if await self._is_ours():
                await self._look_who_listens()
                await self._tell(self._watched.now())
            else:
                self._said.clear()
        except (*REPEATABLE, RedisError, ShoalError) as error:
            log.warning("live progress interrupted", error=str(error) or repr(error))
            await self.pause(PAUSE_AFTER_ERROR_S)

    async def _is_ours(self) -> bool:
        if self._lease is None:
            return True
        now = self._clock.monotonic()
        if now >= self._hold_at:
            self._hold_at = now + HOLD_EVERY_S
            await self._lease.hold()
        return self._lease.epoch is not None

    async def _look_who_listens(self) -> None:
        began = self._clock.monotonic()
        if began < self._look_at:
            return
        try:
            names = [channel.removeprefix("jobs:") for channel in await self._beacon.active("jobs")]
            self._watched.note(*filter(None, map(job_of_channel, names)))
        except ShoalError as error:
            log.warning("not known who listens", error=error.message)
            self._watched.note(*self._watched.now())  # whoever did may still be there
        took = self._clock.monotonic() - began
        self._look_at = began + max(LOOK_EVERY_S, took / LOOK_SHARE)

    async def _tell(self, job_ids: Sequence[UUID]) -> None:
        messages = await self._read(job_ids)
        now = self._clock.monotonic()
        news = {
            job_id: message
            for job_id, message in messages.items()
            if is_worth_saying(message, self._said.get(job_id), now=now)
        }
        self._said = {job_id: said for job_id, said in self._said.items() if job_id in messages}
        if news and await self._publish(news):
            for job_id, message in news.items():
                last = self._said.get(job_id)
                times = last.times + 1 if last is not None and last.message == message else 1
                self._said[job_id] = Said(message, now, times)

    async def _read(self, job_ids: Sequence[UUID]) -> dict[UUID, JobMessage]:
        if not job_ids:
            return {}
        async with self._ledger.connection() as connection:
            rows = await sql.read_live_jobs.rows(connection, job_ids=job_ids)
        return {row["id"]: live_message(row) for row in rows}

    async def _publish(self, news: dict[UUID, JobMessage]) -> bool:
        timestamp = int(self._clock.now().timestamp())
        return await self._beacon.publish_many(
            [
                (
                    f"jobs:{job_id}",
                    msgspec.to_builtins(msgspec.structs.replace(message, timestamp=timestamp)),
                )
                for job_id, message in news.items()
            ]
        )
