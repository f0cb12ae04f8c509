"""Rate limits of the REST API: buckets with their headers, and answers of 429."""

import re
import time
from dataclasses import dataclass, field

from aiohttp import web

from .payloads import Json, said

Limit = tuple[int, float]
USUAL: Limit = (50, 1.0)


@dataclass
class Bucket:
    limit: int
    window_s: float
    used: int = 0
    ends_at: float = 0.0


@dataclass
class _Forced:
    where: re.Pattern[str]
    retry_after_s: float
    is_global: bool
    times: int


@dataclass
class Limits:
    by_route: dict[str, Limit] = field(default_factory=dict)
    """Of a route, how many requests in how many seconds."""
    refused: list[str] = field(default_factory=list)
    overrun: list[str] = field(default_factory=list)
    """Requests that came although the headers had said that nothing is left."""
    _buckets: dict[str, Bucket] = field(default_factory=dict)
    _forced: list[_Forced] = field(default_factory=list)

    def refuse(self, where: str, *, retry_after_s: float, is_global: bool = False, times: int = 1) -> None:
        """The next requests whose method and path match get a 429, whatever is left."""
        self._forced.append(_Forced(re.compile(where), retry_after_s, is_global, times))

    def check(
        self, method: str, path: str, *, route: str, major: str
    ) -> tuple[web.Response | None, dict[str, str]]:
        """A refusal, or the headers for the answer."""
        for forced in self._forced:
            if forced.times and forced.where.search(f"{method} {path}"):
                forced.times -= 1
                self.refused.append(f"{method} {path}")
                return _refusal(forced.retry_after_s, {}, is_global=forced.is_global), {}
        limit, window_s = self.by_route.get(route, USUAL)
        now = time.time()
        bucket = self._buckets.setdefault(f"{route} {major}", Bucket(limit, window_s))
        if now >= bucket.ends_at:
            bucket.used, bucket.ends_at = 0, now + bucket.window_s
        bucket.used += 1
        headers = {
            "X-RateLimit-Limit": str(bucket.limit),
            "X-RateLimit-Remaining": str(max(0, bucket.limit - bucket.used)),
            "X-RateLimit-Reset": f"{bucket.ends_at:.3f}",
            "X-RateLimit-Reset-After": f"{max(0.0, bucket.ends_at - now):.3f}",
            "X-RateLimit-Bucket": f"{abs(hash(route)):x}",
        }
        if bucket.used > bucket.limit:
            self.overrun.append(f"{method} {path}")
            return _refusal(bucket.ends_at - now, headers, is_global=False), headers
        return None, headers


def _refusal(retry_after_s: float, headers: dict[str, str], *, is_global: bool) -> web.Response:
    body: Json = {
        "message": "You are being rate limited.",
        "retry_after": round(retry_after_s, 3),
        "global": is_global,
    }
    scope = "global" if is_global else "user"
    told = {**headers, "Retry-After": str(int(retry_after_s) + 1), "X-RateLimit-Scope": scope}
    if is_global:
        told["X-RateLimit-Global"] = "true"
    # Without Via it would not be Discord's own refusal but that of the network in front of it.
    return said(body, status=429, headers={**told, "Via": "1.1 google"})
