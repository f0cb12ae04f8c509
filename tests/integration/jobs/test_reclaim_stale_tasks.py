"""Silent workers lose their tasks; those that are heard of do not."""

from .ledger_client import LedgerClient, graph, task


async def test_only_what_is_stale_is_taken_back_and_counted(ann: LedgerClient, bob: LedgerClient) -> None:
    job = await ann.start(graph(*(task(name) for name in "abcd")))
    silent, beating, fresh = await ann.claim(3)
    await ann.let_leases_run_out(silent, beating)
    await ann.heartbeat(beating)

    assert await bob.reclaim() == 1

    assert await ann.statuses(job.id) == {"a": "pending", "b": "claimed", "c": "claimed", "d": "pending"}
    assert await ann.complete(beating, fresh) == ["completed", "completed"]
    assert await bob.reclaim() == 0


async def test_a_lease_is_as_long_as_the_claim_asked_for(ann: LedgerClient) -> None:
    await ann.start(graph(task("short"), task("long")))
    await ann.claim(1, lease_s=60)
    await ann.claim(1, lease_s=3 * 3600)
    await ann.let_leases_run_out()
    assert await ann.reclaim() == 1


async def test_a_reclaimed_task_is_ready_and_says_what_happened(ann: LedgerClient) -> None:
    job = await ann.start(graph(task("a")))
    claim = await ann.claim_one()
    await ann.heartbeat(claim, progress=0.4)
    await ann.let_leases_run_out()
    await ann.reclaim()

    row = await ann.task(job.tasks["a"])
    assert row["error"] == "Worker ann fell silent during attempt 1."
    assert (row["status"], row["attempts"], row["worker_id"], row["claim_token"]) == (
        "pending",
        1,
        None,
        None,
    )
    assert (await ann.claim_one()).attempt == 2


async def test_one_whose_attempts_are_used_up_fails_and_that_spreads(ann: LedgerClient) -> None:
    job = await ann.start(
        graph(task("a", max_attempts=1), task("b", "a"), task("c", "a", on_failure="ignore"), task("d"))
    )
    await ann.claim(2)
    await ann.let_leases_run_out()

    assert await ann.reclaim() == 2

    statuses = await ann.statuses(job.id)
    assert statuses == {"a": "failed", "b": "failed", "c": "pending", "d": "pending"}
    assert {claim.task_name for claim in await ann.claim(9)} == {"c", "d"}


async def test_one_process_does_it_at_a_time(ann: LedgerClient, bob: LedgerClient) -> None:
    await ann.start(graph(task("a")))
    await ann.claim_one()
    await ann.let_leases_run_out()
    async with ann.connection.transaction():
        assert await ann.reclaim() == 1
        assert await bob.reclaim() == 0
    assert await bob.reclaim() == 0


async def test_tasks_of_other_executors_are_left_alone(ann: LedgerClient) -> None:
    """Their claims are kept alive elsewhere (DESIGN 5)."""
    await ann.start(graph(task("a")))
    await ann.claim_one()
    await ann.connection.execute("UPDATE job_tasks SET executor = 'fleet' WHERE name = 'a'")
    await ann.let_leases_run_out()
    assert await ann.reclaim() == 0


async def test_heartbeats_leave_the_wide_row_alone(ann: LedgerClient) -> None:
    """Traps 4.8 and 4.16: a heartbeat that rewrites the row with its output, and fires its triggers."""
    await ann.start(graph(task("a")))
    claim = await ann.claim_one()
    version = "SELECT ctid, xmin FROM job_tasks WHERE id = $1"
    before = await ann.connection.fetchrow(version, claim.task_id)

    for step in range(5):
        assert await ann.heartbeat(claim, progress=step / 5, message=f"step {step}") == {claim.task_id}

    assert await ann.connection.fetchrow(version, claim.task_id) == before
    said = await ann.connection.fetchval("SELECT (progress::numeric, message)::text FROM task_leases")
    assert said == '(0.8,"step 4")'


async def test_a_heartbeat_takes_any_number_and_any_words(ann: LedgerClient) -> None:
    await ann.start(graph(task("a")))
    claim = await ann.claim_one()
    for progress, kept in {float("nan"): 0.0, -7.0: 0.0, 9.0: 1.0, float("inf"): 1.0}.items():
        assert await ann.heartbeat(claim, progress=progress, message="x" * 9999) == {claim.task_id}
        said = await ann.connection.fetchval("SELECT ARRAY[progress, length(message)] FROM task_leases")
        assert said == [kept, 500]
