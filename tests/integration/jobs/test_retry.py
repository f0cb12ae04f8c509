"""Trying ended tasks and jobs again."""

from uuid import uuid4

from shoal.runtime.errors import Conflict, NotFound

from .ledger_client import LedgerClient, PlannedJob, graph, task
from .races import refused


async def fail_next(client: LedgerClient, name: str) -> None:
    claim = await client.claim_one()
    assert claim.task_name == name
    await client.fail(claim, permanent=True)


async def finish(client: LedgerClient, job: PlannedJob) -> list[str]:
    """Complete whatever comes; the names in the order of their completion."""
    done = []
    while claims := await client.claim(1):
        await client.complete(*claims)
        done += [claim.task_name for claim in claims]
    return done


async def test_a_failed_job_is_tried_again_from_where_it_failed(ann: LedgerClient) -> None:
    job = await ann.start(graph(task("a"), task("b", "a", max_attempts=1), task("c", "b"), result="c"))
    await ann.complete(await ann.claim_one(), output="kept")
    await fail_next(ann, "b")
    assert (await ann.job(job.id))["status"] == "failed"

    assert await ann.retry_job(job.id) == 2

    row = await ann.job(job.id)
    assert (row["status"], row["error"], row["finished_at"], row["tasks_open"]) == (
        "processing",
        None,
        None,
        2,
    )
    b = await ann.claim_one()
    assert (b.task_name, b.attempt, b.needs) == ("b", 1, {"a": "kept"})
    await ann.complete(b)
    assert await finish(ann, job) == ["c"]
    assert (await ann.job(job.id))["status"] == "complete"


async def test_a_cancelled_job_is_tried_again(ann: LedgerClient) -> None:
    job = await ann.start(graph(task("a"), task("b", "a")))
    await ann.claim_one()
    await ann.cancel_job(job.id)
    assert await ann.retry_job(job.id) == 2
    assert await finish(ann, job) == ["a", "b"]
    assert (await ann.job(job.id))["status"] == "complete"


async def test_a_job_that_failed_to_be_planned_is_planned_again(ann: LedgerClient) -> None:
    await ann.register()
    job = await ann.create()
    (plan,) = await ann.claim(1, types=["plan:graph"])
    await ann.fail(plan, permanent=True)
    assert await ann.retry_job(job) == 1
    (plan,) = await ann.claim(1, types=["plan:graph"])
    assert await ann.plan(plan, graph(task("a")))


async def test_one_task_is_tried_again_with_what_did_not_run_for_it(ann: LedgerClient) -> None:
    job = await ann.start(
        graph(task("a"), task("b", "a"), task("c", "b", on_failure="skip"), task("x"), task("y", "x"))
    )
    await fail_next(ann, "a")
    await fail_next(ann, "x")

    assert await ann.retry_task(job.tasks["a"]) == 3

    assert await finish(ann, job) == ["a", "b", "c"]
    assert await ann.statuses(job.id) == dict.fromkeys("abc", "complete") | dict.fromkeys("xy", "failed")
    assert (await ann.job(job.id))["status"] == "failed"


async def test_what_also_needs_another_failed_task_is_not_tried_again(ann: LedgerClient) -> None:
    """It would wait for ever, and its job would never end."""
    job = await ann.start(
        graph(task("a"), task("b"), task("both", "a", "b"), task("last", "both"), task("only-a", "a"))
    )
    await fail_next(ann, "a")
    await fail_next(ann, "b")

    assert await ann.retry_task(job.tasks["a"]) == 2

    assert await finish(ann, job) == ["a", "only-a"]
    assert (await ann.job(job.id))["status"] == "failed"
    assert await ann.retry_task(job.tasks["b"]) == 3
    assert await finish(ann, job) == ["b", "both", "last"]
    assert (await ann.job(job.id))["status"] == "complete"


async def test_a_task_that_needs_a_failed_one_cannot_be_tried_again_alone(ann: LedgerClient) -> None:
    job = await ann.start(graph(task("a"), task("b", "a"), task("c", "b", on_failure="ignore")))
    await fail_next(ann, "a")
    await fail_next(ann, "c")
    before = await ann.job(job.id)
    with refused(Conflict, "needs_failed"):
        await ann.retry_task(job.tasks["b"])
    assert await ann.job(job.id) == before


async def test_who_ignored_a_failure_waits_for_what_is_tried_again(ann: LedgerClient) -> None:
    """Else the second end of ``a`` would count against ``c``, and ``both`` would start without it."""
    job = await ann.start(graph(task("a"), task("c"), task("both", "a", "c", on_failure="ignore")))
    await fail_next(ann, "a")
    assert (await ann.task(job.tasks["both"]))["waiting_on"] == 1

    assert await ann.retry_task(job.tasks["a"]) == 1

    assert (await ann.task(job.tasks["both"]))["waiting_on"] == 2
    a, c = await ann.claim(2)
    assert (a.task_name, c.task_name) == ("a", "c")
    assert await ann.complete(a) == ["completed"]
    assert await ann.claim(9) == []
    assert await ann.complete(c) == ["completed"]
    assert await finish(ann, job) == ["both"]


async def test_who_ignored_a_failure_and_runs_already_is_not_in_the_way(ann: LedgerClient) -> None:
    job = await ann.start(graph(task("a"), task("b", "a", on_failure="ignore")))
    await fail_next(ann, "a")
    running = await ann.claim_one()
    await ann.retry_task(job.tasks["a"])
    assert await ann.fail(running, retry_after_s=0) == ["retrying"]

    a = await ann.claim_one()
    assert a.task_name == "a"
    assert await ann.claim(9) == []
    assert await ann.complete(a) == ["completed"]

    assert await finish(ann, job) == ["b"]
    assert (await ann.job(job.id))["status"] == "complete"


async def test_nothing_is_tried_again_that_has_not_failed(ann: LedgerClient) -> None:
    job = await ann.start(graph(task("a"), task("b")))
    await ann.complete(await ann.claim_one())
    for name in "ab":
        with refused(Conflict, "nothing_to_retry"):
            await ann.retry_task(job.tasks[name])
    with refused(Conflict, "nothing_to_retry"):
        await ann.retry_job(job.id)


async def test_what_does_not_exist_cannot_be_tried_again(ann: LedgerClient) -> None:
    with refused(NotFound, "job_not_found"):
        await ann.retry_job(uuid4())
    with refused(NotFound, "task_not_found"):
        await ann.retry_task(uuid4())


async def test_a_job_whose_key_was_taken_meanwhile_is_not_tried_again(ann: LedgerClient) -> None:
    job = await ann.start(graph(task("a")), unique_key="one")
    await fail_next(ann, "a")
    await ann.start(graph(task("a")), unique_key="one")
    before = await ann.job(job.id)
    with refused(Conflict, "job_exists"):
        await ann.retry_job(job.id)
    assert await ann.job(job.id) == before


async def test_a_retried_task_is_ready_whatever_delay_it_had(ann: LedgerClient) -> None:
    job = await ann.start(graph(task("a")))
    await ann.fail(await ann.claim_one(), retry_after_s=1000)
    await ann.cancel_job(job.id)
    await ann.retry_job(job.id)
    assert (await ann.claim_one()).attempt == 1
