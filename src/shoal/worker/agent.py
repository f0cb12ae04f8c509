"""The worker itself: claims while there is room, runs what it claimed, reports, drains."""

import asyncio
import random
from collections.abc import Iterable

import structlog

from shoal.app.declare import App, Job
from shoal.app.failures import PermanentFailure, RetryAfter
from shoal.ledger.connection import UNREACHABLE
from shoal.ledger.listener import Listener
from shoal.ledger.pool import Ledger
from shoal.runtime.errors import ShoalError
from shoal.runtime.lifecycle import Part
from shoal.runtime.logs import bound
from shoal.vault.store import Vault
from shoal.worker.claims import Claims, sql
from shoal.worker.execution import call, new_context, upload, workdir
from shoal.worker.held import Claim, Held
from shoal.worker.reports import Reports, failure_of
from shoal.worker.settings import WorkerSettings

log = structlog.get_logger(__name__)

CHANNEL = "shoal_tasks"
FIRST_POLL_S = 5.0
LONGEST_POLL_S = 30.0
SHORTEST_NAP_S = 0.05
PLAN = "plan:"


class Worker(Part):
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
        self._vault = vault
        self._claims = Claims(
            ledger,
            worker_id=worker_id,
            task_types=[*app.tasks, *(PLAN + job for job in app.jobs)],
            lease_s=settings.worker_lease_s,
        )
        self._reports = Reports(ledger, worker_id=worker_id)
        self._woken = listener.subscribe(CHANNEL)
        self._stopping = asyncio.Event()
        self._running: dict[asyncio.Task[None], Held | None] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    def held(self) -> Iterable[Held]:
        """What this worker holds now; the heartbeat thread reads it."""
        return [held for held in list(self._running.values()) if held is not None]

    def give_up(self, held: Held) -> None:
        """Stop a task whose claim counts no more. Called by the heartbeat thread."""
        held.context.cancel()
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._cancel, held)

    def _cancel(self, held: Held) -> None:
        for task, running in self._running.items():
            if running is held:
                task.cancel()

    async def start(self) -> None:
        """Announce the job types of the app."""
        self._loop = asyncio.get_running_loop()
        async with self._ledger.connection() as connection:
            for job in self._app.jobs.values():
                await sql.register_job_type.run(
                    connection,
                    type=job.type,
                    version=job.version,
                    params_schema=job.params_schema(),
                    phases=job.phases_as_written(),
                )

    async def run(self) -> None:
        pause = FIRST_POLL_S
        while not self._stopping.is_set():
            room = self._settings.worker_concurrency - len(self._running)
            if room == 0:
                await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
                continue
            self._woken.clear()
            pause = min(pause * 2, LONGEST_POLL_S)
            try:
                claimed = await self._claims.claim(room)
                due = await self._claims.next_due_s() if len(claimed) < room else 0.0
            except UNREACHABLE as error:
                log.warning("claim failed", error=str(error))
                claimed, due = [], pause
            for claim in claimed:
                self._begin(claim)
            if claimed:
                pause = FIRST_POLL_S
            if len(claimed) < room:
                await self._idle(min(pause * random.uniform(0.5, 1.0), max(due, SHORTEST_NAP_S)))  # noqa: S311 - jitter
        await self._drain()

    async def stop(self) -> None:
        self._stopping.set()
        self._woken.set()

    def _begin(self, claim: Claim) -> None:
        task = asyncio.create_task(self._work(claim), name=f"task {claim.task_id}")
        self._running[task] = None
        task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._running.pop(task, None)
        self._woken.set()
        if not task.cancelled() and (error := task.exception()):
            log.error("a task could not be reported", exc_info=error)

    async def _idle(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            return

    async def _drain(self) -> None:
        """Let running tasks end; when we are cancelled (the grace is over), hand back the rest."""
        try:
            while self._running:
                await asyncio.wait(self._running)
        except asyncio.CancelledError:
            unfinished = [held.claim for held in self.held()]
            for held in self.held():
                held.context.cancel()
            for task in list(self._running):
                task.cancel()
            if unfinished:
                released = await self._reports.release(unfinished)
                log.info("tasks handed back", count=released)
            raise

    async def _work(self, claim: Claim) -> None:
        with bound(job_id=str(claim.job_id), task_id=str(claim.task_id)):
            async with workdir(claim) as folder:
                held = Held(claim, new_context(claim, folder))
                self._running[_this_task()] = held
                try:
                    verdict = await self._run(held)
                except asyncio.CancelledError:
                    if not held.context.cancelled:
                        raise
                    verdict = "given up"
                except Exception as error:  # noqa: BLE001 - whatever a task raises is its failure
                    verdict = await self._fail(held, error)
                log.debug("task ended", task_type=claim.task_type, verdict=verdict)

    async def _run(self, held: Held) -> str:
        claim = held.claim
        if claim.task_type.startswith(PLAN):
            return await self._plan(claim, self._app.jobs[claim.job_type])
        output = await call(self._app.tasks[claim.task_type], held.context, claim.timeout_s)
        if held.context.artifacts and not await self._keep(held):
            return "lease_lost"
        await self._reports.keep_lines(held)
        return await self._reports.complete(claim, output)

    async def _fail(self, held: Held, error: Exception) -> str:
        claim = held.claim
        failure = failure_of(claim, error)
        if not isinstance(error, (RetryAfter, PermanentFailure, ShoalError)):
            log.warning("task failed", task_type=claim.task_type, attempt=claim.attempt, exc_info=error)
        held.context.log.error(failure.error)
        await self._reports.keep_lines(held)
        return await self._reports.fail(failure)

    async def _plan(self, claim: Claim, job: Job) -> str:
        planned = await self._reports.plan(claim, job.plan(claim.input).as_written())
        return "planned" if planned else "lease_lost"

    async def _keep(self, held: Held) -> bool:
        rows = [
            await upload(self._vault, held.claim, artifact, max_bytes=self._settings.artifact_max_bytes)
            for artifact in held.context.artifacts
        ]
        return await self._reports.add_artifacts(held.claim, rows)


def _this_task() -> "asyncio.Task[None]":
    task: asyncio.Task[None] | None = asyncio.current_task()
    if task is None:
        raise RuntimeError("not inside a task")
    return task
