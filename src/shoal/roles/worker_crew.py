"""Several worker processes under one parent: a fixed number of them, or as many as the queue asks for."""

from collections.abc import Callable, Sequence

from shoal.app.declare import App
from shoal.ledger.pool import Ledger
from shoal.ledger.settings import LedgerSettings
from shoal.roles.config import Given, RoleSettings
from shoal.roles.worker_apps import load_object
from shoal.roles.worker_processes import HAND_BACK_S, LocalWorkers, WorkerProcess, worker_arguments
from shoal.roles.worker_scaling import Bounds, Scaler, Scaling
from shoal.runtime.errors import Invalid
from shoal.runtime.lifecycle import Part, run_parts
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


def local_workers(given: Given, settings: Settings, apps: Sequence[str]) -> LocalWorkers:
    own = settings[WorkerSettings]
    return LocalWorkers(lambda number: worker_arguments(given, apps, own, number=number))


def load_scaler(reference: str) -> Scaler:
    """The user's own: ``package.module:name`` of something that can tell its size and be scaled."""
    found = load_object(reference)
    if not isinstance(found, Scaler):
        raise Invalid(
            "scaler_not_usable",
            f"{reference} is a {type(found).__name__} and cannot scale workers.",
            hint="It needs two async methods: size() and scale_to(workers).",
        )
    return found


async def run_scale(settings: Settings, scaler: Scaler, *, app: App, on_ready: Callable[[], None]) -> None:
    """``app`` is the apps joined, and narrowed to the types that are asked for."""
    ledger = Ledger(settings[LedgerSettings], application="shoal worker scale")
    concurrency = settings[WorkerSettings].worker_concurrency
    scaling = Scaling(
        ledger,
        scaler,
        bounds=Bounds.of(settings[ScaleSettings], concurrency=concurrency),
        task_types=task_types_of(app),
    )
    await run_parts(
        [ledger, *([scaler] if isinstance(scaler, Part) else []), scaling],
        grace_s=settings[RoleSettings].grace_period_s + HAND_BACK_S,
        on_started=on_ready,
    )
