"""The last tasks of a job end at the same time: the job ends, whoever comes last."""

import asyncio

from .ledger_client import LedgerClient, PlannedJob, graph, task
from .races import begun_and_waiting

OVERLAPPING = 12
FREE_RUNNING = 30


async def test_two_completions_that_overlap_end_the_job(ann: LedgerClient, bob: LedgerClient) -> None:
    """Trap 4.1: each counts before the other commits, and the job stays at 50 % for ever."""
    for _ in range(OVERLAPPING):
        job = await ann.start(graph(task("a"), task("b")))
        of_ann, of_bob = await ann.claim_one(), await bob.claim_one()
        async with ann.connection.transaction():
            await ann.complete(of_ann)
            completing = await begun_and_waiting(bob.complete(of_bob), of=bob, seen_by=ann)
        assert await completing == ["completed"]

        row = await ann.job(job.id)
        assert (row["status"], row["tasks_open"], row["progress"]["percent"]) == ("complete", 0, 100)


async def test_two_completions_that_overlap_release_what_needs_both(
    ann: LedgerClient, bob: LedgerClient
) -> None:
    for _ in range(OVERLAPPING):
        job = await ann.start(graph(task("a"), task("b"), task("both", "a", "b")))
        of_ann, of_bob = await ann.claim_one(), await bob.claim_one()
        async with ann.connection.transaction():
            await ann.complete(of_ann)
            completing = await begun_and_waiting(bob.complete(of_bob), of=bob, seen_by=ann)
        await completing

        both = await bob.claim_one()
        assert both.task_id == job.tasks["both"]
        await bob.complete(both)
        assert (await ann.job(job.id))["status"] == "complete"


async def test_a_failure_and_a_completion_that_overlap_end_the_job(
    ann: LedgerClient, bob: LedgerClient
) -> None:
    for _ in range(OVERLAPPING):
        job = await ann.start(graph(task("a"), task("b"), task("both", "a", "b")))
        of_ann, of_bob = await ann.claim_one(), await bob.claim_one()
        async with ann.connection.transaction():
            await ann.fail(of_ann, permanent=True)
            completing = await begun_and_waiting(bob.complete(of_bob), of=bob, seen_by=ann)
        await completing

        assert (await ann.job(job.id))["status"] == "failed"
        assert await ann.statuses(job.id) == {"a": "failed", "b": "complete", "both": "failed"}


async def test_completions_at_the_same_moment_end_every_job(ann: LedgerClient, bob: LedgerClient) -> None:
    """The same as above, with the transactions left to meet as they like."""
    jobs: list[PlannedJob] = []
    for _ in range(FREE_RUNNING):
        jobs.append(await ann.start(graph(task("a"), task("b"), task("both", "a", "b"))))
        of_ann, of_bob = await ann.claim_one(), await bob.claim_one()
        await asyncio.gather(ann.complete(of_ann), bob.complete(of_bob))
        await bob.complete(await bob.claim_one())

    unfinished = await ann.connection.fetch("SELECT id, status FROM jobs WHERE status <> 'complete'")
    assert unfinished == []


async def test_batches_over_the_same_jobs_in_opposite_orders_do_not_block_each_other(
    ann: LedgerClient, bob: LedgerClient
) -> None:
    """Trap 4.15: a trigger that updates several jobs in no order deadlocks with its like."""
    for _ in range(OVERLAPPING):
        for _ in range(6):
            await ann.start(graph(task("a"), task("b")))
        claims = await ann.claim(12)
        bob.worker = ann.worker
        await asyncio.gather(ann.complete(*claims[::2]), bob.complete(*reversed(claims[1::2])))

    assert await ann.connection.fetchval("SELECT count(*) FROM jobs WHERE status <> 'complete'") == 0


async def test_a_batch_over_many_jobs_counts_each_once(ann: LedgerClient) -> None:
    jobs = [await ann.start(graph(task("a"), task("b"), task("c", "a"))) for _ in range(5)]
    await ann.complete(*await ann.claim(10))

    for job in jobs:
        row = await ann.job(job.id)
        assert (row["tasks_total"], row["tasks_open"], row["phase_done"]) == (4, 1, [1, 2])


async def test_the_result_of_a_job_is_the_output_of_its_result_task(ann: LedgerClient) -> None:
    job = await ann.start(graph(task("a"), task("b"), result="a"))
    for claim in await ann.claim(2):
        await ann.complete(claim, output={"by": claim.task_name})
    assert (await ann.job(job.id))["result"] == {"by": "a"}


async def test_a_failed_job_tells_the_error_of_what_failed_first(ann: LedgerClient) -> None:
    job = await ann.start(graph(task("a"), task("b", "a"), task("c")))
    claim_a, claim_c = await ann.claim(2)
    await ann.fail(claim_a, error="the disk is full", permanent=True)
    await ann.fail(claim_c, error="so it is", permanent=True)

    row = await ann.job(job.id)
    assert (row["status"], row["error"], row["result"]) == ("failed", "the disk is full", None)
