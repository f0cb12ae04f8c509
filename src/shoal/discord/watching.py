"""Live progress in a message: the job is read again, and the message edited when something changed.

* A message is edited at most every few seconds, less often the longer a job takes: Discord allows five edits
  in five seconds, and discord.py waits when it is told to.
* The right to edit an answer ends after fifteen minutes. Shortly before, the message says so.
* Who asks for many jobs at once has the oldest ones let go.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Protocol

import structlog

from shoal.discord import embeds
from shoal.discord.rules import next_edit_s
from shoal.ledger.connection import REPEATABLE
from shoal.runtime.clock import Clock
from shoal.runtime.errors import ShoalError
from shoal.wire.jobs import JobView

log = structlog.get_logger(__name__)

FOLLOWED_FOR_S = 14 * 60.0
MOST_OF_ONE = 3
MOST_OF_ALL = 200
ENDED = ("complete", "failed", "cancelled")
LET_GO = "not live any more; /job shows it again"


class Shown(Protocol):
    """The message that was made of an interaction."""

    async def edit(self, embed: embeds.Embed) -> bool:
        """False when it cannot be edited any more."""
        ...


ReadJob = Callable[[], Awaitable[JobView]]


class Watching:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._followed: dict[int, list[asyncio.Task[None]]] = {}

    @property
    def count(self) -> int:
        return sum(map(len, self._followed.values()))

    def follow(self, account: int, job: JobView, shown: Shown, read: ReadJob) -> None:
        if job.status in ENDED or self.count >= MOST_OF_ALL:
            return
        mine = self._followed.setdefault(account, [])
        if len(mine) >= MOST_OF_ONE:
            mine[0].cancel()
        task = asyncio.create_task(self._follow(job, shown, read), name=f"job {job.id}")
        mine.append(task)
        task.add_done_callback(lambda ended: self._ended(account, ended))

    async def stop(self) -> None:
        tasks = [task for mine in self._followed.values() for task in mine]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, account: int, task: asyncio.Task[None]) -> None:
        mine = self._followed.get(account, [])
        if task in mine:
            mine.remove(task)
        if not mine:
            self._followed.pop(account, None)
        if not task.cancelled() and (error := task.exception()):
            log.error("live progress broke off", exc_info=error)

    async def _follow(self, job: JobView, shown: Shown, read: ReadJob) -> None:
        began = self._clock.monotonic()
        last = embeds.job_embed(job)
        while job.status not in ENDED:
            passed = self._clock.monotonic() - began
            if passed >= FOLLOWED_FOR_S:
                await shown.edit(embeds.job_embed(job, note=LET_GO))
                return
            await asyncio.sleep(next_edit_s(passed))
            with suppress(*REPEATABLE):
                try:
                    job = await read()
                except ShoalError:
                    return  # it was deleted, or the link was removed
            embed = embeds.job_embed(job)
            if embed != last:
                if not await shown.edit(embed):
                    return
                last = embed
