"""The API described: ``/api/openapi.json`` for programs, ``/api/docs`` for people."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from litestar import MediaType, Request, Router
from litestar.openapi.config import OpenAPIConfig
from litestar.openapi.datastructures import ResponseSpec
from litestar.openapi.plugins import JsonRenderPlugin, OpenAPIRenderPlugin
from litestar.openapi.spec import Components, SecurityScheme, Server

from shoal.api.docs_page import CONTENT_SECURITY_POLICY, render_docs
from shoal.beacon.configuration import PROXY_SECRET_HEADER
from shoal.runtime.signatures import SIGNATURE_HEADER
from shoal.wire.problems import MEDIA_TYPE, Problem

# Either of them opens what is not open.
SECURITY: list[dict[str, list[str]]] = [{"token": []}, {"key": []}]

SCHEMES = Components(
    security_schemes={
        "token": SecurityScheme(
            type="http",
            scheme="bearer",
            bearer_format="JWT",
            description="A user's token, as the login server issues it.",
        ),
        "key": SecurityScheme(
            type="http",
            scheme="bearer",
            bearer_format="shoal_<kind>_<id>_<secret>",
            description="The key of a service or a worker, as 'shoal key issue' prints it.",
        ),
        "node": SecurityScheme(
            type="apiKey",
            name=SIGNATURE_HEADER,
            security_scheme_in="header",
            description="The signature of a node over the request, with its key, the time and a nonce in the "
            "headers beside it.",
        ),
        "centrifugo": SecurityScheme(
            type="apiKey",
            name=PROXY_SECRET_HEADER,
            security_scheme_in="header",
            description="The secret that Centrifugo and the sentinels share.",
        ),
    }
)


def problems(*statuses: int) -> Mapping[int, ResponseSpec]:
    """``responses=problems(401, 404)``: how an operation documents its errors."""
    return {
        status: ResponseSpec(
            Problem,
            generate_examples=False,
            description=HTTPStatus(status).phrase,
            media_type=MEDIA_TYPE,
        )
        for status in statuses
    }


class DocsPage(OpenAPIRenderPlugin):
    """Our own page: the ones that come with Litestar load their scripts from elsewhere."""

    def __init__(self) -> None:
        super().__init__(path=("/docs", "/"), media_type=MediaType.HTML)

    def render(self, request: Request[Any, Any, Any], openapi_schema: dict[str, Any]) -> bytes:  # noqa: ARG002 - the plugin's contract
        return render_docs(openapi_schema)


class _DescriptionRouter(Router):
    """Litestar adds a page for every other address below this path; ours are problems."""

    def register(self, value: Any) -> Any:
        if "/{path:str}" in getattr(value, "paths", ()):
            return []
        return super().register(value)


def describe(version: str, public_url: str) -> OpenAPIConfig:
    return OpenAPIConfig(
        title="Shoal",
        version=version,
        description="One dependable workforce out of machines you own, rent, or borrow.",
        components=SCHEMES,
        servers=[Server(url=public_url or "/")],
        openapi_router=_DescriptionRouter(
            "/api",
            route_handlers=[],
            include_in_schema=False,
            response_headers={"Content-Security-Policy": CONTENT_SECURITY_POLICY},
        ),
        render_plugins=[
            JsonRenderPlugin(path="/openapi.json", media_type=MediaType.JSON),
            DocsPage(),
        ],
    )
