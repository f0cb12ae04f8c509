"""The beacon of a sentinel, by its settings; and what its Centrifugo is to be told."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from litestar.types import ASGIApp, ControllerRouterHandler
from prometheus_client import CollectorRegistry

from shoal.access.service import Access
from shoal.api.beacon import token_handler
from shoal.api.hot_proxy import HotProxy
from shoal.api.proxy import ProxyDesk, proxy_router
from shoal.api.server import OpenSocket
from shoal.api.settings import ApiSettings
from shoal.beacon.centrifugo import Centrifugo, require_complete
from shoal.beacon.configuration import RedisServer, configuration, environment
from shoal.beacon.gate import Gate
from shoal.beacon.hub.hub import Hub
from shoal.beacon.hub.measures import HubMeasures
from shoal.beacon.hub.socket import HubSocket
from shoal.beacon.ports import Beacon
from shoal.beacon.settings import BeaconSettings
from shoal.beacon.tokens import ConnectionTokens
from shoal.brain.address import Address, parse_address
from shoal.brain.connection import Brain
from shoal.brain.leases import Lease
from shoal.brain.settings import BrainSettings
from shoal.events.hints import open_events
from shoal.fleet.limits import LocalConnectionLimit
from shoal.fleet.settings import FleetSettings
from shoal.jobs.channel import open_jobs
from shoal.jobs.live import LiveProgress, Watched
from shoal.ledger.pool import Ledger
from shoal.roles.config import ClientSettings
from shoal.runtime.clock import Clock
from shoal.runtime.health import Check
from shoal.runtime.lifecycle import Part
from shoal.runtime.settings import Settings

LIVE_PROGRESS_LEASE = "beacon:live-progress:leader"
LEASE_TTL = timedelta(seconds=4)

USUAL_REDIS = "redis://127.0.0.1:6379"


@dataclass
class BeaconSide:
    """What a sentinel adds for its beacon. Without a token secret there is none, and nearly nothing."""

    parts: list[Part] = field(default_factory=list)
    checks: dict[str, Check] = field(default_factory=dict)
    handlers: list[ControllerRouterHandler] = field(default_factory=list)
    open_handlers: list[ControllerRouterHandler] = field(default_factory=list)
    open_socket: OpenSocket | None = None
    in_front: Callable[[ASGIApp], ASGIApp] = lambda app: app
    beacon: Beacon | None = None
    gate: Gate | None = None
    tokens: ConnectionTokens | None = None


def beacon_side(
    settings: Settings,
    *,
    access: Access,
    ledger: Ledger,
    brain: Brain,
    registry: CollectorRegistry,
    clock: Clock,
) -> BeaconSide:
    own, api = settings[BeaconSettings], settings[ApiSettings]
    if own.centrifugo_url:
        require_complete(own)
    elif not own.centrifugo_token_secret:
        return BeaconSide(handlers=[token_handler(None, client_url="", public_url="")])
    tokens = ConnectionTokens(own.centrifugo_token_secret, clock)
    watched = Watched(clock)
    gate = open_gate(access, ledger, watched)
    tell = partial(LiveProgress, ledger, watched=watched, clock=clock)
    side = BeaconSide(
        handlers=[token_handler(tokens, client_url=own.client_url, public_url=api.api_public_url)],
        gate=gate,
        tokens=tokens,
    )
    if own.centrifugo_url:
        centrifugo = Centrifugo(own, registry)
        lease = Lease(brain.client, LIVE_PROGRESS_LEASE, ttl=LEASE_TTL)
        side.beacon = centrifugo
        side.checks["centrifugo"] = centrifugo.check
        side.parts += [centrifugo, tell(centrifugo, lease=lease)]
        side.open_handlers.append(proxy_router(gate, tokens, own.centrifugo_proxy_secret))
        desk = ProxyDesk(gate, tokens)
        side.in_front = partial(HotProxy, desk=desk, secret=own.centrifugo_proxy_secret)
    else:
        hub = Hub(gate, tokens, clock)
        registry.register(HubMeasures(hub))
        side.beacon = hub
        side.checks["centrifugo"] = hub.check
        side.parts += [hub, tell(hub)]
        limit = LocalConnectionLimit(per_minute=settings[FleetSettings].node_connections_per_minute)
        side.open_socket = partial(HubSocket, hub, api.cors_allowed_origins, may_connect=limit.allows)
    return side


def open_gate(access: Access, ledger: Ledger, watched: Watched) -> Gate:
    """Everything that clients may do, whoever carries it."""

    async def is_known(user: str, _meta: Mapping[str, Any]) -> bool:
        try:
            return await access.knows_user(UUID(user))
        except ValueError:
            return False

    gate = Gate()
    gate.admit("portal", is_known)
    open_jobs(gate, ledger, watched)
    open_events(gate)
    return gate


def written_configuration(
    settings: Settings,
    *,
    sentinel_url: str | None,
    redis_url: str | None,
    origins: Sequence[str] | None,
    is_connect_asked: bool,
) -> dict[str, Any]:
    """The configuration for Centrifugo; what is not given follows from our own settings."""
    api = settings[ApiSettings]
    own_url = (
        api.api_public_url or settings[ClientSettings].api_url or f"http://{api.api_host}:{api.api_port}"
    )
    pages = [*api.cors_allowed_origins, *([_origin(api.api_public_url)] if api.api_public_url else [])]
    return configuration(
        sentinel_url=sentinel_url or own_url,
        redis=_redis_server(_redis_address(settings, redis_url)),
        origins=pages if origins is None else origins,
        is_connect_asked=is_connect_asked,
    )


def needed_environment(settings: Settings, *, redis_url: str | None) -> Mapping[str, str]:
    """The secrets of Centrifugo, by the names it reads them from."""
    address = _redis_address(settings, redis_url)
    wanted = dict(environment(settings[BeaconSettings]))
    if address.sentinel is not None:
        if address.sentinel.username:
            wanted["CENTRIFUGO_ENGINE_REDIS_USER"] = address.sentinel.username
        if address.sentinel.password:
            wanted["CENTRIFUGO_ENGINE_REDIS_PASSWORD"] = address.sentinel.password
    elif address.url != address.shown:
        wanted["CENTRIFUGO_ENGINE_REDIS_ADDRESS"] = address.url
    return wanted


def _redis_address(settings: Settings, given: str | None) -> Address:
    return parse_address(given or settings[BrainSettings].redis_url or USUAL_REDIS)


def _redis_server(address: Address) -> RedisServer:
    if address.sentinel is None:
        return RedisServer([address.shown])
    return RedisServer([f"{host}:{port}" for host, port in address.sentinel.hosts], address.sentinel.master)


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
