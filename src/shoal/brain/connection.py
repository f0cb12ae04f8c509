"""The connection to the brain: one pool, checked once at the start."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

import hiredis
from redis.asyncio import BlockingConnectionPool, ConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel, SentinelConnectionPool
from redis.backoff import ExponentialWithJitterBackoff, NoBackoff
from redis.exceptions import (
    AuthenticationError,
    ConnectionError,  # noqa: A004 - the name that Redis errors have
    NoPermissionError,
    ReadOnlyError,
    RedisError,
    TimeoutError,  # noqa: A004
)
from redis.maint_notifications import MaintNotificationsConfig

from shoal.brain.address import Address, SentinelAddress, parse_address
from shoal.brain.settings import BrainSettings
from shoal.runtime.errors import Invalid, ShoalError, Unavailable
from shoal.runtime.lifecycle import Part

OLDEST_MAJOR = 7
MAX_CONNECTIONS = 64
"""Calls beyond this many at once wait for a connection; batches carry what is more."""


AWAY = (ConnectionError, TimeoutError, ReadOnlyError, OSError)
AWAY_WORDS = re.compile(r"\b(NOREPLICAS|MASTERDOWN|LOADING|READONLY|MISCONF) ")
"""In answers of a server; a script or a pipeline puts its own words before them."""


def is_away(error: BaseException) -> bool:
    """Whether the brain could not answer now and will later: it is down, loading, or no master (yet)."""
    return isinstance(error, AWAY) or (
        isinstance(error, RedisError) and AWAY_WORDS.search(str(error)) is not None
    )


class Brain(Part):
    """``client`` exists from the beginning and connects when it is first used.

    Answers are bytes: results, bitmaps and tokens are not text.
    """

    name = "brain"

    def __init__(self, settings: BrainSettings) -> None:
        self._address = parse_address(settings.redis_url)
        self._sentinel: Sentinel | None = None
        if self._address.sentinel is not None:
            self._sentinel = _sentinel(self._address.sentinel)
            self.client = _master(self._sentinel, self._address.sentinel)
        else:
            self.client = _server(self._address)

    async def start(self) -> None:
        try:
            about = await self.client.info("server")
        except (RedisError, OSError) as error:
            raise _explained(error, self._address) from error
        _check_version(about)

    async def stop(self) -> None:
        await self.client.aclose()
        if self._sentinel is not None:
            await self._sentinel.aclose()

    async def check(self) -> None:
        try:
            await self.client.ping()
        except (RedisError, OSError) as error:
            raise _explained(error, self._address) from error


class _WaitingSentinelPool(SentinelConnectionPool, BlockingConnectionPool):
    """A sentinel's pool that lets callers wait for a connection, instead of failing them."""


def _options() -> dict[str, Any]:
    return {
        "max_connections": MAX_CONNECTIONS,
        "timeout": 20,
        "socket_connect_timeout": 2,
        "socket_timeout": 5,
        "retry": Retry(ExponentialWithJitterBackoff(base=0.05, cap=0.5), 3),
        # A service of Redis Enterprise only; asking costs a round trip per connection.
        "maint_notifications_config": MaintNotificationsConfig(enabled=False),
    }


class _PackingInC:
    """By itself redis-py does that in Python, and a batch of a hundred chunks has a thousand words."""

    def pack_command(self, *args: Any) -> list[bytes]:
        name, *rest = args  # 'SCRIPT LOAD' are two words
        return [hiredis.pack_command((*name.split(), *rest))]


def _packing_in_c(pool: ConnectionPool) -> None:
    kind = pool.connection_class
    pool.connection_class = type(f"Fast{kind.__name__}", (_PackingInC, kind), {})


def _server(address: Address) -> Redis:
    pool = BlockingConnectionPool.from_url(address.url, **_options())
    _packing_in_c(pool)
    return Redis.from_pool(pool)


def _sentinel(address: SentinelAddress) -> Sentinel:
    # A sentinel that does not answer is not asked again: the next one is.
    impatient = {
        "socket_connect_timeout": 2,
        "socket_timeout": 2,
        "retry": Retry(NoBackoff(), 0),
    }
    # redis-py has no annotations on Sentinel.
    return Sentinel(address.hosts, sentinel_kwargs=impatient)  # type: ignore[no-untyped-call]


def _master(sentinel: Sentinel, address: SentinelAddress) -> Redis:
    client = sentinel.master_for(
        address.master,
        connection_pool_class=_WaitingSentinelPool,
        db=address.db,
        username=address.username,
        password=address.password,
        **_options(),
    )
    _packing_in_c(client.connection_pool)
    return cast("Redis", client)


def _check_version(about: Mapping[str, object]) -> None:
    # Valkey says which Redis it is compatible with, and that is 7.2 for all of its versions.
    version = str(about.get("redis_version", ""))
    major = re.match(r"\d+", version)
    if "valkey_version" not in about and (major is None or int(major[0]) < OLDEST_MAJOR):
        raise Invalid(
            "redis_too_old",
            f"The Redis server has version {version or 'unknown'}; Shoal needs {OLDEST_MAJOR} or newer.",
            hint="Upgrade it, or use Valkey.",
        )


def _explained(error: Exception, address: Address) -> ShoalError:
    if any(isinstance(cause, AuthenticationError | NoPermissionError) for cause in _causes(error)):
        return Invalid(
            "redis_refused",
            f"The Redis server at {address.shown} refuses the user or the password.",
            hint="Check both in SHOAL_REDIS_URL; the user needs INFO, PING and scripting.",
        )
    return Unavailable(
        "redis_unreachable",
        f"The Redis server at {address.shown} does not answer ({type(error).__name__}).",
        hint="Check that it runs and that SHOAL_REDIS_URL is right.",
    )


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error and what led to it: redis-py wraps what goes wrong while it connects."""
    while error is not None:
        yield error
        error = error.__cause__
