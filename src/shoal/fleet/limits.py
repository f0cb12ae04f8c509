"""How often nodes may hand in results and connect.

Results: 100 a second for each node. A sentinel counts by itself, and asks the brain, which counts for all
sentinels, only about a node that hands in more than a fifth of that here: so the usual node costs no call,
and none gets further than one sentinel's fifth beyond the limit.
"""

import time
from ipaddress import ip_address

from redis.asyncio import Redis

from shoal.brain.limits import RateLimit, admit
from shoal.runtime.errors import TooOften

PER_SECOND = 100
UNASKED = PER_SECOND // 5
MOST_COUNTED = 50_000

completions_of_a_node = RateLimit(action="publish", limit=PER_SECOND, window_ms=1000)


class CompletionLimit:
    def __init__(self, client: Redis) -> None:
        self._client = client
        self._second = 0
        self._counts: dict[str, int] = {}

    async def allows(self, node_id: str) -> bool:
        second = int(time.monotonic())
        if second != self._second or len(self._counts) > MOST_COUNTED:
            self._second, self._counts = second, {}
        count = self._counts[node_id] = self._counts.get(node_id, 0) + 1
        if count <= UNASKED:
            return True
        return (await admit(self._client, completions_of_a_node, node_id)).allowed


class ConnectionLimit:
    """So many connections a minute from one address; 0 is any number. From this machine, always."""

    def __init__(self, client: Redis, *, per_minute: int) -> None:
        self._client = client
        self._limit = (
            RateLimit(action="connect", limit=per_minute, window_ms=60_000) if per_minute > 0 else None
        )

    async def require(self, address: str) -> None:
        if self._limit is None or is_loopback(address):
            return
        admission = await admit(self._client, self._limit, address)
        if not admission.allowed:
            raise TooOften(
                "too_many_connections",
                f"There were more than {self._limit.limit} connections a minute from {address}.",
                hint=f"Try again in {admission.retry_after_s:.0f} s.",
            )


class LocalConnectionLimit:
    """The same for the websockets of one process, asked where nothing can be waited for."""

    def __init__(self, *, per_minute: int) -> None:
        self._per_minute = per_minute
        self._moments: dict[str, list[float]] = {}

    def allows(self, address: str) -> bool:
        if self._per_minute <= 0 or is_loopback(address):
            return True
        now = time.monotonic()
        if len(self._moments) > MOST_COUNTED:
            self._moments = {one: at for one, at in self._moments.items() if at[-1] > now - 60}
        recent = [at for at in self._moments.get(address, ()) if at > now - 60]
        if len(recent) >= self._per_minute:
            self._moments[address] = recent
            return False
        self._moments[address] = [*recent, now]
        return True


def is_loopback(address: str) -> bool:
    """Also a path of a local socket, and what has no address at all."""
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return not address or address.startswith("/")
