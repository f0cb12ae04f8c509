"""What the room does by itself: the claimer, in every sentinel, and the sweeper, in the one that leads.

Whatever a message would have said is found by a sweep as well, and every step may be done by two at once.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from uuid import UUID

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from shoal.brain.keys import BACKGROUND_LEADER
from shoal.brain.leases import Lease
from shoal.fleet import rules
from shoal.fleet.aggregation import Aggregation
from shoal.fleet.brain import FleetBrain
from shoal.fleet.dispatch import Dispatch
from shoal.fleet.grants import Grants
from shoal.fleet.looks import FleetLooks
from shoal.fleet.measures import FleetMeasures
from shoal.fleet.opening import MOST_PER_CLAIM, Opening
from shoal.fleet.pushes import Pushes
from shoal.fleet.reconciler import Reconciler
from shoal.fleet.store import sql
from shoal.ledger.connection import REPEATABLE
from shoal.ledger.pool import Ledger
from shoal.runtime.errors import ShoalError
from shoal.runtime.lifecycle import Part

log = structlog.get_logger(__name__)

PASSING = (*REPEATABLE, RedisError, OSError, ShoalError)
"""What goes away by itself, or is somebody else's to mend: tried again later."""

AT_MOST_EVERY_S = 0.05
FIRST_LOOK_S = 5.0
LONGEST_LOOK_S = 30.0
LEASE_TTL = timedelta(seconds=10)
UNCLAIMED_S = 30 * 24 * 3600.0
UNUSED_CONFIG_S = 90 * 24 * 3600.0
CHANGED_WITHIN_S = 60.0
PAUSE_AFTER_ERROR_S = 1.0
MOST_SPREAD = 200
MOST_PINGED = 1000


class FleetClaimer(Part):
    """Takes fleet tasks as soon as they are ready; ``woken`` is set when the ledger says that some may be."""

    name = "fleet claimer"

    def __init__(self, opening: Opening, woken: asyncio.Event, *, look_s: float = FIRST_LOOK_S) -> None:
        self._opening = opening
        self._woken = woken
        self._look_s = look_s
        self._is_stopping = False

    async def run(self) -> None:
        look_s = self._look_s
        while not self._is_stopping:
            self._woken.clear()
            try:
                claimed = await self._opening.claim()
            except PASSING as error:
                log.warning("no fleet task claimed", error=str(error) or repr(error))
                claimed = 0
            if claimed == MOST_PER_CLAIM:
                continue
            look_s = self._look_s if claimed else min(look_s * 2, LONGEST_LOOK_S)
            if not claimed:  # the notification was for workers, and under load there are hundreds a second
                await asyncio.sleep(AT_MOST_EVERY_S)
            with suppress(TimeoutError):
                async with asyncio.timeout(look_s * random.uniform(0.75, 1.0)):  # noqa: S311 - jitter
                    await self._woken.wait()

    async def stop(self) -> None:
        self._is_stopping = True
        self._woken.set()


class FleetSweeper(Part):
    """``woken`` is set when something was cancelled."""

    name = "fleet sweeper"

    def __init__(
        self,
        ledger: Ledger,
        client: Redis,
        brain: FleetBrain,
        looks: FleetLooks,
        *,
        aggregation: Aggregation,
        dispatch: Dispatch,
        grants: Grants,
        pushes: Pushes,
        reconciler: Reconciler,
        measures: FleetMeasures,
        silence_s: float,
        woken: asyncio.Event,
    ) -> None:
        self._ledger = ledger
        self._brain = brain
        self._looks = looks
        self._aggregation = aggregation
        self._dispatch = dispatch
        self._grants = grants
        self._pushes = pushes
        self._reconciler = reconciler
        self._measures = measures
        self._silence_ms = round(silence_s * 1000)
        self._woken = woken
        self._lease = Lease(client, BACKGROUND_LEADER, ttl=LEASE_TTL)
        self._is_stopping = False
        self._due: dict[str, float] = {}
        self._told: dict[str, int] = {}
        self._spread_at = 0

    async def run(self) -> None:
        while not self._is_stopping:
            is_woken = self._woken.is_set()
            self._woken.clear()
            try:
                if await self._leads():
                    await self._sweep(is_woken=is_woken)
            except PASSING as error:
                log.warning("the fleet was not swept", error=str(error) or repr(error))
                await asyncio.sleep(PAUSE_AFTER_ERROR_S)
            with suppress(TimeoutError):
                async with asyncio.timeout(rules.SWEEP_S):
                    await self._woken.wait()
        await self._aggregation.drain()
        with suppress(RedisError, OSError):
            await self._lease.release()

    async def stop(self) -> None:
        self._is_stopping = True
        self._woken.set()

    async def _leads(self) -> bool:
        if self._is_due("lease", LEASE_TTL.total_seconds() / 4):
            await self._lease.hold()
        return self._lease.epoch is not None

    async def _sweep(self, *, is_woken: bool) -> None:
        await self._reclaim()
        await self._aggregation.settle()
        await self._brain.drop_wrong_parts()
        for task in await self._brain.rechecks():
            await self._pushes.dropped(await self._brain.recheck_plan(task))
        if is_woken or self._is_due("reconcile", rules.RECONCILE_S):
            await self._reconciler.reconcile()
        await self._tell_progress()
        if self._is_due("spread", rules.SPREAD_S):
            await self._spread()
        for name, every_s, chore in self._seldom:
            if self._is_due(name, every_s):
                await chore()

    @property
    def _seldom(self) -> tuple[tuple[str, float, Callable[[], Awaitable[None]]], ...]:
        return (
            ("changed nodes", 5.0, self._apply_changed_nodes),
            ("revoked nodes", 5.0, self._reconciler.revoke_again),
            ("seen nodes", 20.0, self._note_seen),
            ("silent nodes", 10.0, self._ping_silent),
            ("old rows", 3600.0, self._delete_old),
        )

    def _is_due(self, name: str, every_s: float) -> bool:
        now = time.monotonic()
        if self._due.get(name, 0.0) > now:
            return False
        self._due[name] = now + every_s
        return True

    async def _reclaim(self) -> None:
        reclaimed = await self._brain.reclaim_chunks(silence_ms=self._silence_ms)
        if reclaimed:
            self._measures.reclaimed.inc(sum(reclaimed.values()))
            log.warning("nodes fell silent", nodes=len(reclaimed), chunks=sum(reclaimed.values()))
            async with self._ledger.connection() as connection:
                await sql.tell_node_events.run(
                    connection, node_ids=[UUID(node) for node in reclaimed], type="node.left"
                )

    async def _spread(self) -> None:
        """What waits goes to nodes with room, and what one node holds at the end to one more.

        Of very many plans some each time, so that a sweep stays short: most of them wait for nobody.
        """
        plans = await self._brain.plans()
        begin = self._spread_at if self._spread_at < len(plans) else 0
        self._spread_at = begin + MOST_SPREAD
        for task in plans[begin : self._spread_at]:
            await self._brain.spare_chunks(task, older_ms=rules.SPARE_AFTER_MS)
            await self._dispatch.spread(task)

    async def _tell_progress(self) -> None:
        """Into the leases of the tasks, from where jobs and their listeners read it."""
        progress = await self._looks.progress()
        news = {
            task: (token, done, total)
            for task, (token, done, total) in progress.items()
            if self._told.get(task) != done
        }
        self._told = {task: done for task, (_, done, _) in progress.items()}
        if not news:
            return
        async with self._ledger.connection() as connection:
            await sql.note_fleet_progress.rows(
                connection,
                task_ids=[UUID(task) for task in news],
                claim_tokens=[UUID(token) for token, _, _ in news.values()],
                progress=[done / total for _, done, total in news.values()],
                messages=[f"{done} of {total} chunks" for _, done, total in news.values()],
            )

    async def _apply_changed_nodes(self) -> None:
        """Whoever changed them may have died before the brain heard of it."""
        async with self._ledger.connection() as connection:
            rows = await sql.list_changed_nodes.rows(connection, within_s=CHANGED_WITHIN_S)
        for row in rows:
            await self._grants.reapply_node(str(row["id"]))

    async def _note_seen(self) -> None:
        heard = await self._looks.heard()
        if heard:
            async with self._ledger.connection() as connection:
                await sql.note_nodes_seen.run(
                    connection,
                    node_ids=[UUID(node) for node in heard],
                    seen_at=[datetime.fromtimestamp(at / 1000, UTC) for at in heard.values()],
                )

    async def _ping_silent(self) -> None:
        """Perhaps they only lost their rhythm."""
        quiet = await self._looks.quiet(than_ms=self._silence_ms // 3, most=MOST_PINGED)
        await self._pushes.ping(quiet)

    async def _delete_old(self) -> None:
        async with self._ledger.connection() as connection:
            await sql.delete_unclaimed_nodes.value(connection, older_s=UNCLAIMED_S, at_most=1000)
            await sql.delete_old_configs.value(connection, older_s=UNUSED_CONFIG_S, at_most=1000)
