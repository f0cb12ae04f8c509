"""The node: who it is there, its connection, and its end.

It goes on through everything but being refused: a sentinel that is away, a connection that is lost, an
address that has changed.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import centrifuge  # type: ignore[import-untyped]  # it has annotations and no py.typed
import structlog

from shoal.node.connection import Connection
from shoal.node.door import Door
from shoal.node.duties import Duties
from shoal.node.rules import random_pause_s
from shoal.node.settings import NodeSettings
from shoal.node.tasks import TaskBag
from shoal.runtime.errors import Forbidden, ShoalError
from shoal.runtime.lifecycle import Part
from shoal.wire.fleet import NodeToken, Registered

log = structlog.get_logger(__name__)

LIVED_WELL_S = 30.0
UNKNOWN = "node_unknown"

Answer = TypeVar("Answer")


class NodeAgent(Part):
    """``on_registered`` hears who the node is there, every time that it asks.

    ``drain_s`` is how long what runs may go on once the node is told to stop.
    """

    name = "node"

    def __init__(
        self,
        settings: NodeSettings,
        door: Door,
        duties: Duties,
        *,
        drain_s: float,
        on_registered: Callable[[Registered], Awaitable[None]],
    ) -> None:
        self._settings = settings
        self._door = door
        self._duties = duties
        self._drain_s = drain_s
        self._on_registered = on_registered
        self._over = asyncio.Event()
        """The connection has ended for good, or is to be made elsewhere."""
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        tasks = TaskBag()
        self._duties.begin(tasks)
        work = tasks.spawn(self._work())
        stopping = asyncio.create_task(self._stopping.wait())
        ends: set[asyncio.Future[Any]] = {work, stopping, tasks.failure}
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if tasks.failure.done():
                tasks.failure.result()
            await self._duties.drain(self._drain_s)
        finally:
            stopping.cancel()
            await self._duties.leave()
            await tasks.end()
            await self._door.close()

    async def stop(self) -> None:
        self._stopping.set()

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        await self._insisted(self._register)
        failures = 0
        while True:
            token = await self._insisted(self._issue_token)
            began = loop.time()
            await self._stay(token)
            failures = 0 if loop.time() - began > LIVED_WELL_S else failures + 1
            await asyncio.sleep(random_pause_s(failures))

    async def _insisted(self, ask: Callable[[], Awaitable[Answer]]) -> Answer:
        """The answer, however long that takes. Only a clear no is the end."""
        failures = 0
        while True:
            try:
                return await ask()
            except Forbidden:
                raise
            except ShoalError as error:
                failures += 1
                pause = random_pause_s(failures)
                log.warning("not let in yet", code=error.code, why=str(error), again_in_s=round(pause, 1))
                await asyncio.sleep(pause)

    async def _register(self) -> None:
        registered = await self._door.register(self._settings.name)
        log.info("node registered", node=registered.id, claimed=registered.claim_code is None)
        await self._on_registered(registered)

    async def _issue_token(self) -> NodeToken:
        try:
            return await self._door.issue_token()
        except ShoalError as error:
            if error.code != UNKNOWN:
                raise
        await self._register()  # the ledger has been made anew
        return await self._door.issue_token()

    async def _stay(self, first: NodeToken) -> None:
        """Connect, and work until the connection is over."""

        async def get_token() -> str:
            try:
                token = await self._issue_token()
            except Forbidden as error:  # the connection ends by this, and then the node
                raise centrifuge.UnauthorizedError(error.code) from error
            if token.url != first.url:
                self._over.set()
            return token.jwt

        self._over.clear()
        url = self._settings.node_beacon_url or first.url
        connection = Connection(url, token=first.jwt, get_token=get_token, listener=self)
        self._duties.use(connection)
        try:
            await connection.open()
            await self._over.wait()
        finally:
            self._duties.interrupted()
            await connection.close()

    # What the connection tells

    def on_connected(self) -> None:
        log.info("node connected")
        self._duties.connected()

    def on_interrupted(self, reason: str) -> None:
        log.warning("connection lost", reason=reason)
        self._duties.interrupted()

    def on_push(self, data: Any) -> None:
        self._duties.pushed(data)

    def on_ended(self, code: int, reason: str) -> None:
        log.warning("connection ended", code=code, reason=reason)
        self._duties.interrupted()
        self._over.set()
