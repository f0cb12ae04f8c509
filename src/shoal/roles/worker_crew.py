"""Several worker processes under one parent: a fixed number of them, or as many as the queue asks for."""

from collections.abc import Callable, Sequence

from shoal.app.declare import App
from shoal.ledger.pool import Ledger
from shoal.ledger.settings import LedgerSettings
from shoal.roles.config import Given, RoleSettings
from shoal.roles.worker_processes import HAND_BACK_S, LocalWorkers, WorkerProcess, worker_arguments
from shoal.roles.worker_scaling import Bounds, Scaling
from shoal.runtime.lifecycle import run_parts
from shoal.runtime.settings import Settings
from shoal.worker.agent import task_types_of
from shoal.worker.settings import ScaleSettings, WorkerSettings


async def run_workers(
    given: Given, settings: Settings, apps: Sequence[str], *, processes: int, on_ready: Callable[[], None]
) -> None:
    own = settings[WorkerSettings]
    await run_parts(
        [
            WorkerProcess(f"worker {number}", worker_arguments(given, apps, own, number=number))
            for number in range(1, processes + 1)
        ],
        grace_s=settings[RoleSettings].grace_period_s + HAND_BACK_S,
        on_started=on_ready,
    )


async def run_scale(
    given: Given, settings: Settings, apps: Sequence[str], *, app: App, on_ready: Callable[[], None]
) -> None:
    """``app`` is the apps joined, and narrowed to the types that are asked for."""
    own = settings[WorkerSettings]
    ledger = Ledger(settings[LedgerSettings], application="shoal worker scale")
    workers = LocalWorkers(lambda number: worker_arguments(given, apps, own, number=number))
    bounds = Bounds.of(settings[ScaleSettings], concurrency=own.worker_concurrency)
    scaling = Scaling(ledger, workers, bounds=bounds, task_types=task_types_of(app))
    await run_parts(
        [ledger, workers, scaling],
        grace_s=settings[RoleSettings].grace_period_s + HAND_BACK_S,
        on_started=on_ready,
    )
