"""The HTTP server as a part: uvicorn inside our own life cycle, without its signal handlers."""

import asyncio
import errno
import socket
from collections.abc import Callable
from typing import Any, TypeAlias

import structlog
import uvicorn
from litestar.types import ASGIApp

from shoal.api.protocol import BoundedHeadProtocol
from shoal.api.settings import ApiSettings
from shoal.runtime.errors import Conflict, Invalid
from shoal.runtime.lifecycle import Part

log = structlog.get_logger(__name__)

BACKLOG = 2048

OpenSocket: TypeAlias = Callable[[set[Any]], asyncio.Protocol]
"""What takes over a connection that wants to be a websocket, given the set of those the end waits for."""
LOCAL_NAME_OF_ALL = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - a name, nothing is bound


class HttpServer(Part):
    """Listens from ``start`` on. ``stop`` takes no new connection; requests under way have
    ``drain_s`` to end and are cancelled then.
    """

    name = "http"

    def __init__(
        self,
        app: ASGIApp,
        settings: ApiSettings,
        *,
        drain_s: float,
        open_socket: OpenSocket | None = None,
    ) -> None:
        self._app = app
        self._open_socket = open_socket
        self._settings = settings
        self._drain_s = drain_s
        self._socket: socket.socket | None = None
        self._server: uvicorn.Server | None = None
        self._is_running = False
        self._url = ""

    @property
    def url(self) -> str:
        """Where it can be reached from this machine; known once started."""
        return self._url

    async def start(self) -> None:
        self._socket = bind(self._settings.api_host, self._settings.api_port)
        self._url = _url_of(self._socket)
        config = uvicorn.Config(
            self._app,
            http=BoundedHeadProtocol,
            ws=_as_protocol(self._open_socket) if self._open_socket else "none",  # type: ignore[arg-type]
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=max(1, round(self._drain_s)),
        )
        config.load()
        self._server = uvicorn.Server(config)
        self._server.lifespan = config.lifespan_class(config)
        await self._server.startup(sockets=[self._socket])
        log.info("listening", url=self._url)

    async def run(self) -> None:
        if self._server is None:
            return
        self._is_running = True
        await self._server.main_loop()
        await self._shut_down()

    async def stop(self) -> None:
        if self._server is not None:
            self._server.should_exit = True
        if not self._is_running:
            await self._shut_down()

    async def _shut_down(self) -> None:
        server, self._server = self._server, None
        bound, self._socket = self._socket, None
        if server is not None:
            await server.shutdown()
        if bound is not None:
            bound.close()


def _as_protocol(open_socket: OpenSocket) -> Callable[..., asyncio.Protocol]:
    """What uvicorn calls as if it were a protocol's class."""

    def protocol(*, server_state: Any, **_: object) -> asyncio.Protocol:
        return open_socket(server_state.connections)

    return protocol


def bind(host: str, port: int) -> socket.socket:
    """A listening socket, or an error that says what to do."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError) as error:
        raise _address_unusable(host, str(error)) from error
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.setblocking(False)
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            raise Conflict(
                "port_busy",
                f"Another program listens on {host}:{port}.",
                hint="End it, or choose another port with SHOAL_API_PORT; 0 picks a free one.",
            ) from error
        if error.errno == errno.EACCES:
            raise Invalid(
                "port_forbidden",
                f"This user may not listen on {host}:{port}.",
                hint="Choose a port above 1023 with SHOAL_API_PORT.",
            ) from error
        raise _address_unusable(host, error.strerror or str(error)) from error
    return listening


def _address_unusable(host: str, why: str) -> Invalid:
    return Invalid(
        "address_unusable",
        f"The API cannot listen on {host}: {why}.",
        hint="Set SHOAL_API_HOST to an address of this machine, such as 127.0.0.1 or 0.0.0.0.",
    )


def _url_of(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    host = LOCAL_NAME_OF_ALL.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
