"""The routes of the beacon: tokens for clients."""

from typing import Any

from litestar import Request, post
from litestar.handlers import HTTPRouteHandler

from shoal.api.identity import Caller, users_only
from shoal.api.openapi import problems
from shoal.beacon.settings import websocket_url
from shoal.beacon.tokens import ConnectionTokens
from shoal.runtime.errors import Unavailable
from shoal.wire.beacon import BeaconToken


def token_handler(tokens: ConnectionTokens | None, *, client_url: str, public_url: str) -> HTTPRouteHandler:
    """``client_url`` is empty for the hub, which is found where the caller found this API."""

    @post(
        "/api/token",
        status_code=200,
        summary="Get a token for live messages",
        description="Connect to `url` with the token, as a client of Centrifugo does, and ask here for "
        "another one when it expires.",
        tags=["Beacon"],
        guards=[users_only],
        responses=problems(401, 403, 503),
        sync_to_thread=False,
    )
    def issue_beacon_token(principal: Caller, request: Request[Any, Any, Any]) -> BeaconToken:
        if tokens is None:
            raise Unavailable(
                "beacon_not_configured",
                "This installation sends no live messages.",
                hint="Set SHOAL_CENTRIFUGO_TOKEN_SECRET on the sentinel; until then, read the state again.",
            )
        issued = tokens.issue_portal(str(principal.id))
        url = client_url or websocket_url(public_url or str(request.base_url))
        return BeaconToken(token=issued.text, expires_at=issued.expires_at, url=url)

    return issue_beacon_token
