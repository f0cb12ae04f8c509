"""A job over the endpoints that Centrifugo asks, in front of the framework: the test is the Centrifugo."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from shoal.beacon.configuration import PROXY_SECRET_HEADER
from shoal.beacon.tokens import node_identity
from shoal.brain.connection import Brain
from shoal.ledger.pool import Ledger

from .site import FieldNode, Json, Site, eventually, sentinel

pytestmark = pytest.mark.newest_servers

SECRET = "what both sides know"


@pytest.fixture
async def site(
    database_url: str, valkey_url: str, ledger: Ledger, brain: Brain, tmp_path: Path
) -> AsyncIterator[Site]:
    given = {
        "centrifugo_url": "http://127.0.0.1:9",  # nobody is there: pushes are lost
        "centrifugo_api_key": "key",
        "centrifugo_proxy_secret": SECRET,
    }
    async with sentinel(database_url, valkey_url, tmp_path, ledger=ledger, brain=brain, **given) as site:
        yield site


class ProxiedNode(FieldNode):
    async def ask(self, endpoint: str, secret: str = SECRET, **said: Any) -> httpx.Response:
        asked = {
            "client": "c",
            "user": self.id,
            "meta": dict(node_identity(self.id, self.identity.public_key).meta),
            **said,
        }
        return await self.site.http.post(
            f"{self.site.url}/proxy/{endpoint}", json=asked, headers={PROXY_SECRET_HEADER: secret}
        )

    async def call(self, method: str, data: Any) -> Any:
        answer = (await self.ask("rpc", method=method, data=data)).json()
        assert "result" in answer, answer
        return answer["result"]["data"]


async def claimed(site: Site) -> tuple[ProxiedNode, Any]:
    owner, node = await site.user(), ProxiedNode(site)
    code = (await node.register())["claimCode"]
    await site.ask(owner, "POST", "/api/nodes/claim", {"claimCode": code})
    await node.heartbeat()
    return node, owner


async def test_a_job_is_computed_through_the_proxy(site: Site) -> None:
    node, owner = await claimed(site)
    job_id = await site.start(owner, iterations=200, size=10)
    assert (await node.work_until_ended(owner, job_id))["status"] == "complete"


async def test_a_result_may_be_published(site: Site) -> None:
    node, owner = await claimed(site)
    await site.start(owner, iterations=10, size=10)
    await eventually(lambda: held_by(node))
    ((chunk_id, chunk),) = node.held.items()
    said = {"chunkId": chunk_id, "result": node.result_of(chunk)}
    published = await node.ask("publish", channel="chunks:complete", data=said)
    assert published.json() == {"result": {"skip_history": True}}
    again = await node.ask("publish", channel="chunks:complete", data={**said, "chunkId": "7b.0.1"})
    assert again.json() == {"error": {"code": 1000, "message": "chunk not found"}}


async def test_only_who_knows_the_secret_is_answered(site: Site) -> None:
    node, _ = await claimed(site)
    for secret in ("", "wrong"):
        refused = await node.ask("rpc", secret, method="getAssignedChunks", data={})
        assert (refused.status_code, refused.json()["code"]) == (403, "proxy_secret_wrong")


@pytest.mark.parametrize("body", [b"", b"{", b"[1]", b'{"client":7}', b" " * 300_000, b"[" * 100_000])
async def test_what_centrifugo_never_sends_is_a_bad_request(site: Site, body: bytes) -> None:
    answer = await site.http.post(
        f"{site.url}/proxy/rpc", content=body, headers={PROXY_SECRET_HEADER: SECRET}
    )
    assert answer.json()["error"]["code"] == 107


async def test_a_stranger_and_a_revoked_node_are_cut(site: Site) -> None:
    node, owner = await claimed(site)
    stranger = ProxiedNode(site)
    stranger.id = node.id  # with a key of its own
    gone = {"disconnect": {"code": 4501, "reason": "not welcome"}}
    assert (await stranger.ask("rpc", method="getAssignedChunks", data={})).json() == gone
    await site.ask(owner, "DELETE", f"/api/nodes/{node.id}", status=204)
    assert (await node.ask("rpc", method="getAssignedChunks", data={})).json() == gone


async def test_a_brain_that_is_away_is_an_error_that_passes(site: Site) -> None:
    node, _ = await claimed(site)
    client: Any = site.brain.client
    await client.config_set("maxmemory", 1)
    try:
        await client.config_set("maxmemory-policy", "noeviction")
        answer = (await node.ask("rpc", method="heartbeat", data=heartbeat())).json()
    finally:
        await client.config_set("maxmemory", 0)
    assert answer == {"error": {"code": 100, "message": "internal server error", "temporary": True}}
    assert (await node.heartbeat())["lost"] == []


def heartbeat() -> Json:
    return {"chunks": {}, "engines": ["waves@1"], "maxParallel": 1}


async def held_by(node: ProxiedNode) -> Json:
    await node.resync()
    return node.held
