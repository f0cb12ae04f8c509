"""Serving the app for a test, and asking it in ways no proper client would."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID, uuid4

from litestar.types import ControllerRouterHandler
from prometheus_client import CollectorRegistry

from shoal.access.service import Access
from shoal.access.settings import AccessSettings
from shoal.access.tokens import issue_token
from shoal.api.app import build_app
from shoal.api.server import HttpServer, OpenSocket
from shoal.api.settings import ApiSettings
from shoal.ledger.pool import Ledger
from shoal.runtime.clock import SystemClock
from shoal.runtime.health import Check
from shoal.vault.store import Vault
from shoal.wire.status import StatusMetrics

SECRET = "a secret that is long enough for HS256"
DEADLINE_S = 10


@dataclass
class Api:
    server: HttpServer
    access: Access

    @property
    def url(self) -> str:
        return self.server.url

    def token(self, user: UUID | None = None) -> dict[str, str]:
        text = issue_token(SECRET, user or uuid4(), timedelta(hours=1))
        return {"Authorization": f"Bearer {text}"}

    async def raw(self, *pieces: bytes) -> bytes:
        """Send bytes as they are, and read until the server closes or says all."""
        host, _, port = self.url.removeprefix("http://").partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        answer = b""
        try:
            async with asyncio.timeout(DEADLINE_S):
                for piece in pieces:
                    writer.write(piece)
                    await writer.drain()
                while piece := await reader.read(65536):
                    answer += piece
        except ConnectionError:
            pass  # it answered and closed while we were still sending
        finally:
            writer.close()
        return answer


async def _no_metrics() -> StatusMetrics:
    return StatusMetrics()


@asynccontextmanager
async def serve(
    ledger: Ledger,
    vault: Vault,
    registry: CollectorRegistry | None = None,
    *,
    handlers: Sequence[ControllerRouterHandler] = (),
    open_handlers: Sequence[ControllerRouterHandler] = (),
    checks: Mapping[str, Check] | None = None,
    read_metrics: Callable[[], Awaitable[StatusMetrics]] = _no_metrics,
    origins: tuple[str, ...] = (),
    open_socket: OpenSocket | None = None,
) -> AsyncIterator[Api]:
    access = Access(ledger, AccessSettings(jwt_secret=SECRET), SystemClock())
    settings = ApiSettings(api_port=0, api_max_body_bytes=65536, cors_allowed_origins=origins)
    app = build_app(
        access=access,
        settings=settings,
        registry=registry or CollectorRegistry(),
        checks=checks or {"supabase": ledger.check, "vault": vault.check},
        read_metrics=read_metrics,
        vault=vault,
        clock=SystemClock(),
        handlers=handlers,
        open_handlers=open_handlers,
    )
    server = HttpServer(app, settings, drain_s=5, open_socket=open_socket)
    await server.start()
    running = asyncio.create_task(server.run())
    try:
        yield Api(server, access)
    finally:
        await server.stop()
        await running
