"""What owners do with their nodes, and what follows at once."""

import asyncio
import time
from typing import Any
from uuid import uuid4

import pytest

from shoal.fleet.owners import GUESSES

from .site import FieldNode, Site, eventually

pytestmark = pytest.mark.newest_servers


async def test_an_unclaimed_node_gets_nothing(site: Site) -> None:
    owner = await site.user()
    async with site.node() as node:
        await site.start(owner, audience="public")
        await asyncio.sleep(0.5)
        reply = await node.heartbeat()
        assert (node.held, reply["config"]["userId"]) == ({}, None)


async def test_a_claim_code_works_once_and_the_node_begins(site: Site) -> None:
    owner, other = await site.user(), await site.user()
    job_id = await site.start(owner)
    node = FieldNode(site)
    code = (await node.register(name="laptop"))["claimCode"]
    await node.connect()
    await node.heartbeat()

    wrong = await site.ask(owner, "POST", "/api/nodes/claim", {"claimCode": "AAAA-AAAA-AAAA"}, status=404)
    assert wrong["code"] == "claim_code_unknown"
    claimed = await site.ask(owner, "POST", "/api/nodes/claim", {"claimCode": code})
    assert claimed["name"] == "laptop"
    await site.ask(other, "POST", "/api/nodes/claim", {"claimCode": code}, status=404)
    await eventually(lambda: _said(node, "ping"))
    await node.heartbeat()
    told = next(push for push in node.pushes if push["type"] == "config")
    assert told == {"type": "config", "userId": str(owner), "name": "laptop", "maxParallel": None}
    assert (await node.work_until_ended(owner, job_id))["status"] == "complete"
    await node.leave()


async def test_guessing_codes_is_slow(site: Site) -> None:
    owner = await site.user()
    for _ in range(GUESSES.limit):
        await site.ask(owner, "POST", "/api/nodes/claim", {"claimCode": "AAAA-AAAA-AAAA"}, status=404)
    await site.ask(owner, "POST", "/api/nodes/claim", {"claimCode": "AAAA-AAAA-AAAA"}, status=429)


async def test_others_neither_see_nor_change_a_node(site: Site) -> None:
    owner, other = await site.user(), await site.user()
    async with site.node(owner) as node:
        path = f"/api/nodes/{node.id}"
        assert (await site.ask(owner, "GET", path))["state"] == "online"
        assert (await site.ask(other, "GET", "/api/nodes"))["nodes"] == []
        await site.ask(other, "GET", path, status=404)
        await site.ask(other, "PATCH", path, {"paused": True}, status=404)
        await site.ask(other, "PUT", f"{path}/access", {"access": []}, status=404)
        await site.ask(other, "DELETE", path, status=404)
        assert (await site.ask(owner, "GET", path))["state"] == "online"


async def test_a_revoked_node_is_out_within_a_second(site: Site) -> None:
    owner = await site.user()
    async with site.node(owner) as node, site.node(owner) as other:
        job_id = await site.start(owner, iterations=100, size=10)
        await node.has_work()
        began = time.monotonic()
        await site.ask(owner, "DELETE", f"/api/nodes/{node.id}", status=204)
        async with asyncio.timeout(2):
            code = await node.left
        assert (code, time.monotonic() - began < 1.0) == (4501, True)

        refused = await node.knock("POST", "/nodes/token")
        assert (refused.status_code, refused.json()["code"]) == (403, "node_revoked")
        refused = await node.knock("POST", "/nodes/register", b"{}")
        assert (refused.status_code, refused.json()["code"]) == (403, "node_revoked")
        assert (await site.ask(owner, "GET", f"/api/nodes/{node.id}"))["state"] == "revoked"
        assert (await other.work_until_ended(owner, job_id))["status"] == "complete"


async def test_a_revoked_node_does_not_come_back_with_its_token(site: Site) -> None:
    owner = await site.user()
    async with site.node(owner) as node:
        await site.ask(owner, "DELETE", f"/api/nodes/{node.id}", status=204)
        await node.left
        client: Any = site.brain.client
        await client.flushall()  # also when the brain forgot
        await node.client.disconnect()
        node.left = asyncio.get_running_loop().create_future()
        await node.client.connect()
        async with asyncio.timeout(5):
            assert await node.left == 4501


async def test_a_paused_node_gets_nothing_until_it_goes_on(site: Site) -> None:
    owner = await site.user()
    async with site.node(owner) as node:
        path = f"/api/nodes/{node.id}"
        assert (await site.ask(owner, "PATCH", path, {"paused": True}))["state"] == "paused"
        await eventually(lambda: _said(node, "config", maxParallel=0))
        job_id = await site.start(owner, iterations=10, size=10)
        await asyncio.sleep(1.5)
        await node.heartbeat()
        assert node.held == {}

        await site.ask(owner, "PATCH", path, {"paused": False})
        await node.heartbeat()
        assert (await node.work_until_ended(owner, job_id))["status"] == "complete"


async def test_an_owners_limit_holds(site: Site) -> None:
    owner = await site.user()
    async with site.node(owner, parallel=8) as node:
        path = f"/api/nodes/{node.id}"
        limited = await site.ask(owner, "PATCH", path, {"maxParallel": 1, "name": "slow"})
        assert (limited["maxParallel"], limited["name"]) == (1, "slow")
        await eventually(lambda: _said(node, "config", maxParallel=1, name="slow"))
        await node.heartbeat()
        await site.start(owner, iterations=1000, size=10)
        await node.has_work()
        await asyncio.sleep(1.5)
        assert len(node.held) == 2  # what runs, and one that waits
        freed = await site.ask(owner, "PATCH", path, {"maxParallel": None})
        assert (freed["maxParallel"], freed["name"]) == (None, "slow")


async def test_access_decides_whose_jobs_a_node_runs(site: Site) -> None:
    owner, guest, stranger = await site.user(), await site.user(), await site.user()
    async with site.node(owner) as node:
        path = f"/api/nodes/{node.id}/access"
        await site.start(guest, audience="shared")
        await site.start(stranger, audience="shared")
        public = await site.start(stranger, iterations=40, size=10, audience="public")
        await asyncio.sleep(1.5)
        assert node.held == {}

        let_in = {"access": [{"accessType": "user", "targetId": str(guest)}]}
        assert (await site.ask(owner, "PUT", path, let_in))["access"] == let_in["access"]
        await node.has_work()
        assert len({chunk["jobId"] for chunk in node.held.values()}) == 1

        await site.ask(owner, "PUT", path, {"access": [{"accessType": "public"}]})
        await eventually(lambda: _jobs_of(node), lambda jobs: jobs == {str(public)})
        lost = [push for push in node.pushes if push["type"] == "drop"]
        assert lost
        assert (await node.work_until_ended(stranger, public))["status"] == "complete"


@pytest.mark.parametrize(
    "access",
    [
        {"accessType": "public", "targetId": "7"},
        {"accessType": "user", "targetId": "somebody"},
        {"accessType": "user"},
        {"accessType": "discord", "targetId": str(uuid4())},
        {"accessType": "friends", "targetId": "7"},
    ],
)
async def test_access_that_means_nothing_is_refused(site: Site, access: dict[str, str]) -> None:
    owner = await site.user()
    async with site.node(owner) as node:
        await site.ask(owner, "PUT", f"/api/nodes/{node.id}/access", {"access": [access]}, status=400)


async def test_nodes_come_in_pages(site: Site) -> None:
    owner = await site.user()
    for _ in range(3):
        code = (await FieldNode(site).register())["claimCode"]
        await site.ask(owner, "POST", "/api/nodes/claim", {"claimCode": code})
    first = await site.ask(owner, "GET", "/api/nodes?limit=2")
    rest = await site.ask(owner, "GET", f"/api/nodes?limit=2&cursor={first['next']}")
    assert (len(first["nodes"]), len(rest["nodes"]), rest["next"]) == (2, 1, None)


async def test_configs_are_named_by_what_they_say(site: Site) -> None:
    user, other = await site.user(), await site.user()
    one = await site.ask(user, "PUT", "/api/configs", {"b": 1, "a": [1.5, "ö"]})
    same = await site.ask(other, "PUT", "/api/configs", {"a": [1.5, "ö"], "b": 1})
    assert one == same
    big = await site.ask(user, "PUT", "/api/configs", ["x" * 100_000 for _ in range(6)], status=413)
    assert big["code"] == "config_too_large"


async def _said(node: FieldNode, kind: str, **what: Any) -> bool:
    return any(
        push["type"] == kind and all(push[name] == value for name, value in what.items())
        for push in node.pushes
    )


async def _jobs_of(node: FieldNode) -> set[str]:
    return {chunk["jobId"] for chunk in node.held.values()}
