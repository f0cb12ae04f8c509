"""The ASGI app, put together from what a role hands in."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib.metadata import version

from litestar import Litestar, Router
from litestar.config.cors import CORSConfig
from litestar.di import Provide
from litestar.types import ASGIApp, ControllerRouterHandler
from prometheus_client import CollectorRegistry

from shoal.access.service import Access
from shoal.api.bodies import JsonRequest
from shoal.api.edge import Edge
from shoal.api.errors import answer_error
from shoal.api.files import files_handler
from shoal.api.identity import authenticated, provide_principal
from shoal.api.me import read_me
from shoal.api.metrics import RequestMetrics, metrics_handler
from shoal.api.openapi import SECURITY, describe
from shoal.api.settings import ApiSettings
from shoal.api.status import ReadMetrics, StatusDesk, status_handler
from shoal.runtime.clock import Clock
from shoal.runtime.health import Check
from shoal.vault.store import Vault

CORS_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
CORS_HEADERS = ["Authorization", "Content-Type", "Idempotency-Key", "X-Request-Id", "Range"]
CORS_EXPOSED = ["X-Request-Id", "Content-Range", "Accept-Ranges", "ETag", "Retry-After"]


def build_app(
    *,
    access: Access,
    settings: ApiSettings,
    registry: CollectorRegistry,
    checks: Mapping[str, Check],
    read_metrics: ReadMetrics,
    vault: Vault,
    clock: Clock,
    handlers: Sequence[ControllerRouterHandler] = (),
    open_handlers: Sequence[ControllerRouterHandler] = (),
    before_metrics: Sequence[Callable[[], Awaitable[None]]] = (),
) -> ASGIApp:
    """The app of one process.

    * ``checks``: for ``/status``, by ``redis``, ``centrifugo``, ``supabase``, ``vault``; what is left out is
      ``disabled``.
    * ``handlers`` need a token or a key, and may take ``principal: Caller``.
    * ``open_handlers`` are asked without either: signed links, endpoints with a proof of their own.
    * ``before_metrics`` is awaited before ``registry`` is shown.
    """
    if vault.signer is not None:  # a bucket serves its links itself
        open_handlers = [files_handler(vault, vault.signer, clock), *open_handlers]
    closed = Router(
        "/",
        route_handlers=[read_me, *handlers],
        guards=[authenticated(access)],
        dependencies={"principal": Provide(provide_principal, sync_to_thread=False)},
        security=SECURITY,
    )
    app = Litestar(
        route_handlers=[
            closed,
            status_handler(StatusDesk(checks, read_metrics)),
            metrics_handler(registry, before=before_metrics),
            *open_handlers,
        ],
        exception_handlers={Exception: answer_error},
        request_class=JsonRequest,
        request_max_body_size=settings.api_max_body_bytes,
        cors_config=_cors(settings.cors_allowed_origins),
        openapi_config=describe(version("shoal"), settings.api_public_url),
        logging_config=None,
        debug=False,
        pdb_on_exception=False,
    )
    return Edge(app, RequestMetrics(registry))


def _cors(origins: Sequence[str]) -> CORSConfig | None:
    if not origins:
        return None
    return CORSConfig(
        allow_origins=list(origins),
        allow_methods=CORS_METHODS,  # type: ignore[arg-type]  # Litestar's list of literals
        allow_headers=CORS_HEADERS,
        expose_headers=CORS_EXPOSED,
        allow_credentials=False,
    )
