"""Heartbeats: one call for all held tasks, from a thread with an event loop and a connection of its own.

A task that keeps the worker's event loop busy therefore does not lose its lease. What the ledger no
longer lists as held is lost: the task is cancelled, and its report will change nothing. Progress that
changed goes out between heartbeats, so that whoever watches sees it move.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any
from uuid import UUID

import asyncpg
import structlog

from shoal.ledger.connection import BROKEN, connect
from shoal.ledger.settings import LedgerSettings
from shoal.ledger.text import storable
from shoal.runtime.errors import ShoalError
from shoal.runtime.lifecycle import Part
from shoal.worker.claims import sql
from shoal.worker.held import Held
from shoal.worker.lines import lines_of, send_lines

log = structlog.get_logger(__name__)

JOIN_TIMEOUT_S = 5.0
LOOK_EVERY_S = 0.4
RETRY_EVERY_S = 1.0
NOTHING_SAID = (0.0, "")


class Heartbeats(Part):
    name = "heartbeats"

    def __init__(
        self,
        settings: LedgerSettings,
        *,
        worker_id: str,
        every_s: float,
        held: Callable[[], Iterable[Held]],
        on_lost: Callable[[Held], None],
        cancelled: asyncio.Event,
    ) -> None:
        self._settings = settings
        self._worker_id = worker_id
        self._every_s = every_s
        self._held = held
        self._on_lost = on_lost
        self._cancelled = cancelled
        self._hurried = threading.Event()
        self._last_full = 0.0
        self._said: dict[UUID, tuple[float, str]] = {}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="heartbeats", daemon=True)

    async def start(self) -> None:
        self._thread.start()

    async def run(self) -> None:
        """Somebody cancelled something: ask at once what is still held."""
        while not self._stopping.is_set():
            await self._cancelled.wait()
            self._cancelled.clear()
            self._hurried.set()

    async def stop(self) -> None:
        self._stopping.set()
        self._cancelled.set()
        if self._thread.is_alive():
            await asyncio.to_thread(self._thread.join, JOIN_TIMEOUT_S)

    def _work(self) -> None:
        asyncio.run(self._beat_until_stopped())

    async def _beat_until_stopped(self) -> None:
        connection: asyncpg.Connection[Any] | None = None
        pause = LOOK_EVERY_S
        while not await asyncio.to_thread(self._stopping.wait, pause):
            beating = self._due(time.monotonic())
            pause = LOOK_EVERY_S
            try:
                with lines_of(self._held()) as lines:
                    if not beating and not lines:
                        continue
                    if connection is None or connection.is_closed():
                        connection = await connect(
                            self._settings.direct_url, application=f"shoal heartbeats {self._worker_id}"
                        )
                    if beating:
                        await self._beat(connection, beating)
                    await send_lines(connection, self._worker_id, lines)
            except (*BROKEN, OSError, TimeoutError, asyncpg.PostgresError, ShoalError) as error:
                log.warning("heartbeat failed", error=str(error))
                self._hurried.set()  # what was due stays due
                pause = RETRY_EVERY_S
                if connection is not None:
                    connection.terminate()
                    connection = None
        if connection is not None:
            await connection.close(timeout=1)

    def _due(self, now: float) -> list[Held]:
        """Everything that is held when a heartbeat is due, else what has moved since the last one."""
        held = list(self._held())
        if self._hurried.is_set() or now - self._last_full >= self._every_s:
            self._hurried.clear()
            self._last_full = now
            return held
        return [one for one in held if self._said.get(one.claim.task_id, NOTHING_SAID) != _says(one)]

    async def _beat(self, connection: "asyncpg.Connection[Any]", beating: list[Held]) -> None:
        sent = {one.claim.task_id: _says(one) for one in beating}
        rows = await sql.heartbeat_tasks.rows(
            connection,
            worker_id=self._worker_id,
            task_ids=[one.claim.task_id for one in beating],
            claim_tokens=[one.claim.token for one in beating],
            progress=[fraction for fraction, _ in sent.values()],
            messages=[storable(message) for _, message in sent.values()],
        )
        still_held: set[UUID] = {row["held"] for row in rows}
        alive = {one.claim.task_id for one in self._held()}
        self._said = {task_id: said for task_id, said in self._said.items() if task_id in alive}
        self._said |= sent
        for one in beating:
            if one.claim.task_id not in still_held:
                self._on_lost(one)


def _says(held: Held) -> tuple[float, str]:
    return held.context.fraction, held.context.message
