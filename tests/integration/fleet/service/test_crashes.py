"""A sentinel may die between any two steps: what it left is found and finished, once."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from shoal.brain.connection import Brain
from shoal.fleet.brain import FleetBrain
from shoal.fleet.chores import FleetClaimer
from shoal.fleet.model import Attempt, Completion, Moments
from shoal.ledger.pool import Ledger

from .site import FieldNode, Json, Site, eventually, sentinel

pytestmark = pytest.mark.newest_servers


async def task_of(site: Site, job_id: UUID) -> tuple[str, UUID]:
    """Its only task, and the token under which it is claimed, once it is."""

    async def look() -> Any:
        async with site.ledger.connection() as connection:
            return await connection.fetchrow(
                "SELECT id, claim_token FROM job_tasks WHERE job_id = $1 AND status = 'claimed'", job_id
            )

    row = await eventually(look)
    return str(row["id"]), row["claim_token"]


async def count_behind_the_service(node: FieldNode) -> None:
    """Complete everything it holds in the brain alone: whoever was told AGGREGATE is dead."""
    brain = FleetBrain(node.site.brain.client)
    while node.held:
        chunk_id, chunk = node.held.popitem()
        attempt = Attempt.parse(chunk_id)
        assert attempt is not None
        found = node.result_of(chunk)
        moments = Moments(
            found["iterations"],
            found["meanDps"],
            found["stdDps"] ** 2 * found["iterations"],
            found["minDps"],
            found["maxDps"],
        )
        (done,) = await brain.complete_chunk(
            [Completion(node=node.id, attempt=attempt, moments=moments, wanted=0)]
        )
        assert done.verdict == "OK"
        await node.resync()


async def test_a_full_plan_whose_last_answer_was_lost_is_aggregated(site: Site) -> None:
    owner = await site.user()
    async with site.node(owner) as node:
        job_id = await site.start(owner, iterations=30, size=10)
        await node.has_work(3)
        await count_behind_the_service(node)
        assert (await site.ended(owner, job_id))["result"]["totalIterations"] == 30


async def test_an_aggregation_that_was_left_is_taken_over(site: Site) -> None:
    owner = await site.user()
    async with site.node(owner) as node:
        job_id = await site.start(owner, iterations=10, size=10)
        await node.has_work()
        task, _ = await task_of(site, job_id)
        client: Any = site.brain.client
        # The one who died has the lock since long ago.
        await client.hset(f"{{job}}:{task}", mapping={"lock": "dead", "lock_at": 1})
        await count_behind_the_service(node)
        assert (await site.ended(owner, job_id))["status"] == "complete"


async def test_a_result_that_was_written_before_the_plan_was_dropped_stays(site: Site) -> None:
    owner = await site.user()
    async with site.node(owner) as node:
        job_id = await site.start(owner)
        await node.has_work()
        task, token = await task_of(site, job_id)
        async with site.ledger.connection() as connection:
            await connection.execute(
                "SELECT shoal.complete_tasks('fleet', ARRAY[$1::uuid], ARRAY[$2::uuid], ARRAY['7'::jsonb])",
                UUID(task),
                token,
            )
        await eventually(site.left_of_jobs, lambda keys: keys == [])
        assert node.held == {}
        assert (await site.job(owner, job_id))["result"] == 7


async def test_a_cancelled_job_is_not_completed_by_its_last_chunk(site: Site) -> None:
    owner = await site.user()
    async with site.node(owner) as node:
        job_id = await site.start(owner, iterations=10, size=10)
        await node.has_work()
        async with site.ledger.transaction() as connection:
            await connection.execute("SELECT cancel_job($1)", job_id)
            await count_behind_the_service(node)  # before anybody hears of it
        await eventually(site.left_of_jobs, lambda keys: keys == [])
        assert (await site.job(owner, job_id))["status"] == "cancelled"


async def test_an_older_attempt_leaves_no_plan_in_the_way_of_the_next(site: Site) -> None:
    owner = await site.user()
    async with site.node(owner) as node:
        job_id = await site.start(owner, iterations=100, size=10)
        await node.has_work()
        task, _ = await task_of(site, job_id)
        client: Any = site.brain.client
        await client.hset(f"{{job}}:{task}", "token", "0" * 32)
        await eventually(
            lambda: client.hget(f"{{job}}:{task}", "token"), lambda token: token not in {None, b"0" * 32}
        )
        assert (await node.work_until_ended(owner, job_id))["status"] == "complete"


async def test_what_an_owner_set_is_followed_when_nobody_told_the_brain(site: Site) -> None:
    owner = await site.user()
    async with site.node(owner) as node:
        await site.start(owner, iterations=1000, size=10)
        await node.has_work()
        async with site.ledger.transaction() as connection:
            await connection.execute("SELECT change_node($1, $2)", UUID(node.id), {"paused": True})

        client: Any = site.brain.client
        await eventually(
            lambda: client.hget(f"{{node}}:{node.id}:state", "paused"), lambda paused: paused == b"1"
        )
        async with site.ledger.transaction() as connection:
            await connection.execute("SELECT revoke_node($1)", UUID(node.id))
        async with asyncio.timeout(10):
            assert await node.left == 4501
        assert await client.exists(f"{{node}}:{node.id}:state") == 0


async def test_two_sentinels_share_a_fleet_and_one_goes_on_alone(
    database_url: str, valkey_url: str, ledger: Ledger, brain: Brain, tmp_path: Path
) -> None:
    another = partial(sentinel, database_url, valkey_url, tmp_path, ledger=ledger, brain=brain)
    async with another() as second:
        owner = await second.user()
        async with another() as first, second.node(owner) as near, first.node(owner) as far:
            job_id = await first.start(owner, iterations=200, size=10)
            await eventually(lambda: resynced(near))
            await eventually(lambda: resynced(far))
            await asyncio.gather(near.work(), far.work())
            assert (await second.ended(owner, job_id))["result"]["totalIterations"] == 200
            left_open = await first.start(owner, iterations=200, size=10)
            await eventually(lambda: resynced(far))
        # The first one has ended, with its node, and with what it led.
        async with second.node(owner) as node:
            client: Any = brain.client
            await client.hincrby(f"{{node}}:{far.id}:state", "last_heartbeat", -100_000)
            await client.zadd("{node}:alive", {far.id: 1})
            await client.hset("{node}:watch", "since", 1)
            assert (await node.work_until_ended(owner, left_open))["result"]["totalIterations"] == 200
    async with ledger.connection() as connection:
        assert await connection.fetchval("SELECT max(attempts) FROM job_tasks") == 1


async def test_tasks_are_claimed_also_when_nobody_says_so() -> None:
    """A notification may be lost: the claimer looks by itself."""

    class Counting:
        looks = 0

        async def claim(self) -> int:
            self.looks += 1
            return 0

    opening = Counting()
    claimer = FleetClaimer(opening, asyncio.Event(), look_s=0.01)  # type: ignore[arg-type]  # all it asks of it
    running = asyncio.create_task(claimer.run())

    async def looks() -> int:
        return opening.looks

    await eventually(looks, lambda count: count > 3)
    await claimer.stop()
    await running


async def resynced(node: FieldNode) -> Json:
    await node.heartbeat()
    await node.resync()
    return node.held
