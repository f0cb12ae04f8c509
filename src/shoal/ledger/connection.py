"""One connection: how it is opened, what types it speaks, and what its failures mean to people."""

import asyncio
from typing import TYPE_CHECKING, Any, TypeAlias

import asyncpg
import msgspec

from shoal.ledger.address import check_address, malformed, shown
from shoal.runtime.errors import Invalid, ShoalError, Unavailable

if TYPE_CHECKING:
    from asyncpg.pool import PoolConnectionProxy

    Connection: TypeAlias = asyncpg.Connection[Any] | PoolConnectionProxy[Any]
    Row: TypeAlias = asyncpg.Record
else:
    Connection = Row = Any

CONNECT_TIMEOUT_S = 10.0
OLDEST_SERVER = 15

# What passes by itself: the server is away, restarting, or ended our connection.
UNREACHABLE = (
    OSError,
    TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.OperatorInterventionError,
    asyncpg.TooManyConnectionsError,
    Unavailable,
)

# What a new connection fails with when the server goes away before it is ready: its last words have been
# read, and the end of the connection has not.
LOST_ON_THE_WAY = (*UNREACHABLE, asyncpg.InternalClientError)

# What passes when the same transaction is tried again: a deadlock, a serialization failure.
REPEATABLE = (*UNREACHABLE, asyncpg.TransactionRollbackError)

# What asyncpg raises for a connection that was cut just before the call (and for some mistakes of ours).
BROKEN = (asyncpg.InterfaceError, asyncpg.InternalClientError)


async def connect(url: str, *, application: str) -> "asyncpg.Connection[Any]":
    """Open one connection of the caller's own, who closes it. Without a cache it works through a pooler."""
    require_url(url)
    try:
        connection = await asyncpg.connect(
            url,
            timeout=CONNECT_TIMEOUT_S,
            statement_cache_size=0,
            server_settings={"application_name": application},
        )
    except Exception as error:
        raise explain(error, url) from error
    try:
        await prepare(connection)
    except BaseException as error:
        connection.terminate()
        if isinstance(error, LOST_ON_THE_WAY):
            raise explain(error, url) from error
        raise
    return connection


async def is_pooled(connection: Connection) -> bool:
    """Whether a pooler stands in between: it greets with a process id that is not the server's.

    Behind a transaction pooler, a statement that is prepared on one connection is run on another.
    """
    return bool(connection.get_server_pid() != await connection.fetchval("SELECT pg_backend_pid()"))


def require_url(url: str) -> None:
    if not url:
        raise Invalid(
            "database_not_configured",
            "No database is configured.",
            hint="Set SHOAL_DATABASE_URL, or start everything on this machine with 'shoal up'.",
        )
    check_address(url)


async def prepare(connection: "asyncpg.Connection[Any]") -> None:
    """Refuse a server that is too old, and speak jsonb as Python values."""
    if connection.get_server_version().major < OLDEST_SERVER:
        raise Invalid(
            "database_too_old",
            f"The database is PostgreSQL {connection.get_server_version().major}; "
            f"Shoal needs {OLDEST_SERVER} or newer.",
            hint="Upgrade the server, or point SHOAL_DATABASE_URL at a newer one.",
        )
    await connection.set_type_codec(
        "jsonb",
        schema="pg_catalog",
        encoder=lambda value: msgspec.json.encode(value).decode(),
        decoder=msgspec.json.decode,
    )


def explain(error: Exception, url: str) -> Exception:
    """What a failed connection attempt means, without the password; other errors stay as they are."""
    if isinstance(error, ShoalError):
        return error
    if isinstance(error, LOST_ON_THE_WAY):
        return Unavailable(
            "database_unreachable",
            f"The database at {shown(url)} cannot be reached: {_reason(error)}.",
            hint="Is it running, and is SHOAL_DATABASE_URL right? 'shoal doctor' looks closer.",
        )
    if isinstance(error, asyncpg.InvalidAuthorizationSpecificationError):
        return Invalid(
            "database_refused_login",
            f"The database at {shown(url)} refused the login: {error}.",
            hint="Check user and password in SHOAL_DATABASE_URL.",
        )
    if isinstance(error, asyncpg.InvalidCatalogNameError):
        return Invalid(
            "database_missing",
            f"The server at {shown(url)} has no such database: {error}.",
            hint="Create it, or correct SHOAL_DATABASE_URL.",
        )
    if isinstance(error, ValueError):
        is_told = isinstance(error, asyncpg.exceptions.ClientConfigurationError)
        return malformed(str(error) if is_told else "its host, port or options are malformed")
    return error


def _reason(error: Exception) -> str:
    if isinstance(error, (TimeoutError, asyncio.TimeoutError)):
        return f"no answer within {CONNECT_TIMEOUT_S:.0f} s"
    return str(error) or type(error).__name__
