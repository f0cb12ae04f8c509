"""Configs: kept in the ledger under the hash of their text; copies of them for a week in the brain.

The text is what msgspec writes with the names sorted, so two configs that say the same are the same.
"""

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec
from redis.asyncio import Redis
from redis.exceptions import RedisError

from shoal.brain.limits import RateLimit, admit
from shoal.fleet.store import sql
from shoal.ledger.pool import Ledger
from shoal.runtime.errors import Invalid, NotFound, TooLarge, TooOften

LARGEST = 512 * 1024
KEPT_S = 7 * 24 * 3600
STORES = RateLimit(action="store-config", limit=120, window_ms=60_000)


def written(config: object) -> bytes:
    """Its text; raises for what is no config."""
    try:
        text = msgspec.json.encode(config, order="sorted")
    except (msgspec.MsgspecError, TypeError, OverflowError) as error:
        raise Invalid("invalid_config", f"The config cannot be written as JSON: {error}.") from error
    if len(text) > LARGEST:
        raise TooLarge(
            "config_too_large",
            f"The config has {len(text)} bytes; {LARGEST} are allowed.",
            hint="Keep large data in an artifact.",
        )
    if b"\\u0000" in text:
        raise Invalid("invalid_config", "A text in the config holds a NUL character.")
    return text


class Configs:
    def __init__(self, ledger: Ledger, client: Redis) -> None:
        self._ledger = ledger
        self._client: Any = client

    async def store(self, config: object, *, claims: Mapping[str, object] | None = None) -> tuple[str, int]:
        """Its hash and its size. ``claims`` are those of who stores it; none for the fleet itself."""
        text = written(config)
        if claims is not None:
            admission = await admit(self._client, STORES, str(claims.get("sub", "")))
            if not admission.allowed:
                raise TooOften(
                    "too_many_configs",
                    f"More than {STORES.limit} configs a minute are not taken from one user.",
                    hint=f"Try again in {admission.retry_after_s:.0f} s.",
                )
        lent = self._ledger.connection() if claims is None else self._ledger.acting_as(claims)
        async with lent as connection:
            found = await sql.store_config.value(connection, body=text.decode())
        return str(found), len(text)

    async def require(self, config_hash: str) -> None:
        """A task names it: it is there, and stays."""
        async with self._ledger.connection() as connection:
            if await sql.use_config.value(connection, hash=config_hash) is None:
                raise _unknown(config_hash)

    async def read(self, config_hash: str) -> bytes:
        """The text; from the brain, or else from the ledger."""
        key = f"config:{config_hash}"
        with suppress(RedisError):  # it is only a copy
            if (known := await self._client.get(key)) is not None and _hash(known) == config_hash:
                return bytes(known)
        async with self._ledger.connection() as connection:
            text = await sql.read_config.value(connection, hash=config_hash)
        if text is None:
            raise _unknown(config_hash)
        body = str(text).encode()
        with suppress(RedisError):
            await self._client.set(key, body, ex=KEPT_S)
        return body


def _unknown(config_hash: str) -> NotFound:
    return NotFound(
        "config_not_found", f"There is no config {config_hash}.", hint="PUT /api/configs stores one."
    )


def _hash(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()
