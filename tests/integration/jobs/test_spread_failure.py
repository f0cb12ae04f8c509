"""What a failure means for the tasks that need what failed: fail, skip or ignore, down to the last one."""

import pytest

from .ledger_client import Graph, LedgerClient, graph, task

DEEP = 150

# name: (the graph, what becomes of its tasks when `a` fails for good, what then can be claimed)
SHAPES: dict[str, tuple[Graph, dict[str, str], set[str]]] = {
    "fail": (graph(task("a"), task("b", "a")), {"a": "failed", "b": "failed"}, set()),
    "skip": (
        graph(task("a"), task("b", "a", on_failure="skip")),
        {"a": "failed", "b": "cancelled"},
        set(),
    ),
    "ignore": (
        graph(task("a"), task("b", "a", on_failure="ignore")),
        {"a": "failed", "b": "pending"},
        {"b"},
    ),
    "what needs a skipped task is skipped": (
        graph(task("a"), task("b", "a", on_failure="skip"), task("c", "b"), task("d", "c")),
        {"a": "failed", "b": "cancelled", "c": "cancelled", "d": "cancelled"},
        set(),
    ),
    "what ignores that runs": (
        graph(task("a"), task("b", "a", on_failure="skip"), task("c", "b", on_failure="ignore")),
        {"a": "failed", "b": "cancelled", "c": "pending"},
        {"c"},
    ),
    "a diamond fails once": (
        graph(task("a"), task("l", "a"), task("r", "a"), task("end", "l", "r")),
        {"a": "failed", "l": "failed", "r": "failed", "end": "failed"},
        set(),
    ),
    "a diamond whose end ignores both sides": (
        graph(task("a"), task("l", "a"), task("r", "a"), task("end", "l", "r", on_failure="ignore")),
        {"a": "failed", "l": "failed", "r": "failed", "end": "pending"},
        {"end"},
    ),
    "one that ignores still waits for the others": (
        graph(task("a"), task("x"), task("b", "a", "x", on_failure="ignore")),
        {"a": "failed", "x": "pending", "b": "pending"},
        {"x"},
    ),
    "what does not need it goes on": (
        graph(task("a"), task("b", "a"), task("x"), task("y", "x")),
        {"a": "failed", "b": "failed", "x": "pending", "y": "pending"},
        {"x"},
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
async def test_a_failure_spreads_as_declared(ann: LedgerClient, shape: str) -> None:
    """Trap 4.13: dependants of a failed task never run, and the job never ends."""
    planned, expected, ready = SHAPES[shape]
    job = await ann.start(planned)
    first = await ann.claim_one()
    assert first.task_name == "a"

    await ann.fail(first, permanent=True)

    assert await ann.statuses(job.id) == expected
    claims = await ann.claim(9)
    assert {claim.task_name for claim in claims} == ready
    while claims:
        await ann.complete(*claims)
        claims = await ann.claim(9)
    row = await ann.job(job.id)
    assert (row["status"], row["tasks_open"]) == ("failed", 0)


async def test_a_failure_reaches_the_end_of_a_long_chain(ann: LedgerClient) -> None:
    chain = [task("0"), *(task(str(number), str(number - 1)) for number in range(1, DEEP))]
    job = await ann.start(graph(*chain))
    await ann.fail(await ann.claim_one(), permanent=True)

    row = await ann.job(job.id)
    assert (row["status"], row["tasks_failed"], row["tasks_open"]) == ("failed", DEEP, 0)


async def test_a_failure_under_a_wide_fan_in_fails_it_once(ann: LedgerClient) -> None:
    leaves = [task(f"leaf-{number}") for number in range(100)]
    job = await ann.start(graph(*leaves, task("sum", *(leaf["name"] for leaf in leaves))))
    claims = await ann.claim(100)
    await ann.fail(*claims[:50], permanent=True)
    await ann.complete(*claims[50:])

    row = await ann.job(job.id)
    assert (row["status"], row["tasks_failed"]) == ("failed", 51)


async def test_a_job_in_which_tasks_were_skipped_only_is_complete(ann: LedgerClient) -> None:
    job = await ann.start(graph(task("a"), task("b", "a", on_failure="skip"), task("c")))
    await ann.cancel_task(job.tasks["a"])
    await ann.complete(await ann.claim_one())
    assert await ann.statuses(job.id) == {"a": "cancelled", "b": "cancelled", "c": "complete"}
    assert (await ann.job(job.id))["status"] == "complete"


async def test_a_retried_failure_spreads_nothing(ann: LedgerClient) -> None:
    job = await ann.start(graph(task("a"), task("b", "a")))
    await ann.fail(await ann.claim_one(), retry_after_s=0)
    assert await ann.statuses(job.id) == {"a": "pending", "b": "pending"}
