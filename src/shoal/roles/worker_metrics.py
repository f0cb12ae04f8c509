"""The port on which a worker answers Prometheus. A thread answers: a busy event loop can be looked into."""

import asyncio
import errno
from threading import Thread
from wsgiref.simple_server import WSGIServer

import structlog
from prometheus_client import CollectorRegistry, start_http_server

from shoal.runtime.errors import Conflict, Invalid, ShoalError
from shoal.runtime.lifecycle import Part

log = structlog.get_logger(__name__)


class MetricsPort(Part):
    name = "metrics port"

    def __init__(self, registry: CollectorRegistry, *, host: str, port: int) -> None:
        self._registry = registry
        self._host = host
        self._port = port
        self._serving: tuple[WSGIServer, Thread] | None = None

    async def start(self) -> None:
        try:
            self._serving = start_http_server(self._port, self._host, self._registry)
        except OSError as error:
            raise self._refusal(error) from error
        log.info("metrics", url=f"http://{self._host}:{self._port}/metrics")

    async def stop(self) -> None:
        serving, self._serving = self._serving, None
        if serving is not None:
            await asyncio.to_thread(_end, *serving)

    def _refusal(self, error: OSError) -> ShoalError:
        if error.errno == errno.EADDRINUSE:
            return Conflict(
                "metrics_port_busy",
                f"Another program listens on {self._host}:{self._port}.",
                hint="Choose another worker_metrics_port; of several processes each takes the next one.",
            )
        return Invalid(
            "metrics_address_unusable",
            f"Metrics cannot be served on {self._host}:{self._port}: {error.strerror or error}.",
            hint="Check worker_metrics_host and worker_metrics_port.",
        )


def _end(server: WSGIServer, thread: Thread) -> None:
    server.shutdown()
    server.server_close()
    thread.join()
