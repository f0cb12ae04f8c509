"""Handlers of events: each is a consumer of its own, whose partitions the workers of the app share.

A turn is one partition, under a token. After each event the cursor moves for that token alone: who was
paused and wakes up moves nothing, and where the handler works in the ledger, nothing of it stays.
"""

import asyncio
from collections.abc import Sequence
from uuid import UUID, uuid4

import asyncpg
import structlog

from shoal.app.handler import Handler
from shoal.ledger.connection import REPEATABLE, Connection, Row
from shoal.ledger.listener import Listener
from shoal.ledger.pool import Ledger
from shoal.runtime.lifecycle import Part
from shoal.wire.events import EventView
from shoal.worker.claims import sql

log = structlog.get_logger(__name__)

CHANNEL = "shoal_events"
EVENTS_A_TURN = 100
LOOK_EVERY_S = 2.0
LOOK_AGAIN_AFTER_S = 0.02
PAUSE_AFTER_ERROR_S = 2.0
SPARE_S = 15.0
"""By how much the lease is longer than an event may take."""


LEDGER_AWAY = (
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.OperatorInterventionError,
    asyncpg.TransactionRollbackError,
    asyncpg.InterfaceError,
)


class LostTurn(Exception):
    """Somebody else has the partition."""


class Consumer(Part):
    def __init__(self, handler: Handler, *, ledger: Ledger, listener: Listener) -> None:
        self.name = f"consumer {handler.name}"
        self._handler = handler
        self._ledger = ledger
        self._lease_s = handler.timeout + SPARE_S
        self._woken = listener.subscribe(CHANNEL)
        self._stopping = asyncio.Event()

    async def start(self) -> None:
        async with self._ledger.connection() as connection:
            await sql.register_consumer.run(
                connection,
                name=self._handler.name,
                patterns=list(self._handler.events),
                max_attempts=self._handler.attempts,
            )

    async def run(self) -> None:
        was_busy = False
        while not self._stopping.is_set():
            self._woken.clear()
            try:
                async with self._ledger.connection() as connection:
                    ordered = await sql.order_outbox.value(connection)
                if await self._turn():
                    was_busy = True
                    continue
                if ordered or was_busy:  # whoever appended meanwhile may have woken nobody
                    was_busy = False
                    await self._pause(LOOK_AGAIN_AFTER_S)
                    continue
            except REPEATABLE as error:
                log.warning("a consumer waits for the ledger", consumer=self._handler.name, error=str(error))
                await self._pause(PAUSE_AFTER_ERROR_S)
            await self._pause(LOOK_EVERY_S)

    async def stop(self) -> None:
        self._stopping.set()
        self._woken.set()

    async def _turn(self) -> bool:
        token = uuid4()
        async with self._ledger.connection() as connection:
            rows = await sql.take_events.rows(
                connection,
                sink=self._handler.name,
                holder=token,
                lease_s=self._lease_s,
                at_most=EVENTS_A_TURN,
            )
        if not rows:
            return False
        try:
            return await self._handle_all(token, rows)
        except LostTurn:
            log.warning("a turn was lost", consumer=self._handler.name)
            return True
        except BaseException:
            async with asyncio.timeout(PAUSE_AFTER_ERROR_S), self._ledger.connection() as connection:
                await sql.release_cursors.run(connection, sink=self._handler.name, holder=token)
            raise

    async def _handle_all(self, token: UUID, rows: Sequence[Row]) -> bool:
        """Each event in order; False when one could not be handled."""
        for row in rows:
            if row["id"] is None:
                continue
            if self._stopping.is_set():
                async with self._ledger.connection() as connection:
                    await sql.release_cursors.run(connection, sink=self._handler.name, holder=token)
                return True
            try:
                await self._handle(token, row)
            except REPEATABLE as error:
                await self._fail(token, row, "away", error)  # the ledger is, not the event
                return False
            except HandlerFailed as error:
                await self._fail(token, row, "failed", error)
                return False
        async with self._ledger.connection() as connection:
            await self._advance(connection, token, rows[0], rows[0]["up_to"], done=True)
        return True

    async def _handle(self, token: UUID, row: Row) -> None:
        event = EventView(**{name: row[name] for name in EventView.__struct_fields__})
        if self._handler.takes_connection:
            async with self._ledger.transaction() as connection:
                await self._call(event, connection)
                await self._advance(connection, token, row, row["position"], done=False)
            return
        await self._call(event)
        async with self._ledger.connection() as connection:
            await self._advance(connection, token, row, row["position"], done=False)

    async def _call(self, event: EventView, *connection: Connection) -> None:
        """Whatever it raises is its own fault, but that the ledger it works in went away."""
        function = self._handler.function
        try:
            async with asyncio.timeout(self._handler.timeout) as limit:
                if self._handler.is_async:
                    await function(event, *connection)
                else:
                    await asyncio.to_thread(function, event)
        except LEDGER_AWAY as error:
            if connection:
                raise asyncpg.ConnectionDoesNotExistError(str(error)) from error
            raise HandlerFailed(f"{type(error).__name__}: {error}") from error
        except Exception as error:
            if isinstance(error, TimeoutError) and limit.expired():
                raise HandlerFailed(f"It took longer than {self._handler.timeout:g} s.") from error
            raise HandlerFailed(f"{type(error).__name__}: {error}") from error

    async def _advance(
        self, connection: Connection, token: UUID, row: Row, position: int, *, done: bool
    ) -> None:
        moved = await sql.advance_cursor.value(
            connection,
            sink=self._handler.name,
            holder=token,
            partition=row["partition"],
            position=position,
            done=done,
            lease_s=self._lease_s,
        )
        if moved is None:
            raise LostTurn

    async def _fail(self, token: UUID, row: Row, kind: str, error: Exception) -> None:
        async with self._ledger.connection() as connection:
            verdict = await sql.fail_event.value(
                connection,
                sink=self._handler.name,
                holder=token,
                partition=row["partition"],
                position=row["position"],
                event_id=row["id"],
                kind=kind,
                error=str(error),
            )
        log.warning(
            "an event was not handled",
            consumer=self._handler.name,
            event_id=str(row["id"]),
            verdict=verdict,
            error=str(error)[:200],
            exc_info=error.__cause__,
        )

    async def _pause(self, seconds: float) -> None:
        if self._stopping.is_set():
            return
        try:
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            return


class HandlerFailed(Exception):
    """What a handler did, in words of ours."""
