"""Requests counted and timed, and ``GET /metrics``.

Labels come from our own routes and a fixed list of methods, never from what was sent: a stranger who
asks for a million addresses must not make a million series.
"""

from collections.abc import Awaitable, Callable, Sequence

from litestar import Response, get
from litestar.handlers import HTTPRouteHandler
from prometheus_client import CollectorRegistry, Counter, Histogram

from shoal.runtime.metrics import CONTENT_TYPE, exposition

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
UNMATCHED = "unmatched"


class RequestMetrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        self._requests = Counter(
            "sentinel_http_requests_total",
            "Requests answered.",
            ("method", "route", "status"),
            registry=registry,
        )
        self._seconds = Histogram(
            "sentinel_http_request_seconds",
            "From the head of a request to the end of its answer.",
            ("method", "route"),
            registry=registry,
        )

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        known = method if method in METHODS else "other"
        self._requests.labels(known, route, str(status)).inc()
        self._seconds.labels(known, route).observe(seconds)


def metrics_handler(
    registry: CollectorRegistry, *, before: Sequence[Callable[[], Awaitable[None]]]
) -> HTTPRouteHandler:
    """``before`` brings up to date what is not counted but looked up."""

    @get(
        "/metrics",
        summary="Everything that is counted here, for Prometheus",
        tags=["Operation"],
        media_type="text/plain",
    )
    async def read_metrics() -> Response[bytes]:
        for refresh in before:
            await refresh()
        return Response(exposition(registry), headers={"Content-Type": CONTENT_TYPE})

    return read_metrics
