"""A process with nothing in it but the hub, on uvloop as in a sentinel. Prints its address.

The call ``publish`` publishes from inside, as rooms do: ``count`` messages of ``size`` characters in batches
of ``batch``, each in a turn of the event loop of its own, and ``per_s`` of them in a second if that is given.
"""

import asyncio
import sys
import time
from functools import partial
from typing import Any

import uvloop

from shoal.api.server import HttpServer
from shoal.api.settings import ApiSettings
from shoal.beacon.gate import Channel, Gate
from shoal.beacon.hub.hub import Hub
from shoal.beacon.hub.socket import HubSocket
from shoal.beacon.model import Peer, Subscribed
from shoal.beacon.tokens import ConnectionTokens
from shoal.runtime.clock import SystemClock


async def no_app(scope: Any, receive: Any, send: Any) -> None:
    """Websockets do not come here."""


async def serve(secret: str) -> None:
    clock, gate = SystemClock(), Gate()
    hub = Hub(gate, ConnectionTokens(secret, clock), clock)

    async def admit(_user: str, _meta: Any) -> bool:
        return True

    async def allow(_peer: Peer, _rest: str, _data: Any) -> Subscribed:
        return Subscribed()

    async def publish(_peer: Peer, asked: Any) -> None:
        text, pause_s = "x" * asked["size"], 1 / asked["per_s"] if "per_s" in asked else 0
        for _ in range(0, asked["count"], asked["batch"]):
            message = asked["channel"], {"at": time.monotonic(), "text": text}
            await hub.publish_many([message] * asked["batch"])
            await asyncio.sleep(pause_s)

    gate.admit("bench", admit)
    gate.open("bench", Channel(subscribe=allow))
    gate.answer("publish", publish)
    server = HttpServer(
        no_app, ApiSettings(api_port=0), drain_s=1, open_socket=partial(HubSocket, hub, frozenset())
    )
    await server.start()
    sys.stdout.write(f"{server.url}\n")
    sys.stdout.flush()
    async with asyncio.TaskGroup() as parts:
        parts.create_task(hub.run())
        parts.create_task(server.run())


if __name__ == "__main__":
    uvloop.run(serve(sys.argv[1]))
