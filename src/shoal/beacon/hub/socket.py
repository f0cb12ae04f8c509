"""A client's websocket: bytes from the transport to the hub, and frames back.

It is an ``asyncio.Protocol`` and no ASGI application: a frame that is the same for many is written as it is,
a client that does not read can be dropped, and a connection that is silent costs no task.
"""

import asyncio
import logging
from collections.abc import Callable, Collection
from http import HTTPStatus
from typing import Any, cast
from urllib.parse import urlsplit

from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import State
from websockets.server import ServerProtocol

from shoal.beacon.hub.hub import Hub
from shoal.beacon.hub.session import Session
from shoal.beacon.model import DisconnectCode
from shoal.beacon.settings import CLIENT_PATH

DATA = (Opcode.TEXT, Opcode.BINARY, Opcode.CONT)

# The library has a line for every connection that opens.
quiet = logging.getLogger(__name__)
quiet.setLevel(logging.WARNING)


class HubSocket(asyncio.Protocol):
    __slots__ = (
        "_connections",
        "_hub",
        "_is_held",
        "_may_connect",
        "_message",
        "_origins",
        "_session",
        "_transport",
        "_wire",
    )

    def __init__(
        self,
        hub: Hub,
        origins: Collection[str],
        connections: set[Any],
        *,
        may_connect: Callable[[str], bool] = lambda _: True,
    ) -> None:
        """``connections`` is where the server keeps whom it waits for when it shuts down; ``may_connect`` is
        asked with the address of the client.
        """
        self._hub = hub
        self._origins = origins
        self._may_connect = may_connect
        self._connections = connections
        self._wire = ServerProtocol(max_size=hub.limits.message_bytes, logger=quiet)
        self._is_held = False
        self._message = b""
        self._session: Session | None = None
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._connections.add(self)

    def data_received(self, data: bytes) -> None:
        self._wire.receive_data(data)
        for event in self._wire.events_received():
            if isinstance(event, Request):
                self._open(event)
            elif isinstance(event, Frame) and event.opcode in DATA and self._session is not None:
                self._message += event.data
                if event.fin:
                    message, self._message = self._message, b""
                    self._hub.receive(self._session, message)
        self._send()

    def eof_received(self) -> None:
        self._wire.receive_eof()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the contract
        self._connections.discard(self)
        if self._session is not None:
            self._hub.forget(self._session)

    def write(self, frame: bytes) -> int:
        if self._transport is None or self._wire.state is not State.OPEN:
            return 0
        self._transport.write(frame)
        return self._transport.get_write_buffer_size()

    def hold(self, *, held: bool) -> None:
        if self._transport is None or self._transport.is_closing() or held is self._is_held:
            return
        self._is_held = held
        if held:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def close(self, code: int, reason: str) -> None:
        """Say why, and give the client a moment to agree."""
        if self._wire.state is State.OPEN:
            self._wire.send_close(code, reason)
        self._send()
        self._abort_later()

    def shutdown(self) -> None:
        """Called by the server for each connection when it shuts down."""
        if self._session is None:
            self._abort_later()
        else:
            self._session.end(DisconnectCode.SHUTDOWN, "shutdown")

    def _open(self, request: Request) -> None:
        response = self._wire.accept(request)
        if urlsplit(request.path).path != CLIENT_PATH:
            response = self._wire.reject(HTTPStatus.NOT_FOUND, "There is no websocket here.\n")
        elif not self._may_connect(self._address()):
            response = self._wire.reject(HTTPStatus.TOO_MANY_REQUESTS, "Too many connections a minute.\n")
        elif not self._is_welcome(request):
            response = self._wire.reject(HTTPStatus.FORBIDDEN, "This origin is not allowed.\n")
        self._wire.send_response(response)
        if self._wire.state is State.OPEN:
            self._session = self._hub.welcome(self)

    def _address(self) -> str:
        name = self._transport.get_extra_info("peername") if self._transport is not None else None
        return str(name[0]) if isinstance(name, tuple) else ""

    def _is_welcome(self, request: Request) -> bool:
        """Programs name no origin; pages may come from here, and from where the settings allow."""
        origin = request.headers.get("Origin")
        if origin is None or origin in self._origins or "*" in self._origins:
            return True
        return urlsplit(origin).netloc == request.headers.get("Host")

    def _send(self) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        for data in self._wire.data_to_send():
            if data:
                self._transport.write(data)
            else:  # nothing more is said; what waits to be written is written first
                self._transport.close()
                self._abort_later()

    def _abort_later(self) -> None:
        """A client that does not read would otherwise keep its buffer for ever."""
        if self._transport is not None:
            loop = asyncio.get_running_loop()
            loop.call_later(self._hub.limits.write_timeout_s, self._transport.abort)
