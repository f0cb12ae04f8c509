"""What every request goes through, whatever answers it: id, log line, metrics, security headers."""

import re
import time
from typing import Any
from uuid import uuid4

import structlog
from litestar.enums import ScopeType
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from shoal.api.metrics import UNMATCHED, RequestMetrics
from shoal.runtime.logs import bound
from shoal.runtime.traces import span

log = structlog.get_logger(__name__)

REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")

# An answer that sets one of these itself keeps its own.
SECURITY_HEADERS = {
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
    b"content-security-policy": b"default-src 'none'; frame-ancestors 'none'",
    b"cache-control": b"no-store",
}


class Edge:
    def __init__(self, app: ASGIApp, metrics: RequestMetrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            await self._app(scope, receive, send)
            return
        request_id = _request_id(scope)
        asked: Any = scope
        asked["asked_path"] = scope["path"]  # routing rewrites "path"
        status = 500
        began = time.perf_counter()

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = _completed(message["headers"], request_id)
            await send(message)

        with bound(request_id=request_id), span("http request", method=scope["method"], path=scope["path"]):
            try:
                await self._app(scope, receive, send_with_headers)
            finally:
                self._note(scope, status, time.perf_counter() - began)

    def _note(self, scope: Any, status: int, seconds: float) -> None:
        route = scope.get("path_template", UNMATCHED)
        self._metrics.observe(scope["method"], route, status, seconds)
        log.debug(
            "request",
            method=scope["method"],
            path=scope["asked_path"],
            status=status,
            ms=round(seconds * 1000, 1),
        )


def _request_id(scope: Any) -> str:
    """The caller's own id when it is harmless, so that logs of several systems can be joined."""
    for name, value in scope["headers"]:
        if name == b"x-request-id" and REQUEST_ID.fullmatch(value):
            return str(value.decode())
    return uuid4().hex


def _completed(headers: Any, request_id: str) -> list[tuple[bytes, bytes]]:
    given = list(headers)
    names = {name.lower() for name, _ in given}
    missing = [(name, value) for name, value in SECURITY_HEADERS.items() if name not in names]
    return [*given, *missing, (b"x-request-id", request_id.encode())]
