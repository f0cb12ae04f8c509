"""What Centrifugo asks through its proxies, answered by the gate that the hub asks directly."""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from shoal.beacon.gate import Gate
from shoal.beacon.model import Cut, Peer, Refused

Body = Mapping[str, Any]


class Proxies:
    """An ASGI application: ``POST /proxy/subscribe``, ``publish`` and ``rpc``."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._handlers: Mapping[str, Callable[[Peer, Body], Awaitable[Body]]] = {
            "/proxy/subscribe": self._subscribe,
            "/proxy/publish": self._publish,
            "/proxy/rpc": self._rpc,
        }

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = json.loads(await _read(receive))
        peer = Peer(body["client"], body["user"], body.get("meta", {}))
        status, answer = 200, dict[str, Any]()
        try:
            answer["result"] = await self._handlers[scope["path"]](peer, body)
        except Refused as refused:
            answer["error"] = {
                "code": refused.code,
                "message": refused.message,
                "temporary": refused.temporary,
            }
        except Cut as cut:
            answer["disconnect"] = {"code": cut.code, "reason": cut.reason}
        except RuntimeError:
            status = 500
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(answer).encode()})

    async def _subscribe(self, peer: Peer, body: Body) -> Body:
        subscribed = await self._gate.subscribe(peer, body["channel"], body.get("data"))
        return {} if subscribed.data is None else {"data": subscribed.data}

    async def _publish(self, peer: Peer, body: Body) -> Body:
        await self._gate.publish(peer, body["channel"], body.get("data"))
        return {}

    async def _rpc(self, peer: Peer, body: Body) -> Body:
        return {"data": await self._gate.call(peer, body["method"], body.get("data"))}


async def _read(receive: Any) -> bytes:
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return body
