"""Who of the schedulers leads: a lease in one row of the ledger, judged by the ledger's clock alone.

* A term is (instance, elected_at). Whoever leads renews its own term and no other.
* It stops believing in its term by its monotonic clock, counted from before the heartbeat was sent: earlier
  than anybody else can begin one.
* Heartbeats go over a connection of their own, so nothing that fires holds them up.
* A term that ends in order is handed on at once; all that wait are told.
"""

import asyncio
import os
import socket
from contextlib import suppress
from typing import Any
from uuid import uuid4

import asyncpg
import structlog

from shoal.ledger.connection import BROKEN, REPEATABLE, connect
from shoal.ledger.settings import LedgerSettings
from shoal.runtime.clock import Clock, SystemClock
from shoal.runtime.lifecycle import Part
from shoal.schedules.model import Term
from shoal.schedules.store import sql

log = structlog.get_logger(__name__)

CHANNEL = "shoal_scheduler"
HEARTBEATS_PER_LEASE = 5
MARGIN = 0.2
"""Of the lease: how much earlier a leader stops believing than others may take over."""
RETRY_S = 0.5
CLOSE_S = 1.0


class Leadership(Part):
    name = "scheduler leadership"

    def __init__(
        self,
        settings: LedgerSettings,
        *,
        lease_s: float,
        instance: str | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._url = settings.direct_url
        self._lease_s = lease_s
        self._clock = clock or SystemClock()
        self.instance = instance or f"{socket.gethostname()[:200]}:{os.getpid()}:{uuid4().hex[:12]}"
        self._term: Term | None = None
        self._believed_until = 0.0
        self._stopping = asyncio.Event()
        self._told = asyncio.Event()
        self.changed = asyncio.Event()
        """Set whenever a term begins or is over; whoever waits clears it."""

    @property
    def term(self) -> Term | None:
        """The term, while it is certainly ours."""
        return self._term if self._clock.monotonic() < self._believed_until else None

    async def run(self) -> None:
        while not self._stopping.is_set():
            try:
                await self._contend_on_one_connection()
            except (*REPEATABLE, *BROKEN) as error:
                log.warning("cannot reach the ledger to lead", error=str(error))
                await self._pause(RETRY_S)

    async def stop(self) -> None:
        self._stopping.set()
        self._told.set()

    async def _contend_on_one_connection(self) -> None:
        connection = await connect(self._url, application="shoal scheduler")
        try:
            await connection.add_listener(CHANNEL, self._on_told)
            while not self._stopping.is_set():
                await self._pause(await self._contend(connection))
            await self._resign(connection)
        finally:
            with suppress(*REPEATABLE, *BROKEN):
                async with asyncio.timeout(CLOSE_S):
                    await connection.close()
            connection.terminate()

    async def _contend(self, connection: "asyncpg.Connection[Any]") -> float:
        """Renew the term, or try to begin one; returns after how many seconds to do it again."""
        beat_s = self._lease_s / HEARTBEATS_PER_LEASE
        asked = self._clock.monotonic()
        async with asyncio.timeout(max(beat_s, RETRY_S)):  # a server that hangs is a server that is away
            if self._term is not None:
                if await sql.renew_scheduler.value(
                    connection, instance_id=self._term.instance, elected_at=self._term.elected_at
                ):
                    self._believe(self._term, asked)
                    return beat_s
                self._give_up("another scheduler leads")
            row = await sql.elect_scheduler.row(connection, instance_id=self.instance, lease_s=self._lease_s)
        if row is None or row["elected_at"] is None:
            free_in_s: float = row["free_in_s"] if row else 0.0
            return min(beat_s, free_in_s + 0.01)
        self._believe(Term(self.instance, row["elected_at"]), asked)
        log.info("leads the schedules", instance=self.instance)
        return beat_s

    def _believe(self, term: Term, asked: float) -> None:
        is_new = self.term is None
        self._term = term
        self._believed_until = asked + self._lease_s * (1 - MARGIN)
        if is_new:
            self.changed.set()

    def _give_up(self, why: str) -> None:
        log.warning("leads the schedules no more", instance=self.instance, why=why)
        self._term = None
        self._believed_until = 0.0
        self.changed.set()

    async def _resign(self, connection: "asyncpg.Connection[Any]") -> None:
        term, self._term, self._believed_until = self._term, None, 0.0
        if term is not None:
            await sql.resign_scheduler.run(connection, instance_id=term.instance, elected_at=term.elected_at)
            log.info("leads the schedules no more", instance=self.instance, why="it ends")

    async def _pause(self, seconds: float) -> None:
        """Wait, but not longer than until somebody resigns, or this is told to stop."""
        try:
            async with asyncio.timeout(seconds):
                await self._told.wait()
        except TimeoutError:
            return
        if not self._stopping.is_set():
            self._told.clear()

    def _on_told(self, *_: object) -> None:
        self._told.set()
