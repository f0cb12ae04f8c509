"""``GET /status``: what can be reached, and how much is going on.

The answer is 200 when everything that is configured can be reached and 503 when something cannot, with
the same body, so that a load balancer needs to know nothing but the number. Everybody who asks while
one look is under way shares it: asking often costs the database nothing.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Literal

import structlog
from litestar import HttpMethod, Response, route
from litestar.handlers import HTTPRouteHandler
from litestar.openapi.datastructures import ResponseSpec

from shoal.runtime.health import TIMEOUT_S, Check, check_all
from shoal.wire.status import PartState, Status, StatusMetrics

log = structlog.get_logger(__name__)

ReadMetrics = Callable[[], Awaitable[StatusMetrics]]

PARTS = ("redis", "centrifugo", "supabase", "vault")


class StatusDesk:
    def __init__(self, checks: Mapping[str, Check], read_metrics: ReadMetrics) -> None:
        if unknown := set(checks) - set(PARTS):
            raise ValueError(f"/status has no place for {sorted(unknown)}")
        self._checks = checks
        self._read_metrics = read_metrics
        self._looking: asyncio.Task[Status] | None = None

    async def read(self) -> Status:
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        return await asyncio.shield(self._looking)

    async def _look(self) -> Status:
        states, metrics = await asyncio.gather(check_all(self._checks), self._metrics())
        parts: dict[str, PartState] = {name: states.get(name, "disabled") for name in PARTS}
        health: Literal["healthy", "degraded"] = "healthy"
        if metrics is None or "disconnected" in parts.values():
            health = "degraded"
        return Status(status=health, metrics=metrics or StatusMetrics(), **parts)

    async def _metrics(self) -> StatusMetrics | None:
        """None when they cannot be read; the page then shows zeros and is degraded."""
        try:
            async with asyncio.timeout(TIMEOUT_S):
                return await self._read_metrics()
        except Exception as error:  # noqa: BLE001 - whatever it was, there are no numbers
            log.warning("status metrics not read", error=str(error) or repr(error))
            return None


def status_handler(desk: StatusDesk) -> HTTPRouteHandler:
    @route(
        "/status",
        http_method=[HttpMethod.GET, HttpMethod.HEAD],
        summary="Whether everything this process depends on can be reached",
        description="The status is 503 instead of 200 when something is disconnected.",
        tags=["Operation"],
        responses={
            503: ResponseSpec(Status, generate_examples=False, description="Something is disconnected")
        },
    )
    async def read_status() -> Response[Status]:
        status = await desk.read()
        return Response(status, status_code=200 if status.status == "healthy" else 503)

    return read_status
