"""Cancelling jobs and tasks, whatever their tasks are doing, and whoever is in the middle of a report."""

import asyncio
from uuid import uuid4

from shoal.runtime.errors import NotFound

from .conftest import OpenClient
from .ledger_client import LedgerClient, graph, task
from .races import begun_and_waiting, refused, waits_for

# Whoever cancels a job waits, with its lock, for whoever holds the advisory lock. (A second session that
# queues for the row would not do: the cancel may overtake it.)
HOLD_CANCELLED_JOBS = """
  CREATE FUNCTION public.hold_cancelled_job() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM pg_advisory_xact_lock(1);
    RETURN new;
  END
  $$;
  CREATE TRIGGER hold_cancelled_job BEFORE UPDATE ON public.jobs FOR EACH ROW
    WHEN (new.status = 'cancelled') EXECUTE FUNCTION public.hold_cancelled_job();
"""


async def test_everything_that_has_not_ended_is_cancelled(ann: LedgerClient) -> None:
    job = await ann.start(graph(*(task(name) for name in "abcd"), task("e", "d")))
    done, delayed, claimed = await ann.claim(3)
    await ann.complete(done)
    await ann.fail(delayed, retry_after_s=1000)
    await ann.heartbeat(claimed, progress=0.5)

    assert await ann.cancel_job(job.id) == "cancelled"

    assert await ann.statuses(job.id) == {"a": "complete"} | dict.fromkeys("bcde", "cancelled")
    row = await ann.job(job.id)
    assert (row["status"], row["error"], row["tasks_open"], row["tasks_cancelled"]) == (
        "cancelled",
        "Cancelled.",
        0,
        4,
    )
    await ann.let_delays_pass()
    assert await ann.claim(9) == []
    assert await ann.connection.fetchval("SELECT count(*) FROM task_leases") == 0


async def test_a_job_that_was_not_planned_yet_never_is(ann: LedgerClient) -> None:
    await ann.register()
    job = await ann.create()
    (plan,) = await ann.claim(1, types=["plan:graph"])
    await ann.cancel_job(job)
    assert await ann.plan(plan, graph(task("a"))) is False
    assert [row["name"] for row in await ann.tasks(job)] == ["plan"]


async def test_a_job_that_has_ended_stays_as_it_ended(ann: LedgerClient) -> None:
    job = await ann.start(graph(task("a")))
    await ann.complete(await ann.claim_one())
    assert await ann.cancel_job(job.id) == "complete"
    assert await ann.cancel_task(job.tasks["a"]) == "complete"


async def test_cancelling_twice_changes_nothing(ann: LedgerClient) -> None:
    job = await ann.start(graph(task("a")))
    await ann.cancel_job(job.id)
    before = await ann.job(job.id)
    assert await ann.cancel_job(job.id) == "cancelled"
    assert await ann.job(job.id) == before


async def test_what_does_not_exist_cannot_be_cancelled(ann: LedgerClient) -> None:
    with refused(NotFound, "job_not_found"):
        await ann.cancel_job(uuid4())
    with refused(NotFound, "task_not_found"):
        await ann.cancel_task(uuid4())


async def test_a_cancelled_task_is_a_failure_to_those_that_need_it(ann: LedgerClient) -> None:
    job = await ann.start(
        graph(
            task("a"),
            task("fails", "a"),
            task("skips", "a", on_failure="skip"),
            task("ignores", "a", on_failure="ignore"),
        )
    )
    held = await ann.claim_one()

    assert await ann.cancel_task(job.tasks["a"]) == "cancelled"

    assert await ann.statuses(job.id) == {
        "a": "cancelled",
        "fails": "failed",
        "skips": "cancelled",
        "ignores": "pending",
    }
    assert await ann.heartbeat(held) == set()


async def test_a_job_whose_tasks_were_all_cancelled_one_by_one_is_cancelled(ann: LedgerClient) -> None:
    await ann.register()
    job = await ann.create()
    (plan,) = await ann.tasks(job)
    await ann.cancel_task(plan["id"])
    assert (await ann.job(job))["status"] == "cancelled"


async def test_a_completion_that_waits_for_the_cancel_comes_too_late(
    ann: LedgerClient, bob: LedgerClient
) -> None:
    job = await ann.start(graph(task("a"), task("b", "a")))
    held = await ann.claim_one()
    async with bob.connection.transaction():
        await bob.cancel_job(job.id)
        completing = await begun_and_waiting(ann.complete(held), of=ann, seen_by=bob)
    assert await completing == ["lease_lost"]
    assert (await ann.job(job.id))["status"] == "cancelled"


async def test_a_cancel_that_waits_for_the_last_completion_finds_the_job_complete(
    ann: LedgerClient, bob: LedgerClient
) -> None:
    job = await ann.start(graph(task("a")))
    held = await ann.claim_one()
    async with ann.connection.transaction():
        await ann.complete(held)
        cancelling = await begun_and_waiting(bob.cancel_job(job.id), of=bob, seen_by=ann)
    assert await cancelling == "complete"
    assert (await ann.job(job.id))["status"] == "complete"


async def test_a_cancel_that_waits_for_a_completion_cancels_what_that_released(
    ann: LedgerClient, bob: LedgerClient
) -> None:
    job = await ann.start(graph(task("a"), task("b", "a")))
    held = await ann.claim_one()
    async with ann.connection.transaction():
        await ann.complete(held)
        cancelling = await begun_and_waiting(bob.cancel_job(job.id), of=bob, seen_by=ann)
    assert await cancelling == "cancelled"
    assert await ann.statuses(job.id) == {"a": "complete", "b": "cancelled"}


async def test_completions_and_cancels_never_wait_for_each_other_in_a_circle(
    ann: LedgerClient, bob: LedgerClient
) -> None:
    """Trap 4.15: a cancel that locks the job before its tasks, a completion that does it the other way."""
    for _ in range(15):
        job = await ann.start(graph(*(task(str(n)) for n in range(8)), task("end", *map(str, range(8)))))
        claims = await ann.claim(8)
        await asyncio.gather(ann.complete(*reversed(claims)), bob.cancel_job(job.id))
        assert (await ann.job(job.id))["status"] == "cancelled"


async def test_a_cancel_holds_what_was_planned_while_it_waited_before_it_takes_the_job(
    ann: LedgerClient, bob: LedgerClient, open_client: OpenClient
) -> None:
    """Trap 4.15: taken after the job, a task may be in the hands of a completion that waits for the job."""
    holder = await open_client("holder")
    await ann.connection.execute(HOLD_CANCELLED_JOBS)
    await ann.register()
    job = await ann.create()
    (plan,) = await ann.claim(1, types=["plan:graph"])
    async with holder.connection.transaction():
        await holder.connection.execute("SELECT pg_advisory_xact_lock(1)")
        async with ann.connection.transaction():
            await ann.plan(plan, graph(task("a"), task("b")))
            cancelling = await begun_and_waiting(bob.cancel_job(job), of=bob, seen_by=ann)
        await waits_for(holder, bob, seen_by=ann)
        assert await ann.claim(9) == []
    assert await cancelling == "cancelled"
    assert await ann.statuses(job) == {"a": "cancelled", "b": "cancelled"}
