"""One attempt of a task: it runs, what it made and wrote is kept, and what came of it is to be reported."""

import asyncio
from contextlib import suppress

import msgspec
import structlog

from shoal.app.context import Context
from shoal.app.declare import App, Job
from shoal.runtime.errors import ShoalError, Unavailable
from shoal.runtime.traces import span
from shoal.vault.store import Vault
from shoal.worker.artifacts import upload
from shoal.worker.call import Places, call
from shoal.worker.held import PLAN, Claim, Held
from shoal.worker.meaning import Meaning, meaning_of
from shoal.worker.metrics import WorkerMetrics
from shoal.worker.reports import Completion, Plan, Report, Reports, report_of
from shoal.worker.settings import WorkerSettings

log = structlog.get_logger(__name__)


class Attempts:
    def __init__(
        self,
        settings: WorkerSettings,
        *,
        app: App,
        vault: Vault,
        reports: Reports,
        metrics: WorkerMetrics,
    ) -> None:
        self._app = app
        self._vault = vault
        self._reports = reports
        self._metrics = metrics
        self._largest_artifact = settings.artifact_max_bytes
        self._places = Places(app.references, concurrency=settings.worker_concurrency)

    def may_line_up(self, claim: Claim) -> bool:
        """Before the threads: only what is sync, and has no time limit that would run meanwhile."""
        task = self._app.tasks.get(claim.task_type)
        return task is not None and task.runs_in_thread and claim.timeout_s is None

    async def run(self, held: Held) -> Report | None:
        """What is to be reported; None when the claim is lost."""
        claim, context = held.claim, held.context
        try:
            if claim.task_type.startswith(PLAN):
                return await self._plan(claim, self._app.jobs[claim.job_type])
            with span("task", task_type=claim.task_type, attempt=claim.attempt, task_id=str(claim.task_id)):
                output = await call(self._app.tasks[claim.task_type], context, claim.timeout_s, self._places)
            if context.artifacts and not await self._keep(held):
                self._metrics.lost(claim.task_type)
                return None
            report: Report = Completion(claim, output)
        except (Exception, SystemExit, KeyboardInterrupt, asyncio.CancelledError) as error:
            if isinstance(error, asyncio.CancelledError) and _is_being_cancelled():
                raise
            meaning = meaning_of(error)
            report = report_of(claim, meaning)
            _write_down(context, error, meaning)
        if context.used("log"):
            await self._reports.keep_lines(held)
        return report

    def kill_processes(self) -> None:
        self._places.processes.kill()

    async def _plan(self, claim: Claim, job: Job) -> Plan:
        """In a thread, as a sync task: a large graph takes its time."""

        def plan() -> str:
            return msgspec.json.encode(job.plan(claim.input).as_written()).decode()

        return Plan(claim, await self._places.threads.run(plan, ()))

    async def _keep(self, held: Held) -> bool:
        """Upload what the task made; false when the claim is lost."""
        rows = [
            await upload(self._vault, held.claim, artifact, max_bytes=self._largest_artifact)
            for artifact in held.context.artifacts
        ]
        try:
            return await self._reports.add_artifacts(held.claim, rows)
        except ShoalError:
            # Refused, as over a quota: what is left lying would fill the vault all the same.
            with suppress(Unavailable):
                await self._vault.delete([str(row["storage_path"]) for row in rows])
            raise


def _is_being_cancelled() -> bool:
    """Whether somebody stops us; a task can also raise a CancelledError of its own."""
    current = asyncio.current_task()
    return current is not None and current.cancelling() > 0


def _write_down(context: Context, error: BaseException, meaning: Meaning) -> None:
    """For the owner of the job; what the task did not mean to raise, for the log of the worker too."""
    if meaning.snooze_s is not None:
        context.log.info(meaning.text)
        return
    if meaning.is_surprise:
        log.warning("task failed", task=context.name, attempt=context.attempt, exc_info=error)
    context.log.error(meaning.text)
