"""A gRPC server as a part of a process."""

import asyncio
from collections.abc import Callable
from typing import Any

import grpc

from shoal.runtime.errors import Conflict
from shoal.runtime.lifecycle import Part

OPTIONS = [
    ("grpc.max_receive_message_length", 4 * 1024 * 1024),
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
    ("grpc.http2.max_ping_strikes", 0),
    ("grpc.so_reuseport", 0),
]
GRACE_S = 1.0


class RpcServer(Part):
    """``address`` is where it listens, once it does."""

    name = "rpc server"

    def __init__(
        self,
        listen: str,
        add_services: Callable[[Any], None],
        *,
        on_started: Callable[[str], None] | None = None,
    ) -> None:
        self.address = ""
        self._listen = listen
        self._add_services = add_services
        self._on_started = on_started
        self._server: grpc.aio.Server | None = None
        self._stopped = asyncio.Event()

    async def start(self) -> None:
        server = grpc.aio.server(options=OPTIONS)
        self._add_services(server)
        try:
            port = server.add_insecure_port(self._listen)
        except RuntimeError as error:
            raise Conflict(
                "rpc_address_unusable",
                f"{self._listen} cannot be listened on.",
                hint="Another process may use it: choose another port.",
            ) from error
        await server.start()
        self._server = server
        self.address = f"{self._listen.rpartition(':')[0]}:{port}"
        if self._on_started is not None:
            self._on_started(self.address)

    async def run(self) -> None:
        await self._stopped.wait()

    async def stop(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            await server.stop(GRACE_S)
        self._stopped.set()
