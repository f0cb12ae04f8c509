"""A job from its start to its result, over nodes; and what may go wrong on the way."""

import asyncio
from typing import Any
from uuid import UUID

import pytest

from shoal.app.engine_trial import try_engine
from tests.integration.beacon.listener import listener

from .engines import app
from .site import Site, eventually


async def test_a_job_is_computed_by_nodes_and_leaves_nothing_behind(site: Site) -> None:
    owner = await site.user()
    async with site.node(owner) as one, site.node(owner) as other:
        job_id = await site.start(owner, iterations=1000, size=10)
        await one.has_work()
        await other.has_work()
        done = await asyncio.gather(one.work(), other.work())
        job = await site.ended(owner, job_id)

    assert job["status"] == "complete"
    expected = try_engine(app, "waves", {}, iterations=1000)
    assert job["result"] == pytest.approx(expected, rel=1e-12)
    assert {name: job["result"][name] for name in ("minDps", "maxDps", "totalIterations")} == {
        name: expected[name] for name in ("minDps", "maxDps", "totalIterations")
    }
    assert sum(done) == 100
    assert min(done) > 20
    await eventually(site.left_of_jobs, lambda keys: keys == [])


@pytest.mark.newest_servers
async def test_collected_values_are_the_result_in_their_order(site: Site) -> None:
    owner = await site.user()
    async with site.node(owner) as node:
        job_id = await site.start(owner, "squares", iterations=55, size=10)
        job = await node.work_until_ended(owner, job_id)

    assert job["result"] == {"values": [number**2 for number in range(55)], "totalIterations": 55}


@pytest.mark.newest_servers
async def test_values_too_many_for_the_ledger_are_an_artifact(site: Site) -> None:
    owner = await site.user()
    async with site.node(owner) as node:
        job_id = await site.start(owner, "squares", iterations=20_000, size=2000)
        job = await node.work_until_ended(owner, job_id)

    assert job["result"] == {"artifact": "values.json", "totalIterations": 20_000}
    assert [one["name"] for one in job["artifacts"]] == ["values.json"]


@pytest.mark.newest_servers
async def test_a_node_that_comes_late_gets_chunks_with_its_heartbeat(site: Site) -> None:
    owner = await site.user()
    job_id = await site.start(owner, iterations=100, size=10)
    await eventually(site.left_of_jobs)

    async with site.node(owner) as node:
        assert node.held
        assert node.pushes == []
        reply = await node.heartbeat()
        assert reply["backlog"] == len(node.held)
        assert (await node.work_until_ended(owner, job_id))["status"] == "complete"


@pytest.mark.newest_servers
async def test_listeners_hear_how_many_chunks_are_done(site: Site) -> None:
    owner = await site.user()
    async with site.node(owner) as node:
        job_id = await site.start(owner, iterations=100, size=10)
        for chunk_id in (await node.has_work())[:5]:
            await node.complete(chunk_id, wanted=0)

        job = await eventually(lambda: site.job(owner, job_id), lambda job: job["progress"]["percent"] == 50)
        assert job["progress"]["message"] == "5 of 10 chunks"
        given = await site.ask(owner, "POST", "/api/token")
        async with listener(given["url"], given["token"]) as heard:
            told = await heard.listen(f"jobs:{job_id}")
        assert (told["type"], told["completed"], told["total"]) == ("progress", 5, 10)


@pytest.mark.newest_servers
async def test_a_cancelled_job_is_dropped_by_its_nodes_at_once(site: Site) -> None:
    owner = await site.user()
    async with site.node(owner) as node:
        job_id = await site.start(owner)
        held = await node.has_work()
        await site.ask(owner, "POST", f"/api/jobs/{job_id}/cancel")

        await eventually(lambda: _as_is(node.held), lambda held: not held, within_s=3)
        assert {one for push in node.pushes if push["type"] == "drop" for one in push["chunkIds"]} == set(
            held
        )
        assert await site.left_of_jobs() == []
        assert (await node.complete(held[0], {}))["verdict"] == "NOT_FOUND"


async def test_the_brain_loses_everything_and_the_answer_is_the_same(site: Site) -> None:
    owner = await site.user()
    async with site.node(owner) as node:
        job_id = await site.start(owner, iterations=500, size=10)
        for chunk_id in (await node.has_work())[:3]:
            await node.complete(chunk_id)
        client: Any = site.brain.client
        await client.flushall()

        await node.heartbeat()
        job = await node.work_until_ended(owner, job_id)

    assert job["result"] == pytest.approx(try_engine(app, "waves", {}, iterations=500), rel=1e-12)


@pytest.mark.newest_servers
async def test_a_claim_whose_sentinel_died_before_the_plan_is_opened_by_another(site: Site) -> None:
    owner = await site.user()
    async with site.ledger.transaction() as connection:
        # In one transaction, so that the claimer of this sentinel never sees it.
        job_id = await _start_and_claim(site, owner, connection)

    async with site.node(owner) as node:
        job = await node.work_until_ended(owner, job_id)
    assert job["status"] == "complete"
    async with site.ledger.connection() as connection:
        attempts = await connection.fetchval("SELECT attempts FROM job_tasks WHERE job_id = $1", job_id)
    assert attempts == 1


@pytest.mark.newest_servers
async def test_a_chunk_that_fails_everywhere_fails_its_job_with_what_was_said(site: Site) -> None:
    owner = await site.user()
    async with site.node(owner) as node:
        job_id = await site.start(owner, iterations=10, size=10)

        async def fail() -> str:
            await node.resync()
            for chunk_id in list(node.held):
                del node.held[chunk_id]
                await node.call("failChunk", {"chunkId": chunk_id, "code": "engine_failed", "reason": "no"})
            await node.heartbeat()
            return str((await site.job(owner, job_id))["status"])

        await eventually(fail, lambda status: status == "failed")
        job = await site.job(owner, job_id)
    assert "engine_failed: no" in job["error"]
    await eventually(site.left_of_jobs, lambda keys: keys == [])


@pytest.mark.newest_servers
async def test_a_job_that_failed_can_be_tried_again(site: Site) -> None:
    owner = await site.user()
    async with site.node(owner) as node:
        job_id = await site.start(owner, iterations=100, size=10)
        await node.has_work()
        await site.ask(owner, "POST", f"/api/jobs/{job_id}/cancel")
        await eventually(site.left_of_jobs, lambda keys: keys == [])
        await site.ask(owner, "POST", f"/api/jobs/{job_id}/retry")

        assert (await node.work_until_ended(owner, job_id))["status"] == "complete"


@pytest.mark.newest_servers
async def test_a_task_that_cannot_be_planned_fails_and_says_why(site: Site) -> None:
    owner = await site.user()
    async with site.ledger.transaction() as connection:
        await connection.execute("SELECT shoal.register_job_type('odd', '1', '{}', '[]')")
        graph = {
            "tasks": [
                {"name": "odd", "task_type": "fleet:odd", "executor": "fleet", "input": {"engine": "odd"}}
            ]
        }
        job_id = (
            await connection.fetchval("SELECT create_jobs($1, $2)", [{"type": "odd", "graph": graph}], owner)
        )[0]

    job = await site.ended(owner, job_id)
    assert job["status"] == "failed"
    assert "The fleet cannot run this task" in job["error"]


async def _as_is(found: Any) -> Any:
    return found


async def _start_and_claim(site: Site, owner: UUID, connection: Any) -> UUID:
    await connection.execute("SELECT shoal.register_job_type('waves', '1', '{}', '[]')")
    job_id: UUID = await app.start("waves", {}, connection=connection, user_id=owner)
    claimed = await connection.fetch("SELECT shoal.claim_fleet_tasks(1)")
    assert len(claimed) == 1
    return job_id
