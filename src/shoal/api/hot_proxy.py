"""The two questions Centrifugo asks for every chunk, answered before the framework is asked.

They go the way of ``shoal.api.proxy`` through the same desk. What is not a proper question of Centrifugo is
left to the framework, which says what is wrong with it.
"""

import hmac
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import structlog
from litestar.types import ASGIApp, Receive, Scope, Send

from shoal.api.proxy import ProxyDesk, Result, answered
from shoal.beacon.configuration import PROXY_SECRET_HEADER
from shoal.wire.proxy import ProxyAnswer, ProxyCall, ProxyChannel, ProxyError

log = structlog.get_logger(__name__)

LARGEST_BODY = 256 * 1024
SECRET_HEADER = PROXY_SECRET_HEADER.lower().encode()

FAILED = ProxyAnswer(error=ProxyError(100, "internal server error", temporary=True))
BAD_REQUEST = ProxyAnswer(error=ProxyError(107, "bad request"))

encoder = msgspec.json.Encoder()

Answer = Callable[[bytes], Awaitable[ProxyAnswer]]


class HotProxy:
    def __init__(self, app: ASGIApp, desk: ProxyDesk, secret: str) -> None:
        self._app = app
        self._secret = secret.encode()
        self._answers: dict[str, Answer] = {
            "/proxy/rpc": _reading(ProxyCall, desk.call),
            "/proxy/publish": _reading(ProxyChannel, desk.publish),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked: Any = scope
        answer = self._answers.get(asked.get("path", ""))
        if answer is None or asked.get("method") != "POST" or not self._is_centrifugo(asked):
            await self._app(scope, receive, send)
            return
        body = await _body(receive)
        said = BAD_REQUEST if body is None else await answer(body)
        text = encoder.encode(said)
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(text)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": text, "more_body": False})

    def _is_centrifugo(self, scope: Any) -> bool:
        if not self._secret:
            return False
        shown = [value for name, value in scope["headers"] if name == SECRET_HEADER]
        return len(shown) == 1 and hmac.compare_digest(shown[0], self._secret)


async def _body(receive: Receive) -> bytes | None:
    """None for one that is too large, or that its sender never ended."""
    body: bytes = b""
    while True:
        message: Any = await receive()
        if message["type"] != "http.request":
            return None
        body += bytes(message.get("body", b""))
        if len(body) > LARGEST_BODY:
            return None
        if not message.get("more_body", False):
            return body


def _reading(kind: Any, decide: Callable[[Any], Awaitable[Result]]) -> Answer:
    decoder = msgspec.json.Decoder(kind)

    async def answer(body: bytes) -> ProxyAnswer:
        try:
            asked = decoder.decode(body)
        except (msgspec.MsgspecError, RecursionError):
            return BAD_REQUEST
        try:
            return await answered(decide(asked))
        except Exception as error:  # noqa: BLE001 - Centrifugo hears that it may ask again
            log.warning("a question of Centrifugo was not answered", error=str(error) or repr(error))
            return FAILED

    return answer
