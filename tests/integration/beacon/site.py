"""A sentinel's side of the beacon with all rules open, and a beacon that asks it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
from prometheus_client import CollectorRegistry

from shoal.access.service import Access
from shoal.access.settings import AccessSettings
from shoal.api.beacon import token_handler
from shoal.api.proxy import proxy_router
from shoal.beacon.centrifugo import Centrifugo
from shoal.beacon.configuration import RedisServer, configuration, environment
from shoal.beacon.model import Refused
from shoal.beacon.nodes import open_nodes
from shoal.beacon.settings import BeaconSettings
from shoal.beacon.tokens import ConnectionTokens, node_identity
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

    def register(self) -> str:
        node_id = str(uuid4())
        self.known[node_id] = str(node_identity(node_id, NODE_KEY).meta["pubkey_hash"])
        return node_id

    async def is_welcome(self, node_id: str, pubkey_hash: str) -> bool:
        return self.known.get(node_id) == pubkey_hash

    async def online(self) -> Sequence[str]:
        return sorted(self.known)

    async def complete_chunk(self, node_id: str, result: Any) -> None:
        if result == "unknown":
            raise Refused(1000, "chunk not found")
        self.handed_in.append((node_id, result))


@dataclass
class Site:
    api: Api
    access: Access
    tokens: ConnectionTokens
    nodes: KnownNodes
    watched: Watched
    beacon: Centrifugo
    client_url: str
    server: centrifugo.Centrifugo

    async def user(self) -> UUID:
        """Somebody who has signed in."""
        user = uuid4()
        async with httpx.AsyncClient(trust_env=False) as client:
            answer = await client.get(f"{self.api.url}/api/me", headers=self.api.token(user))
            assert answer.status_code == 200
        return user

    def portal_token(self, user: UUID) -> str:
        return self.tokens.issue_portal(str(user)).text

    def node_token(self, node_id: str) -> str:
        return self.tokens.issue_node(node_id, NODE_KEY).text


@asynccontextmanager
async def site(
    ledger: Ledger, vault: Vault, folder: Path, *, redis_url: str, is_connect_asked: bool = False
) -> AsyncIterator[Site]:
    tokens = ConnectionTokens(SECRETS.centrifugo_token_secret, CLOCK)
    access = Access(ledger, AccessSettings(jwt_secret=SECRET), CLOCK)
    watched, nodes = Watched(CLOCK), KnownNodes()
    gate = open_gate(access, ledger, watched)
    open_nodes(gate, nodes)
    proxies = proxy_router(gate, tokens, SECRETS.centrifugo_proxy_secret)
    handlers = [token_handler(tokens, client_url="", public_url="")]
    async with serve(ledger, vault, handlers=handlers, open_handlers=[proxies]) as api:
        written = configuration(
            sentinel_url=api.url,
            redis=RedisServer([redis_url]),
            origins=["https://shoal.example.org"],
            is_connect_asked=is_connect_asked,
        )
        server = centrifugo.Centrifugo(
            folder, written, api_key=SECRETS.centrifugo_api_key, environment=environment(SECRETS)
        )
        await server.start()
        beacon = Centrifugo(settings_for(server), CollectorRegistry())
        await beacon.start()
        try:
            yield Site(api, access, tokens, nodes, watched, beacon, server.client_url, server)
        finally:
            await beacon.stop()
            server.stop()


def settings_for(server: centrifugo.Centrifugo, **other: str) -> BeaconSettings:
    return BeaconSettings(
        centrifugo_url=server.url,
        centrifugo_api_key=other.get("api_key", SECRETS.centrifugo_api_key),
        centrifugo_token_secret=SECRETS.centrifugo_token_secret,
        centrifugo_proxy_secret=SECRETS.centrifugo_proxy_secret,
    )
