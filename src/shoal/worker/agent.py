"""The worker itself: claims ahead, runs what it claimed, reports, drains."""

import asyncio
import random
import shutil
import time
from collections import deque
from collections.abc import Iterable, Sequence

import structlog

from shoal.app.declare import App
from shoal.ledger.connection import REPEATABLE
from shoal.ledger.listener import Listener
from shoal.ledger.pool import Ledger
from shoal.runtime.lifecycle import Part
from shoal.runtime.logs import subject
from shoal.vault.store import Vault
from shoal.worker.attempts import Attempts
from shoal.worker.claims import Claims, sql
from shoal.worker.held import PLAN, Claim, Held, new_context
from shoal.worker.metrics import WorkerMetrics
from shoal.worker.pace import Pace, in_line, wanted
from shoal.worker.reports import Reports, code_of
from shoal.worker.settings import WorkerSettings

log = structlog.get_logger(__name__)

CHANNEL = "shoal_tasks"
FIRST_RETRY_S = 0.1
FIRST_POLL_S = 5.0
LONGEST_POLL_S = 30.0
SHORTEST_NAP_S = 0.05
MOST_REPORTING = 5000


def task_types_of(app: App) -> list[str]:
    """What a worker of this app claims: its tasks, and the planning of its jobs."""
    return [*app.tasks, *(PLAN + job for job in app.jobs)]


class Worker(Part):
    """Three stages: ``waiting`` to be run, running, and reporting. Everything in them is held."""

    name = "worker"

    def __init__(
        self,
        settings: WorkerSettings,
        *,
        app: App,
        worker_id: str,
        ledger: Ledger,
        listener: Listener,
        vault: Vault,
    ) -> None:
        self._settings = settings
        self._app = app
        self._ledger = ledger
        self._claims = Claims(
            ledger,
            worker_id=worker_id,
            task_types=task_types_of(app),
            lease_s=settings.worker_lease_s,
        )
        self._reports = Reports(ledger, worker_id=worker_id)
        self.metrics = WorkerMetrics(task_types_of(app))
        self._attempts = Attempts(settings, app=app, vault=vault, reports=self._reports, metrics=self.metrics)
        self._woken = listener.subscribe(CHANNEL)
        self._progressed = asyncio.Event()
        self._stopping = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._held: set[Held] = set()
        self._waiting: deque[Held] = deque()
        self._running = 0
        self._ended = 0
        self._pace = Pace()

    def held(self) -> Iterable[Held]:
        """What this worker holds now; the heartbeat thread reads it."""
        return list(self._held)

    def give_up(self, held: Held) -> None:
        """Stop a task whose claim counts no more. Called by the heartbeat thread."""
        held.context.cancelled = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(_cancel, held)

    async def start(self) -> None:
        """Announce the job types of the app."""
        self._loop = asyncio.get_running_loop()
        async with self._ledger.connection() as connection:
            for job in self._app.jobs.values():
                await sql.register_job_type.run(
                    connection,
                    type=job.type,
                    version=job.version,
                    params_schema=job.params_schema,
                    phases=job.phases_as_written(),
                )

    async def run(self) -> None:
        poll_s, retry_s = FIRST_POLL_S, FIRST_RETRY_S
        while not self._stopping.is_set():
            room = self._room()
            if room == 0:
                await _first(self._progressed, self._stopping)
                self._progressed.clear()
                continue
            self._woken.clear()
            try:
                claimed = await self._claims.claim(room)
                self._take(claimed)
                if len(claimed) == room:
                    continue
                due_s = await self._claims.next_due_s()
            except REPEATABLE as error:
                log.warning("claim failed", error=str(error), retry_in_s=round(retry_s, 1))
                await _first(self._stopping, timeout_s=_jittered(retry_s))
                retry_s = min(retry_s * 2, LONGEST_POLL_S)
                continue
            poll_s = FIRST_POLL_S if claimed else min(poll_s * 2, LONGEST_POLL_S)
            retry_s = FIRST_RETRY_S
            nap_s = min(_jittered(poll_s), max(due_s, SHORTEST_NAP_S))
            await _first(self._woken, self._stopping, timeout_s=nap_s)
        await self._drain()

    async def stop(self) -> None:
        self._stopping.set()

    def _room(self) -> int:
        if len(self._held) >= MOST_REPORTING:
            return 0
        if self._loop is not None:
            self._pace, self._ended = self._pace.after(self._ended, self._loop.time()), 0
        return wanted(
            self._pace,
            concurrency=self._settings.worker_concurrency,
            waiting=len(self._waiting),
            running=self._running,
        )

    def _take(self, claimed: Iterable[Claim]) -> None:
        for claim in claimed:
            held = Held(claim, new_context(claim))
            self._held.add(held)
            self._waiting.append(held)
        self._fill()

    def _fill(self) -> None:
        """Start what waits while there are free places. Once we stop, it is about to be handed back."""
        while self._waiting and not self._stopping.is_set():
            places = self._settings.worker_concurrency
            if self._attempts.may_line_up(self._waiting[0].claim):
                places += in_line(self._pace)
            if self._running >= places:
                break
            held = self._waiting.popleft()
            if held.context.cancelled:
                self._held.discard(held)
                self.metrics.lost(held.claim.task_type)
                continue
            self._running += 1
            held.running = asyncio.create_task(self._work(held))

    async def _work(self, held: Held) -> None:
        """Run one task, free its place, then report it."""
        claim = held.claim
        subject.set(claim)
        self.metrics.started(claim.task_type)
        started = time.perf_counter()
        try:
            try:
                report = await self._attempts.run(held)
            finally:
                self.metrics.ended(claim.task_type, time.perf_counter() - started)
                self._running -= 1
                self._ended += 1
                self._progressed.set()
                self._fill()
            if report is not None:
                verdict = await self._reports.send(report)
                self.metrics.reported(claim.task_type, verdict, code_of(report))
                if verdict == "lease_lost":
                    log.warning("a report came too late", task_type=claim.task_type)
        except asyncio.CancelledError:
            if not held.context.cancelled:
                raise
            if held in self._held:  # not handed back
                self.metrics.lost(claim.task_type)
        except Exception:
            log.exception("a task could not be reported", task_type=claim.task_type)
        finally:
            self._held.discard(held)
            self._progressed.set()
            if held.context.used("workdir"):
                await asyncio.to_thread(shutil.rmtree, held.context.workdir, ignore_errors=True)

    async def _drain(self) -> None:
        """Hand back what waits and let the rest end; once the grace is over, hand that back too."""
        waiting, self._waiting = list(self._waiting), deque()
        try:
            await self._hand_back(waiting)
            while self._held:
                self._progressed.clear()
                await self._progressed.wait()
        except asyncio.CancelledError:
            unfinished = list(self._held)
            for held in unfinished:
                held.context.cancelled = True
                _cancel(held)
            await self._hand_back(unfinished)
            raise
        finally:
            self._attempts.kill_processes()

    async def _hand_back(self, unfinished: Sequence[Held]) -> None:
        self._held.difference_update(unfinished)
        if unfinished:
            released = await self._reports.release([held.claim for held in unfinished])
            log.info("tasks handed back", count=released)


def _cancel(held: Held) -> None:
    if held.running is not None:
        held.running.cancel()


def _jittered(seconds: float) -> float:
    """Up to half of it less, so that workers that began together do not go on together."""
    return seconds * random.uniform(0.5, 1.0)  # noqa: S311 - no secret


async def _first(*events: asyncio.Event, timeout_s: float | None = None) -> None:
    """Return when one of the events is set, or the time is up."""
    if any(event.is_set() for event in events):
        return
    waiters = [asyncio.create_task(event.wait()) for event in events]
    try:
        await asyncio.wait(waiters, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for waiter in waiters:
            waiter.cancel()
