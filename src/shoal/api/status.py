"""``GET /status``: what can be reached, and how much is going on.

The answer is 200 when requests can be served and 503 when something they need cannot be reached, with the
same body, so that a load balancer needs to know nothing but the number. A beacon that is away is degraded
and still 200: live messages are hints, and all sentinels would be taken out at once. Everybody who asks while
one look is under way shares it: asking often costs the database nothing.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
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
ONLY_HINTS = "centrifugo"


@dataclass(frozen=True)
class Look:
    status: Status
    can_serve: bool


class StatusDesk:
    def __init__(self, checks: Mapping[str, Check], read_metrics: ReadMetrics) -> None:
        if unknown := set(checks) - set(PARTS):
            raise ValueError(f"/status has no place for {sorted(unknown)}")
        self._checks = checks
        self._read_metrics = read_metrics
        self._looking: asyncio.Task[Look] | None = None

    async def read(self) -> Look:
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        return await asyncio.shield(self._looking)

    async def read_status(self) -> Status:
        return (await self.read()).status

    async def _look(self) -> Look:
        states, metrics = await asyncio.gather(check_all(self._checks), self._metrics())
        parts: dict[str, PartState] = {name: states.get(name, "disabled") for name in PARTS}
        health: Literal["healthy", "degraded"] = "healthy"
        if metrics is None or "disconnected" in parts.values():
            health = "degraded"
        needed = [state for name, state in parts.items() if name != ONLY_HINTS]
        return Look(
            Status(status=health, metrics=metrics or StatusMetrics(), **parts),
            can_serve=metrics is not None and "disconnected" not in needed,
        )

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
        description="The status is 503 instead of 200 when something is disconnected that requests need. "
        "That is everything but the beacon, which carries hints alone.",
        tags=["Operation"],
        responses={
            503: ResponseSpec(Status, generate_examples=False, description="Something is disconnected")
        },
    )
    async def read_status() -> Response[Status]:
        look = await desk.read()
        return Response(look.status, status_code=200 if look.can_serve else 503)

    return read_status
