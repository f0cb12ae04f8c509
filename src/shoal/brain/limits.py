"""Rate limits, counted on the server's clock and shared by every process that asks."""

import msgspec
from redis.asyncio import Redis

from shoal.brain import keys
from shoal.brain.scripts import load_scripts

_scripts = load_scripts("shoal.brain")


class RateLimit(msgspec.Struct, frozen=True, kw_only=True):
    """At most ``limit`` calls of ``action`` by one subject in any ``window_ms``.

    One counter keeps ``limit`` moments of 8 bytes each: fit for thousands, not for millions.
    """

    action: str
    limit: int
    window_ms: int

    def __post_init__(self) -> None:
        if self.limit < 1 or self.window_ms < 1:
            raise ValueError("a rate limit lets at least one call pass in at least a millisecond")
        if ":" in self.action:
            raise ValueError("an action has no colon: the key would be ambiguous")


class Admission(msgspec.Struct, frozen=True):
    """Whether the call may pass; when not, after how long the next one may."""

    allowed: bool
    retry_after_s: float


async def admit(client: Redis, limit: RateLimit, subject: str) -> Admission:
    """Count this call against ``limit``, or refuse it without counting it."""
    wait_ms = await _scripts.rate_limit(
        client,
        keys={"accepted": keys.rate_limit(limit.action, subject, limit.window_ms)},
        args={"limit": limit.limit, "window_ms": limit.window_ms},
    )
    return Admission(allowed=wait_ms == 0, retry_after_s=wait_ms / 1000)
