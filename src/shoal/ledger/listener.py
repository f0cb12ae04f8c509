"""The LISTEN hub: one connection per process that wakes whoever waits for a channel.

* A notification carries nothing; it only says "look again". Ten of them may wake a waiter once.
* After a reconnect everybody is woken, since nobody knows what was missed.
* Waiters also look again by themselves after a while, so that even a hub that cannot connect at all
  only costs time.
"""

import asyncio
import random
from typing import Any

import asyncpg
import structlog

from shoal.ledger.connection import BROKEN, UNREACHABLE, connect
from shoal.ledger.settings import LedgerSettings
from shoal.runtime.errors import ShoalError
from shoal.runtime.lifecycle import Part

log = structlog.get_logger(__name__)

FIRST_RETRY_S = 0.2
LONGEST_RETRY_S = 10.0
PING_EVERY_S = 15.0


class Listener(Part):
    name = "listener"

    def __init__(self, settings: LedgerSettings, *, application: str = "shoal") -> None:
        self._url = settings.direct_url
        self._application = application
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._stopping = asyncio.Event()
        self._connection: asyncpg.Connection[Any] | None = None
        self._lost = asyncio.Event()
        self.connected = asyncio.Event()

    def subscribe(self, channel: str) -> asyncio.Event:
        """An event that is set whenever the channel is notified, or may have been."""
        event = asyncio.Event()
        is_new = channel not in self._waiting
        self._waiting.setdefault(channel, set()).add(event)
        if is_new and self._connection is not None:
            self._lost.set()  # reconnecting listens to all channels; this happens at start only
        return event

    async def run(self) -> None:
        listening = asyncio.create_task(self._listen_for_ever())
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait({listening, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            # Whatever it is at: a server that does not answer must not hold up the end.
            for task in (listening, stopping):
                task.cancel()
            await asyncio.wait({listening})
        if not listening.cancelled():
            listening.result()

    async def stop(self) -> None:
        self._stopping.set()

    async def _listen_for_ever(self) -> None:
        delay = FIRST_RETRY_S
        while True:
            try:
                await self._listen()
                delay = FIRST_RETRY_S
            except (
                *UNREACHABLE,
                asyncpg.PostgresError,
                asyncpg.InterfaceError,
                ShoalError,
            ) as error:
                log.warning("listening interrupted", error=str(error), retry_in_s=round(delay, 1))
                await asyncio.sleep(delay * random.uniform(0.5, 1.0))  # noqa: S311 - jitter
                delay = min(delay * 2, LONGEST_RETRY_S)

    async def _listen(self) -> None:
        """Listen on one connection until it is lost."""
        self._lost.clear()
        connection = await connect(self._url, application=f"{self._application} listener")
        self._connection = connection
        connection.add_termination_listener(self._on_lost)
        try:
            for channel in list(self._waiting):
                await connection.add_listener(channel, self._on_notify)
            self.connected.set()
            for channel in self._waiting:
                self._wake(channel)
            await self._watch(connection)
        finally:
            self._connection = None
            self.connected.clear()
            await _close(connection)

    async def _watch(self, connection: "asyncpg.Connection[Any]") -> None:
        """Return when the connection is lost; ping it, since a cut wire says nothing."""
        while not self._lost.is_set():
            try:
                async with asyncio.timeout(PING_EVERY_S):
                    await self._lost.wait()
            except TimeoutError:
                await connection.execute("SELECT 1", timeout=PING_EVERY_S)

    def _on_notify(self, _connection: object, _pid: int, channel: str, _payload: object) -> None:
        self._wake(channel)

    def _on_lost(self, _connection: object) -> None:
        self._lost.set()

    def _wake(self, channel: str) -> None:
        for event in self._waiting.get(channel, ()):
            event.set()


async def _close(connection: "asyncpg.Connection[Any]") -> None:
    try:
        await connection.close(timeout=2)
    except (*UNREACHABLE, *BROKEN):
        connection.terminate()
