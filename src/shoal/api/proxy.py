"""``POST /proxy/…``: Centrifugo asks, and the gate decides.

Only Centrifugo may ask: it shows the secret both sides share. An answer that says yes is built from a
decision of the gate and from nothing else; whatever goes wrong before is an error, and so a no.
"""

import hmac
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from litestar import Router, post
from litestar.handlers import BaseRouteHandler
from litestar.params import JSONBody

from shoal.api.identity import AnyConnection
from shoal.api.openapi import problems
from shoal.beacon.configuration import PROXY_SECRET_HEADER
from shoal.beacon.gate import Gate
from shoal.beacon.model import Cut, DisconnectCode, Identity, Peer, Refused
from shoal.beacon.tokens import ConnectionTokens
from shoal.runtime.errors import Forbidden
from shoal.wire.proxy import (
    ProxyAnswer,
    ProxyCall,
    ProxyChannel,
    ProxyConnect,
    ProxyDisconnect,
    ProxyError,
    ProxyRefresh,
)

Result = Mapping[str, Any]

ANSWERS: Mapping[str, Any] = {"status_code": 200, "responses": problems(400, 403, 413, 503)}


class ProxyDesk:
    """The questions, turned into calls of the gate, and its decisions into answers."""

    def __init__(self, gate: Gate, tokens: ConnectionTokens) -> None:
        self._gate = gate
        self._tokens = tokens

    async def connect(self, asked: ProxyConnect) -> Result:
        identity = self._tokens.verify(_token_in(asked.data))
        await self._gate.connect(identity)
        return _connected(identity)

    async def refresh(self, asked: ProxyRefresh) -> Result:
        peer = _peer(asked)
        try:
            await self._gate.refresh(peer)
        except (Refused, Cut):
            return {"expired": True}  # Centrifugo overlooks any other refusal here
        return {"expire_at": self._tokens.lives_until(peer.meta)}

    async def subscribe(self, asked: ProxyChannel) -> Result:
        allowed = await self._gate.subscribe(_peer(asked), asked.channel, asked.data)
        given = {"data": allowed.data, "expire_at": allowed.expires_at}
        return {name: value for name, value in given.items() if value is not None}

    async def publish(self, asked: ProxyChannel) -> Result:
        await self._gate.publish(_peer(asked), asked.channel, asked.data)
        return {"skip_history": True}

    async def call(self, asked: ProxyCall) -> Result:
        return {"data": await self._gate.call(_peer(asked), asked.method, asked.data)}


def proxy_router(gate: Gate, tokens: ConnectionTokens, secret: str) -> Router:
    desk = ProxyDesk(gate, tokens)

    @post("/connect", summary="Decide whether a client that shows Centrifugo no token may connect", **ANSWERS)
    async def ask_connect(data: JSONBody[ProxyConnect]) -> ProxyAnswer:
        return await answered(desk.connect(data))

    @post("/refresh", summary="Decide whether a client may stay", **ANSWERS)
    async def ask_refresh(data: JSONBody[ProxyRefresh]) -> ProxyAnswer:
        return await answered(desk.refresh(data))

    @post("/subscribe", summary="Decide whether a client may hear a channel", **ANSWERS)
    async def ask_subscribe(data: JSONBody[ProxyChannel]) -> ProxyAnswer:
        return await answered(desk.subscribe(data))

    @post("/publish", summary="Take what a client publishes", **ANSWERS)
    async def ask_publish(data: JSONBody[ProxyChannel]) -> ProxyAnswer:
        return await answered(desk.publish(data))

    @post("/rpc", summary="Answer a call of a client", **ANSWERS)
    async def ask_rpc(data: JSONBody[ProxyCall]) -> ProxyAnswer:
        return await answered(desk.call(data))

    return Router(
        "/proxy",
        route_handlers=[ask_connect, ask_refresh, ask_subscribe, ask_publish, ask_rpc],
        guards=[_centrifugo_only(secret)],
        tags=["Beacon"],
        security=[{"centrifugo": []}],
    )


async def answered(decision: Awaitable[Result]) -> ProxyAnswer:
    try:
        return ProxyAnswer(result=dict(await decision))
    except Refused as refused:
        error = ProxyError(refused.code, refused.message, refused.temporary)
        return ProxyAnswer(error=error)
    except Cut as cut:
        return ProxyAnswer(disconnect=ProxyDisconnect(cut.code, cut.reason))


def _centrifugo_only(secret: str) -> Callable[[AnyConnection, BaseRouteHandler], None]:
    def compare(connection: AnyConnection, _: BaseRouteHandler) -> None:
        shown = connection.headers.get(PROXY_SECRET_HEADER, "")
        if not secret or not hmac.compare_digest(shown.encode(), secret.encode()):
            raise Forbidden(
                "proxy_secret_wrong",
                "Only Centrifugo may ask this.",
                hint=f"It shows SHOAL_CENTRIFUGO_PROXY_SECRET in {PROXY_SECRET_HEADER}.",
            )

    return compare


def _peer(asking: ProxyRefresh | ProxyChannel | ProxyCall) -> Peer:
    return Peer(asking.client, asking.user, asking.meta or {})


def _token_in(data: object) -> str:
    token = data.get("token") if isinstance(data, dict) else None
    if not isinstance(token, str):
        raise Cut(DisconnectCode.INVALID_TOKEN, "invalid token")
    return token


def _connected(identity: Identity) -> Result:
    return {
        "user": identity.user,
        "expire_at": identity.expires_at,
        "info": identity.info,
        "meta": dict(identity.meta),
        "channels": list(identity.channels),
    }
