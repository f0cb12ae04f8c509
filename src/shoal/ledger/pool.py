"""The pool of one process, and the two ways to use it: as the service, or as a user."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import msgspec

from shoal.ledger.connection import (
    BROKEN,
    CONNECT_TIMEOUT_S,
    LOST_ON_THE_WAY,
    Connection,
    connect,
    explain,
    is_pooled,
    prepare,
)
from shoal.ledger.settings import LedgerSettings
from shoal.runtime.errors import Forbidden
from shoal.runtime.lifecycle import Part
from shoal.runtime.refusals import translate

CLOSE_TIMEOUT_S = 5.0
PREPARED_STATEMENTS = 100

ACTING_ROLES = ("authenticated", "service_role")
ACT_AS = "SELECT set_config('role', $1, true), set_config('request.jwt.claims', $2, true)"


async def leave_as_it_is(_: Connection) -> None:
    """Nothing to undo when a connection goes back: whatever we set ends with its transaction."""


class Ledger(Part):
    name = "ledger"

    def __init__(self, settings: LedgerSettings, *, application: str = "shoal") -> None:
        self._settings = settings
        self._application = application
        self._pool: asyncpg.Pool[Any] | None = None

    async def start(self) -> None:
        can_prepare = not await self._is_pooled()
        try:
            self._pool = await asyncpg.create_pool(
                self._settings.database_url,
                min_size=1,
                max_size=self._settings.database_pool_size,
                timeout=CONNECT_TIMEOUT_S,
                init=prepare,
                reset=leave_as_it_is,
                statement_cache_size=PREPARED_STATEMENTS if can_prepare else 0,
                server_settings={"application_name": self._application},
            )
        except Exception as error:
            raise explain(error, self._settings.database_url) from error

    async def _is_pooled(self) -> bool:
        probe = await connect(self._settings.database_url, application=self._application)
        try:
            return await is_pooled(probe)
        finally:
            await probe.close(timeout=CLOSE_TIMEOUT_S)

    async def stop(self) -> None:
        pool, self._pool = self._pool, None
        if pool is None:
            return
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await pool.close()
        except TimeoutError:
            pool.terminate()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """A connection in autocommit, as the service. Refusals of our own SQL leave as ShoalErrors."""
        if self._pool is None:
            raise RuntimeError("the ledger is not started")
        try:
            borrowed = await self._pool.acquire()
        except LOST_ON_THE_WAY as error:
            raise explain(error, self._settings.database_url) from error
        try:
            yield borrowed
        except asyncpg.PostgresError as error:
            if refusal := translate(error):
                raise refusal from error
            raise
        except BROKEN as error:
            if _is_cut(borrowed):
                raise asyncpg.ConnectionDoesNotExistError(str(error)) from error
            raise
        finally:
            await self._pool.release(borrowed)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """A transaction as the service: it sees and may do everything."""
        async with self.connection() as connection, connection.transaction():
            yield connection

    @asynccontextmanager
    async def acting_as(self, claims: Mapping[str, object]) -> AsyncIterator[Connection]:
        """A transaction as whoever the claims describe: the policies decide what it sees and may do."""
        role = claims.get("role")
        if role not in ACTING_ROLES:
            raise Forbidden(
                "role_not_allowed",
                "This key may not do that.",
                hint="Use a user's token or a service's key.",
            )
        async with self.transaction() as connection:
            await connection.execute(ACT_AS, role, msgspec.json.encode(claims).decode())
            yield connection

    async def check(self) -> None:
        async with self.connection() as connection:
            await connection.execute("SELECT 1")


def _is_cut(borrowed: Connection) -> bool:
    """Whether the connection ended under its borrower; the pool may have taken it back already."""
    try:
        return borrowed.is_closed()
    except asyncpg.InterfaceError:
        return True
