"""A beacon to test, and the gate behind it: the same channels, methods and limits on both of them."""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from litestar import Litestar
from prometheus_client import CollectorRegistry

from shoal.api.errors import answer_error
from shoal.api.proxy import proxy_router
from shoal.api.server import HttpServer
from shoal.api.settings import ApiSettings
from shoal.beacon.centrifugo import Centrifugo
from shoal.beacon.configuration import PROXY_SECRET_HEADER
from shoal.beacon.gate import Channel, Gate
from shoal.beacon.hub.hub import Hub
from shoal.beacon.hub.limits import Limits
from shoal.beacon.hub.socket import HubSocket
from shoal.beacon.model import ChannelOptions, ErrorCode, Identity, Peer, Refused, Subscribed
from shoal.beacon.ports import Beacon
from shoal.beacon.settings import BeaconSettings, websocket_url
from shoal.beacon.tokens import ConnectionTokens
from shoal.runtime.clock import SystemClock
from shoal.runtime.lifecycle import Part
from tests.support.centrifugo import Centrifugo as CentrifugoServer

SECRET = "a secret that is long enough for HS256"
ORIGIN = "https://portal.example.org"
SLOW_S = 0.3

LIMITS = Limits(
    ping_interval_s=2, pong_timeout_s=1, stale_s=2, expired_grace_s=1, channels=8, message_bytes=64 * 1024
)
RECOVERS = ChannelOptions(history_size=10, history_ttl_s=60, recovery=True)


class Stage:
    """One beacon. ``revoked`` are users who are no longer welcome, ``taken`` what clients published."""

    beacon: Beacon
    client_url: str

    def __init__(self) -> None:
        self.clock = SystemClock()
        self.tokens = ConnectionTokens(SECRET, self.clock)
        self.revoked: set[str] = set()
        self.taken: list[tuple[str, Any]] = []
        self.arrived = asyncio.Event()
        self.gate = self._new_gate()
        self._names = itertools.count(1)

    def name(self, what: str) -> str:
        """A name that no other test uses."""
        return f"{what}{next(self._names)}"

    def token(self, user: str, *, seconds: float = 600, channels: Sequence[str] = (), **changes: Any) -> str:
        identity = Identity(user, int(time.time() + seconds), {"name": user}, {"kind": "test"}, channels)
        return self.tokens.issue(replace(identity, **changes))

    async def publish(self, channel: str, *messages: Any) -> None:
        assert await self.beacon.publish_many([(channel, message) for message in messages])

    def _new_gate(self) -> Gate:
        gate = Gate()
        gate.admit("test", self._is_welcome)
        options = ChannelOptions(presence=True, join_leave=True)
        gate.open("rooms", Channel(options, subscribe=_allow, presence=_look))
        gate.open("jobs", Channel(RECOVERS, subscribe=_allow, history=_look))
        gate.open("short", Channel(replace(RECOVERS, history_size=2), subscribe=_allow))
        gate.open("plain", Channel(subscribe=_allow))
        gate.open("inbox", Channel(publish=self._take))
        gate.answer("echo", _echo)
        gate.answer("refuse", _refuse)
        gate.answer("fail", _fail)
        return gate

    async def _is_welcome(self, user: str, meta: Mapping[str, Any]) -> bool:
        return user not in self.revoked and meta == {"kind": "test"}

    async def _take(self, peer: Peer, rest: str, data: Any) -> None:
        if data == "unwanted":
            raise Refused(1400, "unwanted")
        self.arrived.set()
        if rest == "slow":
            await asyncio.sleep(SLOW_S)
        self.taken.append((f"{peer.user} {rest}", data))


async def _allow(peer: Peer, rest: str, data: Any) -> Subscribed:
    if rest.startswith("closed"):
        raise Refused(ErrorCode.PERMISSION_DENIED, "permission denied")
    return Subscribed(data={"of": rest, "asked": data})


async def _look(peer: Peer, rest: str) -> None:
    """Everybody may."""


async def _echo(peer: Peer, data: Any) -> Any:
    return {"user": peer.user, "client": peer.client != "", "data": data}


async def _refuse(peer: Peer, data: Any) -> Any:
    raise Refused(data["code"], "refused", temporary=data.get("temporary", False))


async def _fail(peer: Peer, data: Any) -> Any:
    raise RuntimeError("a handler that fails, on purpose")


def configuration(gate: Gate, sentinel: str, redis_url: str) -> Mapping[str, Any]:
    """For Centrifugo: what the hub takes from the gate and its limits."""

    def proxy(name: str) -> Mapping[str, Any]:
        return {
            "endpoint": f"{sentinel}/proxy/{name}",
            "timeout": "3s",
            "include_connection_meta": True,
            "http": {"static_headers": {PROXY_SECRET_HEADER: SECRET}},
        }

    return {
        "log": {"level": "info"},
        "engine": {"type": "redis", "redis": {"address": [redis_url]}},
        "client": {
            "token": {"hmac_secret_key": SECRET},
            "allowed_origins": [ORIGIN],
            "concurrency": 16,
            "ping_interval": f"{LIMITS.ping_interval_s}s",
            "pong_timeout": f"{LIMITS.pong_timeout_s}s",
            "stale_close_delay": f"{LIMITS.stale_s}s",
            "expired_close_delay": f"{LIMITS.expired_grace_s}s",
            "channel_limit": LIMITS.channels,
        },
        "channel": {
            "proxy": {"subscribe": proxy("subscribe"), "publish": proxy("publish")},
            "namespaces": [
                {
                    "name": name,
                    "presence": channel.options.presence,
                    "join_leave": channel.options.join_leave,
                    "force_push_join_leave": channel.options.join_leave,
                    "history_size": channel.options.history_size,
                    "history_ttl": f"{channel.options.history_ttl_s}s",
                    "force_recovery": channel.options.recovery,
                    "subscribe_proxy_enabled": channel.subscribe is not None,
                    "publish_proxy_enabled": channel.publish is not None,
                    "allow_presence_for_client": channel.presence is not None,
                    "allow_history_for_client": channel.history is not None,
                }
                for name, channel in gate.namespaces.items()
            ],
        },
        "rpc": {"proxy": proxy("rpc"), "without_namespace": {"proxy_enabled": True}},
        "shutdown": {"timeout": "1s"},
    }


@asynccontextmanager
async def hub_stage() -> AsyncIterator[Stage]:
    stage = Stage()
    hub = stage.beacon = Hub(stage.gate, stage.tokens, stage.clock, limits=LIMITS)
    server = HttpServer(
        _sentinel(stage), ApiSettings(api_port=0), drain_s=2, open_socket=partial(HubSocket, hub, {ORIGIN})
    )
    async with _running(hub, server):
        stage.client_url = websocket_url(server.url)
        yield stage


@asynccontextmanager
async def centrifugo_stage(folder: Path, redis_url: str) -> AsyncIterator[Stage]:
    stage = Stage()
    sentinel = HttpServer(_sentinel(stage), ApiSettings(api_port=0), drain_s=2)
    async with _running(sentinel):
        settings = configuration(stage.gate, sentinel.url, redis_url)
        server = CentrifugoServer(folder, settings, api_key=SECRET)
        server.check_configuration()
        await server.start()
        stage.client_url = server.client_url
        stage.beacon = beacon = Centrifugo(
            BeaconSettings(
                centrifugo_url=server.url,
                centrifugo_api_key=SECRET,
                centrifugo_token_secret=SECRET,
                centrifugo_proxy_secret=SECRET,
            ),
            CollectorRegistry(),
        )
        try:
            async with _running(beacon):
                yield stage
        finally:
            server.stop()


def _sentinel(stage: Stage) -> Litestar:
    """What Centrifugo asks, asked of the same gate as the hub asks."""
    return Litestar(
        [proxy_router(stage.gate, stage.tokens, SECRET)],
        exception_handlers={Exception: answer_error},
        logging_config=None,
    )


@asynccontextmanager
async def _running(*parts: Part) -> AsyncIterator[None]:
    for part in parts:
        await part.start()
    running = [asyncio.create_task(part.run()) for part in parts]
    try:
        yield
    finally:
        for part in reversed(parts):
            await part.stop()
        await asyncio.gather(*running)
