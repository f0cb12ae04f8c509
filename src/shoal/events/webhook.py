"""Webhooks: one signed POST for each event, in the order of its partition.

Where a name leads is looked up for each connection and checked address by address, and the connection goes
to the address that was checked: a name that changes its mind in between leads nowhere else. Redirects are
not followed, answers are not read beyond a few words for the error.
"""

import asyncio
import time
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import msgspec
from aiohttp.abc import AbstractResolver, ResolveResult

from shoal.events.model import Event, Failure, Told, Turn
from shoal.events.rules import Network, may_reach, meaning_of_status, signature
from shoal.events.store import view_of

PARTITIONS_AT_ONCE = 8
SHOWN = 300


class NotAllowed(OSError):
    """The name leads to an address that webhooks may not reach."""


class Webhook:
    def __init__(self, url: str, secret: str, *, networks: Sequence[Network], timeout_s: float) -> None:
        self._url = url
        self._secret = secret
        self._timeout_s = timeout_s
        self._is_encrypted = urlsplit(url).scheme == "https"
        self._networks = networks
        self._session: aiohttp.ClientSession | None = None

    async def tell(self, turns: Sequence[Turn], *, until: float) -> Sequence[Told]:
        room = asyncio.Semaphore(PARTITIONS_AT_ONCE)

        async def one(turn: Turn) -> Told:
            async with room:
                return await self._tell_turn(turn, until)

        return await asyncio.gather(*(one(turn) for turn in turns))

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def _tell_turn(self, turn: Turn, until: float) -> Told:
        for count, event in enumerate(turn.events):
            left_s = until - time.monotonic()
            if left_s <= 0:
                return Told(count)
            failure = await self._post(event, min(left_s, self._timeout_s))
            if failure is not None:
                return Told(count, failure)
        return Told(len(turn.events))

    async def _post(self, event: Event, timeout_s: float) -> Failure | None:
        body = msgspec.json.encode(view_of(event))
        now = int(time.time())
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "shoal",
            "webhook-id": str(event.id),
            "webhook-timestamp": str(now),
            "webhook-signature": signature(self._secret, str(event.id), now, body),
        }
        try:
            self._refuse_literal()
            return await self._answer(body, headers, timeout_s)
        except (aiohttp.ClientError, OSError) as error:
            return _meaning(error, timeout_s)

    async def _answer(self, body: bytes, headers: dict[str, str], timeout_s: float) -> Failure | None:
        async with self._opened().post(
            self._url,
            data=body,
            headers=headers,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=timeout_s),
        ) as answer:
            kind = meaning_of_status(answer.status)
            if kind is None:
                return None
            said = (await answer.content.read(SHOWN)).decode("utf-8", "replace")
            return Failure(kind, f"It answered {answer.status}: {said}")

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            resolver = CheckedResolver(self._networks, is_encrypted=self._is_encrypted)
            connector = aiohttp.TCPConnector(resolver=resolver, use_dns_cache=False, limit=PARTITIONS_AT_ONCE)
            self._session = aiohttp.ClientSession(connector=connector, auto_decompress=False)
        return self._session

    def _refuse_literal(self) -> None:
        """An address in the URL itself is not looked up, so the resolver does not see it."""
        host = urlsplit(self._url).hostname or ""
        try:
            address = ip_address(host)
        except ValueError:
            return
        if not may_reach(address, self._networks, is_encrypted=self._is_encrypted):
            raise NotAllowed(f"Webhooks may not reach {host}.")


def _meaning(error: Exception, timeout_s: float) -> Failure:
    for one in (error, error.__cause__):
        if isinstance(one, NotAllowed):
            return Failure("failed", str(one))
    if isinstance(error, aiohttp.InvalidURL):
        return Failure("failed", f"The URL is not valid: {error}")
    if isinstance(error, TimeoutError):
        return Failure("away", f"It did not answer within {timeout_s:.0f} s.")
    return Failure("away", str(error) or type(error).__name__)


class CheckedResolver(AbstractResolver):
    """Leaves out of what a name means the addresses that webhooks may not reach."""

    def __init__(self, networks: Sequence[Network], *, is_encrypted: bool) -> None:
        self._names = aiohttp.ThreadedResolver()
        self._networks = networks
        self._is_encrypted = is_encrypted

    async def resolve(self, host: str, port: int = 0, family: Any = 0) -> list[ResolveResult]:
        found = await self._names.resolve(host, port, family)
        allowed = [
            one
            for one in found
            if may_reach(ip_address(one["host"]), self._networks, is_encrypted=self._is_encrypted)
        ]
        if not allowed:
            raise NotAllowed(f"Webhooks may not reach {host} ({found[0]['host']}).")
        return allowed

    async def close(self) -> None:
        await self._names.close()
