"""Putting a task off that has not failed: no attempt is burned, and only its holder can."""

from .ledger_client import LedgerClient, graph, task


async def test_a_snoozed_task_comes_back_with_all_its_attempts(ann: LedgerClient) -> None:
    job = await ann.start(graph(task("a", max_attempts=1)))
    for _ in range(3):
        claim = await ann.claim_one()
        await ann.heartbeat(claim, progress=0.5)
        assert await ann.snooze(claim, after_s=1000) == ["snoozed"]
        assert await ann.claim(9) == []
        assert (await ann.task(job.tasks["a"]))["attempts"] == 0
        await ann.let_delays_pass()
    assert (await ann.claim_one()).attempt == 1


async def test_only_its_holder_can_put_it_off(ann: LedgerClient, bob: LedgerClient) -> None:
    await ann.start(graph(task("a")))
    claim = await ann.claim_one()
    assert await bob.snooze(claim, after_s=10) == ["lease_lost"]
    await ann.let_leases_run_out()
    await ann.reclaim()
    assert await ann.snooze(claim, after_s=10) == ["lease_lost"]
    assert await bob.claim(9) != []


async def test_nonsense_is_no_pause_or_a_year(ann: LedgerClient) -> None:
    await ann.start(graph(task("a"), task("b"), task("c")))
    a, b, c = await ann.claim(3)
    for claim, after_s in ((a, float("nan")), (b, -5.0), (c, float("inf"))):
        assert await ann.snooze(claim, after_s=after_s) == ["snoozed"]
    assert {claim.task_name for claim in await ann.claim(9)} == {"a", "b"}
