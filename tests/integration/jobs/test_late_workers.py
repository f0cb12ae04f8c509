"""Fences: who does not hold the current attempt of a task changes nothing, and is told so."""

from collections.abc import Awaitable, Callable, Sequence

from shoal.worker.held import Claim

from .ledger_client import LedgerClient, graph, task
from .races import begun_and_waiting

Call = Callable[[LedgerClient, Claim], Awaitable[object]]

# What a worker can still try with a claim it has lost, and the answer that says so.
TOO_LATE: dict[str, tuple[Call, object]] = {
    "complete": (lambda client, claim: client.complete(claim, output="late"), ["lease_lost"]),
    "fail": (lambda client, claim: client.fail(claim, error="late", permanent=True), ["lease_lost"]),
    "retry": (lambda client, claim: client.fail(claim, retry_after_s=0.0), ["lease_lost"]),
    "heartbeat": (lambda client, claim: client.heartbeat(claim, progress=0.9), set()),
    "release": (lambda client, claim: client.release(claim), 0),
    "artifact": (lambda client, claim: client.add_artifact(claim, "late.txt"), False),
    "plan": (lambda client, claim: client.plan(claim, graph(task("late"))), False),
}

LEDGER = """
SELECT (SELECT array_agg(t::text ORDER BY t.id) FROM job_tasks t),
       (SELECT array_agg(j::text ORDER BY j.id) FROM jobs j),
       (SELECT array_agg(l::text ORDER BY l.task_id) FROM task_leases l),
       (SELECT array_agg(a::text ORDER BY a.id) FROM job_artifacts a),
       (SELECT array_agg(g::text ORDER BY g.id) FROM task_logs g)
"""


async def assert_too_late(client: LedgerClient, claim: Claim, *, but_for: Sequence[str] = ()) -> None:
    """Each call answers that the claim is lost, and not a byte of the ledger changes."""
    before = await client.connection.fetchrow(LEDGER)
    for what, (call, answer) in TOO_LATE.items():
        if what not in but_for:
            assert await call(client, claim) == answer, what
            assert await client.connection.fetchrow(LEDGER) == before, what


async def test_a_reclaimed_worker_is_too_late(ann: LedgerClient) -> None:
    """Trap 4.8: a reclaimed worker whose heartbeat says nothing works on, and uploads."""
    await ann.start(graph(task("a")))
    lost = await ann.claim_one()
    await ann.let_leases_run_out()
    await ann.reclaim()

    await assert_too_late(ann, lost)


async def test_it_is_too_late_when_another_worker_has_the_task(ann: LedgerClient, bob: LedgerClient) -> None:
    await ann.start(graph(task("a")))
    lost = await ann.claim_one()
    await ann.let_leases_run_out()
    await bob.reclaim()
    held = await bob.claim_one()

    await assert_too_late(ann, lost)
    assert await bob.complete(held) == ["completed"]


async def test_it_is_too_late_when_a_new_process_of_the_same_name_has_it(ann: LedgerClient) -> None:
    """Trap 4.7: containers are all pid 1; fenced by worker id, the old process ends the new attempt."""
    await ann.start(graph(task("a")))
    lost = await ann.claim_one()
    await ann.let_leases_run_out()
    await ann.reclaim()
    held = await ann.claim_one()

    await assert_too_late(ann, lost)
    assert await ann.complete(held) == ["completed"]


async def test_another_worker_cannot_use_a_claim(ann: LedgerClient, bob: LedgerClient) -> None:
    await ann.start(graph(task("a")))
    held = await ann.claim_one()

    await assert_too_late(bob, held)
    assert await ann.complete(held) == ["completed"]


async def test_a_cancelled_task_stays_cancelled(ann: LedgerClient) -> None:
    """Trap 4.7: completion must look at the status as well, so that cancelled wins."""
    job = await ann.start(graph(task("a"), task("b")))
    held = await ann.claim_one()
    assert await ann.cancel_job(job.id) == "cancelled"

    await assert_too_late(ann, held)


async def test_after_its_completion_a_task_is_as_it_is(ann: LedgerClient) -> None:
    await ann.start(graph(task("a")))
    held = await ann.claim_one()
    await ann.complete(held)

    await assert_too_late(ann, held, but_for=["complete", "plan"])


async def test_completing_twice_is_a_success_and_counts_once(ann: LedgerClient) -> None:
    job = await ann.start(graph(task("a"), task("b"), task("c", "a", "b")))
    held = await ann.claim_one()
    assert await ann.complete(held, output=1) == ["completed"]

    assert await ann.complete(held, output=2) == ["already_completed"]

    assert (await ann.task(held.task_id))["output"] == 1
    assert (await ann.task(job.tasks["c"]))["waiting_on"] == 1
    assert (await ann.job(job.id))["tasks_open"] == 2


async def test_each_task_of_a_batch_gets_its_own_verdict(ann: LedgerClient, bob: LedgerClient) -> None:
    await ann.start(graph(*(task(name) for name in "abcd")))
    done, lost, held, of_bob = await ann.claim(3) + await bob.claim(1)
    await ann.complete(done)
    await ann.let_leases_run_out(lost)
    await ann.reclaim()

    verdicts = await ann.complete(done, lost, held, of_bob)

    assert verdicts == ["already_completed", "lease_lost", "completed", "lease_lost"]


async def test_a_completion_that_waits_for_the_reclaim_comes_too_late(
    ann: LedgerClient, bob: LedgerClient
) -> None:
    await ann.start(graph(task("a")))
    held = await ann.claim_one()
    await ann.let_leases_run_out()
    async with bob.connection.transaction():
        assert await bob.reclaim() == 1
        completing = await begun_and_waiting(ann.complete(held), of=ann, seen_by=bob)
    assert await completing == ["lease_lost"]


async def test_a_reclaim_that_waits_for_the_completion_finds_nothing(
    ann: LedgerClient, bob: LedgerClient
) -> None:
    await ann.start(graph(task("a")))
    held = await ann.claim_one()
    await ann.let_leases_run_out()
    async with ann.connection.transaction():
        await ann.complete(held)
        reclaiming = await begun_and_waiting(bob.reclaim(), of=bob, seen_by=ann)
    assert await reclaiming == 0
    assert (await ann.task(held.task_id))["status"] == "complete"


async def test_a_reclaim_that_waits_for_a_heartbeat_leaves_the_task(
    ann: LedgerClient, bob: LedgerClient
) -> None:
    await ann.start(graph(task("a")))
    held = await ann.claim_one()
    await ann.let_leases_run_out()
    async with ann.connection.transaction():
        assert await ann.heartbeat(held) == {held.task_id}
        reclaiming = await begun_and_waiting(bob.reclaim(), of=bob, seen_by=ann)
    assert await reclaiming == 0
    assert await ann.complete(held) == ["completed"]


async def test_a_heartbeat_that_waits_for_the_reclaim_says_lost(ann: LedgerClient, bob: LedgerClient) -> None:
    await ann.start(graph(task("a")))
    held = await ann.claim_one()
    await ann.let_leases_run_out()
    async with bob.connection.transaction():
        await bob.reclaim()
        beating = await begun_and_waiting(ann.heartbeat(held), of=ann, seen_by=bob)
    assert await beating == set()
