"""The worker process: the tasks of its apps, and the heartbeat thread."""

import asyncio
import os
import sys
from collections.abc import Callable

from shoal.app.declare import App
from shoal.ledger.listener import Listener
from shoal.ledger.pool import Ledger
from shoal.ledger.settings import LedgerSettings
from shoal.roles.config import RoleSettings
from shoal.roles.schema import Schema
from shoal.runtime.lifecycle import Part, run_parts
from shoal.runtime.settings import Settings
from shoal.vault.settings import VaultSettings
from shoal.vault.store import open_vault
from shoal.worker.agent import Worker
from shoal.worker.heartbeats import Heartbeats
from shoal.worker.settings import WorkerSettings, new_worker_id


def worker_parts(settings: Settings, app: App) -> list[Part]:
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
    return [schema, ledger, listener, heartbeats, worker]


async def run_worker(
    settings: Settings, app: App, *, on_ready: Callable[[], None], with_stdin: bool = False
) -> None:
    """``with_stdin`` ties the life of the worker to whoever holds the other end of its stdin."""
    parts = worker_parts(settings, app)
    ended = asyncio.Event()
    if with_stdin:
        parts.append(StdinGuard(ended))
    await run_parts(parts, grace_s=settings[RoleSettings].grace_period_s, until=ended, on_started=on_ready)


class StdinGuard(Part):
    """Ends the process in order when its stdin is closed, as it is when the parent dies."""

    name = "stdin guard"

    def __init__(self, ended: asyncio.Event) -> None:
        self._ended = ended

    async def start(self) -> None:
        asyncio.get_running_loop().add_reader(sys.stdin.fileno(), self._on_readable)

    async def stop(self) -> None:
        asyncio.get_running_loop().remove_reader(sys.stdin.fileno())

    def _on_readable(self) -> None:
        if not os.read(sys.stdin.fileno(), 4096):
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
            self._ended.set()
