"""The connection to the beacon, by the official client: calls go out, messages come in.

The client comes back by itself and renews its token by ``get_token``. Its channel is subscribed to by the
server, as the token says. Handlers only note what happened: they never wait.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

import centrifuge  # type: ignore[import-untyped]  # it has annotations and no py.typed
import msgspec

from shoal.runtime.answers import through_proxy
from shoal.wire.fleet import is_worth_repeating

CALL_TIMEOUT_S = 10.0
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0

TIMED_OUT = 1
NOT_CONNECTED = 3
UNREADABLE = 99

Answer = TypeVar("Answer")


class CallFailed(Exception):
    def __init__(self, code: int, message: str, *, temporary: bool = False) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code
        self.message = message
        self.is_worth_repeating = is_worth_repeating(code, temporary=temporary)


class Listener(Protocol):
    """What the connection tells, on the event loop."""

    def on_connected(self) -> None: ...

    def on_interrupted(self, reason: str) -> None:
        """It comes back by itself."""

    def on_push(self, data: Any) -> None: ...

    def on_ended(self, code: int, reason: str) -> None:
        """It does not come back by itself."""


class Connection:
    def __init__(
        self, url: str, *, token: str, get_token: Callable[[], Awaitable[str]], listener: Listener
    ) -> None:
        self._events = _Events(listener)
        self._client = centrifuge.Client(
            url,
            self._events,
            token=token,
            get_token=get_token,
            timeout=CALL_TIMEOUT_S,
            name="shoal node",
            min_reconnect_delay=FIRST_PAUSE_S,
            max_reconnect_delay=LONGEST_PAUSE_S,
            proxy=True if through_proxy(url) else None,
        )

    async def open(self) -> None:
        """Begin to connect."""
        await self._client.connect()

    async def close(self) -> None:
        """The listener hears no more of it."""
        self._events.is_closing = True
        await self._client.disconnect()

    async def call(self, method: str, request: msgspec.Struct | None, kind: type[Answer]) -> Answer:
        data = {} if request is None else msgspec.to_builtins(request)
        try:
            result = await self._client.rpc(method, data)
        except centrifuge.ReplyError as error:
            raise CallFailed(error.code, error.message, temporary=error.temporary) from None
        except centrifuge.OperationTimeoutError as error:
            raise CallFailed(TIMED_OUT, str(error) or "no answer in time") from None
        except centrifuge.CentrifugeError as error:
            raise CallFailed(NOT_CONNECTED, str(error) or "not connected") from None
        try:
            return msgspec.convert(result.data, kind)
        except msgspec.ValidationError as error:
            raise CallFailed(UNREADABLE, f"the answer to {method} is not understood: {error}") from None


class _Events(centrifuge.ClientEventHandler):  # type: ignore[misc]  # of a library without types
    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._is_connected = False
        self.is_closing = False

    async def on_connected(self, _ctx: Any) -> None:
        self._is_connected = True
        self._listener.on_connected()

    async def on_connecting(self, ctx: Any) -> None:
        if self._is_connected:
            self._is_connected = False
            self._listener.on_interrupted(f"{ctx.reason} ({ctx.code})")

    async def on_disconnected(self, ctx: Any) -> None:
        self._is_connected = False
        if not self.is_closing:
            self._listener.on_ended(ctx.code, ctx.reason)

    async def on_publication(self, ctx: Any) -> None:
        self._listener.on_push(ctx.pub.data)
