"""The worker process: the tasks of its apps, and the heartbeat thread."""

import asyncio
from collections.abc import Callable

from shoal.app.declare import App
from shoal.ledger.connection import require_url
from shoal.ledger.listener import Listener
from shoal.ledger.pool import Ledger
from shoal.ledger.settings import LedgerSettings
from shoal.roles.config import RoleSettings
from shoal.roles.schema import Schema
from shoal.roles.stdin_guard import StdinGuard
from shoal.roles.worker_metrics import MetricsPort
from shoal.roles.worker_watchdog import CHANNEL as WATCHED
from shoal.roles.worker_watchdog import WorkerWatchdog
from shoal.runtime.garbage import SeldomGarbage
from shoal.runtime.lifecycle import Part, run_parts
from shoal.runtime.metrics import new_registry
from shoal.runtime.settings import Settings
from shoal.vault.settings import VaultSettings
from shoal.vault.store import open_vault
from shoal.worker.agent import Worker
from shoal.worker.consumers import Consumer
from shoal.worker.heartbeats import Heartbeats
from shoal.worker.metrics import WorkerMetrics
from shoal.worker.settings import WorkerSettings, new_worker_id


def worker_parts(settings: Settings, app: App) -> list[Part]:
    require_url(settings[LedgerSettings].database_url)  # the first thing that is missing when nothing runs
    own = settings[WorkerSettings]
    worker_id = own.worker_id or new_worker_id()
    ledger = Ledger(settings[LedgerSettings], application=f"shoal worker {worker_id}")
    listener = Listener(settings[LedgerSettings], application=f"shoal worker {worker_id}")
    worker = Worker(
        own,
        app=app,
        worker_id=worker_id,
        ledger=ledger,
        listener=listener,
        vault=open_vault(settings[VaultSettings]),
    )
    heartbeats = Heartbeats(
        settings[LedgerSettings],
        worker_id=worker_id,
        every_s=own.heartbeat_every_s,
        held=worker.held,
        on_lost=worker.give_up,
        cancelled=listener.subscribe("shoal_cancelled"),
    )
    schema = Schema(settings[LedgerSettings], may_migrate=False)
    watchdog = WorkerWatchdog(ledger, watched=listener.subscribe(WATCHED))
    stores = [schema, ledger, listener]
    consumers = [Consumer(handler, ledger=ledger, listener=listener) for handler in app.handlers.values()]
    return [
        *metrics_port(own, worker.metrics),
        SeldomGarbage(),
        *stores,
        watchdog,
        *consumers,
        heartbeats,
        worker,
    ]


def metrics_port(settings: WorkerSettings, metrics: WorkerMetrics) -> list[Part]:
    """The first part to start: that a port is taken is said before anything is claimed."""
    if not settings.worker_metrics_port:
        return []
    registry = new_registry()
    registry.register(metrics)
    return [MetricsPort(registry, host=settings.worker_metrics_host, port=settings.worker_metrics_port)]


async def run_worker(
    settings: Settings, app: App, *, on_ready: Callable[[], None], with_stdin: bool = False
) -> None:
    """``with_stdin`` ties the life of the worker to whoever holds the other end of its stdin."""
    parts = worker_parts(settings, app)
    grace_s = settings[RoleSettings].grace_period_s
    ended = asyncio.Event()
    if with_stdin:
        parts.append(StdinGuard(ended, grace_s=grace_s))
    await run_parts(parts, grace_s=grace_s, until=ended, on_started=on_ready)
