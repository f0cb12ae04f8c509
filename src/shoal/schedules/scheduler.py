"""The loop of whoever leads: fire what is due, sleep until the next is, wake up when one is added."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta

import asyncpg
import structlog

from shoal.ledger.connection import REPEATABLE, Connection, Row
from shoal.ledger.listener import Listener
from shoal.ledger.pool import Ledger
from shoal.runtime.clock import Clock, SystemClock
from shoal.runtime.lifecycle import Part
from shoal.schedules.firing import Fired, Firing, NotLeadingError
from shoal.schedules.leader import Leadership
from shoal.schedules.measures import SchedulerMeasures
from shoal.schedules.model import Term
from shoal.schedules.store import sql

log = structlog.get_logger(__name__)

CHANNEL = "shoal_schedules"
LEAST_PAUSE_S = 0.05
"""What is due within it goes together: a batch costs less than its parts."""
LONGEST_PAUSE_S = 1.0
RETRY_S = 0.5
BATCHES_AT_ONCE = 2
TURNS_READ_AHEAD = 3
"""When there is more to do than fits: to see whose turn it is, all that is due has to be looked at."""
RELEASED_AT_ONCE = 100
FORGOTTEN_AT_ONCE = 5000
FORGET_EVERY_S = 600.0


class Scheduler(Part):
    name = "scheduler"

    def __init__(
        self,
        ledger: Ledger,
        leadership: Leadership,
        listener: Listener,
        *,
        measures: SchedulerMeasures,
        batch: int,
        keep_runs: timedelta | None,
        clock: Clock | None = None,
    ) -> None:
        self._ledger = ledger
        self._leadership = leadership
        self._firing = Firing(ledger)
        self._measures = measures
        self._batch = batch
        self._keep_runs = keep_runs
        self._clock = clock or SystemClock()
        self._added = listener.subscribe(CHANNEL)
        self._stopping = asyncio.Event()
        self._forget_at = 0.0

    async def run(self) -> None:
        while not self._stopping.is_set():
            term = self._leadership.term
            self._measures.leads.set(term is not None)
            if term is None:
                await self._wait(self._leadership.changed, LONGEST_PAUSE_S)
                continue
            try:
                pause_s = await self._turn(term)
            except NotLeadingError:
                await self._wait(self._leadership.changed, LONGEST_PAUSE_S)
            except (*REPEATABLE, asyncpg.PostgresError) as error:
                # Whatever is wrong with the ledger: what is due stays due.
                log.warning("schedules could not be fired", error=str(error) or repr(error))
                await self._wait(self._stopping, RETRY_S)
            else:
                await self._wait(self._added, pause_s)
        self._measures.leads.set(False)

    async def stop(self) -> None:
        self._stopping.set()
        self._added.set()
        self._leadership.changed.set()

    async def _turn(self, term: Term) -> float:
        """Fire what is due, as much as fits; returns for how long nothing is."""
        at_once = self._batch * BATCHES_AT_ONCE
        async with self._ledger.connection() as connection:
            rows = await sql.find_due.rows(connection, at_most=at_once)
            is_behind = len(rows) == at_once
            if is_behind:
                rows = await sql.find_due_fairly.rows(connection, at_most=at_once * TURNS_READ_AHEAD)
        for first in range(0, len(rows), at_once):
            await self._fire(term, rows[first : first + at_once])
            if self._stopping.is_set():
                break
        if is_behind:
            return 0.0
        async with self._ledger.connection() as connection:
            await sql.release_queued_runs.run(connection, at_most=RELEASED_AT_ONCE)
            await self._forget_old_runs(connection)
            due_in_s = await sql.next_due.value(connection)
        return min(max(LONGEST_PAUSE_S if due_in_s is None else due_in_s, LEAST_PAUSE_S), LONGEST_PAUSE_S)

    async def _fire(self, term: Term, rows: Sequence[Row]) -> None:
        """The batches at the same time, so that one is planned while another is written."""
        batches = [rows[first : first + self._batch] for first in range(0, len(rows), self._batch)]
        ends = await asyncio.gather(
            *(self._firing.fire(term, batch) for batch in batches), return_exceptions=True
        )
        for end in ends:
            if isinstance(end, Fired):
                self._measure(end)
        for end in ends:
            if isinstance(end, BaseException):
                raise end

    async def _forget_old_runs(self, connection: Connection) -> None:
        if self._keep_runs is None or self._clock.monotonic() < self._forget_at:
            return
        forgotten = await sql.delete_old_fires.value(
            connection, older_than=self._keep_runs, at_most=FORGOTTEN_AT_ONCE
        )
        if forgotten < FORGOTTEN_AT_ONCE:
            self._forget_at = self._clock.monotonic() + FORGET_EVERY_S

    def _measure(self, fired: Fired) -> None:
        self._measures.runs.inc(fired.runs)
        self._measures.parked.inc(fired.parked)
        self._measures.lateness.observe(fired.lateness_s)

    async def _wait(self, event: asyncio.Event, seconds: float) -> None:
        """Wait for an event, but not longer; it is cleared for the next time."""
        try:
            async with asyncio.timeout(seconds):
                await event.wait()
        except TimeoutError:
            return
        if not self._stopping.is_set():
            event.clear()
