"""Results on their way in: what is counted, and what is refused with which word."""

import asyncio
from typing import Any

import pytest
from centrifuge.exceptions import CentrifugeError  # type: ignore[import-untyped]  # it has no py.typed

from .site import FieldNode, Json, Site, eventually

pytestmark = pytest.mark.newest_servers

GOOD = {"meanDps": 10.0, "stdDps": 1.0, "minDps": 8.0, "maxDps": 12.0, "iterations": 10}


async def refusal_of(node: FieldNode, method: str, data: Any) -> int:
    with pytest.raises(CentrifugeError) as refused:
        await node.call(method, data)
    return int(refused.value.code)


@pytest.mark.parametrize(
    "wrong",
    [
        {"meanDps": 0.0, "stdDps": 0.0, "minDps": 0.0, "maxDps": 0.0},
        {"meanDps": -1.0},
        {"maxDps": 2e7},
        {"iterations": 9},
        {"iterations": 11},
        {"stdDps": 50.0},
        {"stdDps": -0.1},
        {"minDps": 11.0},
        {"maxDps": 9.0},
        {"meanDps": None},
        {"meanDps": "10"},
        {"more": 1},
        {"meanDps": 1e308, "maxDps": 1e308},
    ],
)
async def test_a_result_that_cannot_be_one_is_invalid_and_computed_again(site: Site, wrong: Json) -> None:
    owner = await site.user()
    async with site.node(owner) as node:
        job_id = await site.start(owner, iterations=10, size=10)
        (chunk_id,) = await node.has_work()
        answer = await node.complete(chunk_id, {**GOOD, **wrong}, wanted=0)

        assert answer["verdict"] == "INVALID"
        assert answer["reason"]
        assert (await site.job(owner, job_id))["status"] == "processing"
        assert (await node.work_until_ended(owner, job_id))["status"] == "complete"


async def test_a_number_that_is_not_one_does_not_get_in(site: Site) -> None:
    """Python's own JSON would read it, and then no comparison would refuse it."""
    owner = await site.user()
    async with site.node(owner) as node:
        await site.start(owner, iterations=10, size=10)
        (chunk_id,) = await node.has_work()
        left = node.left
        with pytest.raises((CentrifugeError, TimeoutError)):
            async with asyncio.timeout(3):
                await node.client.rpc(
                    "completeChunk", {"chunkId": chunk_id, "result": {**GOOD, "meanDps": float("nan")}}
                )
        assert left is not None
    async with site.ledger.connection() as connection:
        assert await connection.fetchval("SELECT count(*) FROM job_tasks WHERE status = 'complete'") == 0


async def test_a_repeat_is_already_completed_and_a_strangers_result_counts_nothing(site: Site) -> None:
    owner = await site.user()
    async with site.node(owner) as one, site.node(owner) as other:
        await site.start(owner, iterations=10, size=10)

        async def somebody() -> FieldNode | None:
            return next((node for node in (one, other) if node.held), None)

        holder: FieldNode = await eventually(somebody)
        stranger = other if holder is one else one
        ((chunk_id, chunk),) = holder.held.items()
        assert (await stranger.complete(chunk_id, GOOD))["verdict"] == "WRONG_NODE"
        assert (await holder.complete(chunk_id))["verdict"] == "OK"
        assert (await holder.complete(chunk_id, holder.result_of(chunk)))["verdict"] in {
            "ALREADY_COMPLETED",
            "NOT_FOUND",  # when the job has ended meanwhile
        }


async def test_what_is_published_has_the_codes_of_the_protocol(site: Site) -> None:
    owner = await site.user()
    async with site.node(owner, parallel=1) as node:
        await site.start(owner, iterations=1000, size=10)
        chunk_id = (await node.has_work())[0]

        async def publish(said: Json) -> int:
            try:
                await node.client.publish("chunks:complete", said)
            except CentrifugeError as refused:
                return int(refused.code)
            return 0

        assert await publish({"chunkId": chunk_id, "result": {**GOOD, "iterations": 3}}) == 1001
        await eventually(lambda: _resynced(node))
        chunk_id = min(node.held)
        result = node.result_of(node.held[chunk_id])
        assert await publish({"chunkId": "7b.1.1", "result": result}) == 1000
        assert await publish({"chunkId": chunk_id}) == 107
        told = len(node.pushes)
        assert await publish({"chunkId": chunk_id, "result": result}) == 0
        assert await publish({"chunkId": chunk_id, "result": result}) == 0
        await eventually(lambda: _pushed(node, told))


async def test_a_node_sees_nothing_of_anothers_work(site: Site) -> None:
    owner, other = await site.user(), await site.user()
    async with site.node(owner) as node, site.node(other) as stranger:
        await site.start(owner, config={"shift": 5})
        chunk = node.held[(await node.has_work())[0]]

        assert await node.call("getChunkInfo", {"chunkId": chunk["id"]}) == {
            name: value for name, value in chunk.items() if name != "type"
        }
        found = await node.call("getConfig", {"hash": chunk["configHash"]})
        assert found == {"config": {"shift": 5}, "hash": chunk["configHash"]}
        path = f"/config/{chunk['configHash']}"
        answer = await node.knock("GET", path)
        assert (answer.status_code, answer.content) == (200, b'{"shift":5}')

        assert stranger.held == {}
        assert await refusal_of(stranger, "getChunkInfo", {"chunkId": chunk["id"]}) == 1000
        assert await refusal_of(stranger, "getConfig", {"hash": chunk["configHash"]}) == 404
        assert (await stranger.knock("GET", path)).status_code == 404
        assert (await stranger.complete(chunk["id"], GOOD))["verdict"] == "WRONG_NODE"


@pytest.mark.parametrize(
    ("method", "data"),
    [
        ("heartbeat", {}),
        ("heartbeat", {"chunks": {}, "engines": ["no version"], "maxParallel": 1}),
        ("heartbeat", {"chunks": {"a": 2}, "engines": [], "maxParallel": 1}),
        ("heartbeat", {"chunks": {}, "engines": [], "maxParallel": 10**6}),
        ("completeChunk", {"chunkId": 7, "result": {}}),
        ("completeChunk", {"chunkId": "a.0.1", "result": [], "wanted": 1}),
        ("completeChunk", {"chunkId": "a.0.1", "result": {}, "wanted": -1}),
        ("failChunk", {"chunkId": "a.0.1"}),
        ("handBackChunks", {"chunkIds": "all"}),
        ("getConfig", {"hash": "../etc"}),
        ("getChunkInfo", None),
    ],
)
async def test_what_is_not_in_the_contract_is_a_bad_request(site: Site, method: str, data: Any) -> None:
    async with site.node(await site.user()) as node:
        assert await refusal_of(node, method, data) == 107


async def test_results_that_come_too_fast_are_put_off(site: Site) -> None:
    async with site.node(await site.user()) as node:

        async def hand_in() -> object:
            try:
                return (await node.complete("7b.1.1", GOOD))["verdict"]
            except CentrifugeError as refused:
                return refused.code, refused.temporary

        said = await asyncio.gather(*[hand_in() for _ in range(300)])
        assert 100 <= said.count("NOT_FOUND") <= 250
        assert set(said) == {"NOT_FOUND", (429, True)}


async def test_chunks_handed_back_go_to_others(site: Site) -> None:
    owner = await site.user()
    async with site.node(owner) as one:
        job_id = await site.start(owner, iterations=30, size=10)
        held = await one.has_work(3)
        await one.call("handBackChunks", {"chunkIds": held, "leaving": True})
        one.held.clear()
        async with site.node(owner) as other:
            assert (await other.work_until_ended(owner, job_id))["status"] == "complete"
        assert one.held == {}


async def _resynced(node: FieldNode) -> Json:
    await node.resync()
    return node.held


async def _pushed(node: FieldNode, told: int) -> bool:
    return any(push["type"] == "chunk" for push in node.pushes[told:])
