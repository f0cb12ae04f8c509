"""A sentinel's side of the beacon with all rules open, and a beacon that asks it."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
import msgspec
from prometheus_client import CollectorRegistry

from shoal.access.service import Access
from shoal.access.settings import AccessSettings
from shoal.api.beacon import token_handler
from shoal.api.proxy import proxy_router
from shoal.beacon.centrifugo import Centrifugo
from shoal.beacon.configuration import RedisServer, configuration, environment
from shoal.beacon.gate import Gate
from shoal.beacon.hub.hub import Hub
from shoal.beacon.hub.socket import HubSocket
from shoal.beacon.model import Refused
from shoal.beacon.nodes import open_nodes
from shoal.beacon.settings import BeaconSettings, websocket_url
from shoal.beacon.tokens import ConnectionTokens, node_identity, portal_identity
from shoal.jobs.live import Watched
from shoal.ledger.pool import Ledger
from shoal.roles.beacon import open_gate
from shoal.runtime.clock import SystemClock
from shoal.vault.store import Vault
from tests.integration.api.serving import SECRET, Api, serve
from tests.support import centrifugo

CLOCK = SystemClock()
NODE_KEY = bytes(range(32))

SECRETS = BeaconSettings(
    centrifugo_api_key="the api key of a test",
    centrifugo_token_secret="the token secret of a test, long enough",
    centrifugo_proxy_secret="the proxy secret of a test",
)


@dataclass
class KnownNodes:
    """The nodes of a test: who they are, who is online, what they handed in."""

    known: dict[str, str] = field(default_factory=dict)
    handed_in: list[tuple[str, Any]] = field(default_factory=list)
    asked: int = 0

    def register(self) -> str:
        node_id = str(uuid4())
        self.known[node_id] = str(node_identity(node_id, NODE_KEY).meta["pubkey_hash"])
        return node_id

    async def is_welcome(self, node_id: str, pubkey_hash: str) -> bool:
        self.asked += 1
        return self.known.get(node_id) == pubkey_hash

    async def online(self) -> Sequence[str]:
        return sorted(self.known)

    async def complete_chunk(self, node_id: str, result: Any) -> None:
        if result == "unknown":
            raise Refused(1000, "chunk not found")
        self.handed_in.append((node_id, result))


@dataclass
class Site:
    ledger: Ledger
    api: Api
    tokens: ConnectionTokens
    nodes: KnownNodes
    watched: Watched
    beacon: Centrifugo | Hub
    client_url: str

    async def user(self) -> UUID:
        """Somebody who has signed in."""
        user = uuid4()
        async with httpx.AsyncClient(trust_env=False) as client:
            answer = await client.get(f"{self.api.url}/api/me", headers=self.api.token(user))
            assert answer.status_code == 200
        return user

    def portal_token(self, user: UUID, *, lives_s: int | None = None) -> str:
        if lives_s is None:
            return self.tokens.issue_portal(str(user)).text
        expires_at = int(CLOCK.now().timestamp()) + lives_s
        return self.tokens.issue(replace(portal_identity(str(user)), expires_at=expires_at))

    def node_token(self, node_id: str, *, lives_s: int | None = None) -> str:
        if lives_s is None:
            return self.tokens.issue_node(node_id, NODE_KEY).text
        expires_at = int(CLOCK.now().timestamp()) + lives_s
        return self.tokens.issue(replace(node_identity(node_id, NODE_KEY), expires_at=expires_at))


@dataclass
class CentrifugoSite(Site):
    beacon: Centrifugo
    server: centrifugo.Centrifugo


@dataclass
class Rules:
    """The gate with everything open, and what its rules ask."""

    gate: Gate
    tokens: ConnectionTokens
    nodes: KnownNodes
    watched: Watched

    @classmethod
    def over(cls, ledger: Ledger) -> "Rules":
        access = Access(ledger, AccessSettings(jwt_secret=SECRET), CLOCK)
        watched, nodes = Watched(CLOCK), KnownNodes()
        gate = open_gate(access, ledger, watched)
        open_nodes(gate, nodes)
        return cls(gate, ConnectionTokens(SECRETS.centrifugo_token_secret, CLOCK), nodes, watched)


@asynccontextmanager
async def hub_site(ledger: Ledger, vault: Vault) -> AsyncIterator[Site]:
    rules = Rules.over(ledger)
    hub = Hub(rules.gate, rules.tokens, CLOCK)
    running = asyncio.create_task(hub.run())
    tokens = token_handler(rules.tokens, client_url="", public_url="")
    async with serve(ledger, vault, handlers=[tokens], open_socket=partial(HubSocket, hub, ())) as api:
        yield Site(ledger, api, rules.tokens, rules.nodes, rules.watched, hub, websocket_url(api.url))
        await hub.stop()
    await running


@asynccontextmanager
async def centrifugo_site(
    ledger: Ledger,
    vault: Vault,
    folder: Path,
    *,
    redis_url: str,
    is_connect_asked: bool = False,
    shown_secret: str = SECRETS.centrifugo_proxy_secret,
) -> AsyncIterator[CentrifugoSite]:
    rules = Rules.over(ledger)
    proxies = proxy_router(rules.gate, rules.tokens, SECRETS.centrifugo_proxy_secret)
    async with serve(ledger, vault, open_handlers=[proxies]) as api:
        written = configuration(
            sentinel_url=api.url,
            redis=RedisServer([redis_url]),
            origins=[],
            is_connect_asked=is_connect_asked,
        )
        stand_alone(written)
        known = msgspec.structs.replace(SECRETS, centrifugo_proxy_secret=shown_secret)
        server = centrifugo.Centrifugo(
            folder, written, api_key=SECRETS.centrifugo_api_key, environment=environment(known)
        )
        await server.start()
        beacon = Centrifugo(settings_for(server), CollectorRegistry())
        await beacon.start()
        try:
            yield CentrifugoSite(
                ledger,
                api,
                rules.tokens,
                rules.nodes,
                rules.watched,
                beacon,
                server.client_url,
                server,
            )
        finally:
            await beacon.stop()
            server.stop()


def stand_alone(written: dict[str, Any]) -> None:
    """Centrifugos on one Redis are one Centrifugo, unless their keys begin differently."""
    written["engine"]["redis"]["prefix"] = uuid4().hex


def settings_for(server: centrifugo.Centrifugo, **other: str) -> BeaconSettings:
    return BeaconSettings(
        centrifugo_url=server.url,
        centrifugo_api_key=other.get("api_key", SECRETS.centrifugo_api_key),
        centrifugo_token_secret=SECRETS.centrifugo_token_secret,
        centrifugo_proxy_secret=SECRETS.centrifugo_proxy_secret,
    )
