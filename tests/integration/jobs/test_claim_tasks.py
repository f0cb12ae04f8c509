"""Claiming: nothing twice, nothing too early, never more than asked, and the same again when asked again."""

import asyncio
from collections.abc import Iterator
from itertools import cycle
from uuid import uuid4

import pytest

from shoal.runtime.errors import Invalid

from .conftest import OpenClient
from .ledger_client import Graph, LedgerClient, graph, task
from .races import begun_and_waiting, refused


def loose(count: int, **more: object) -> Graph:
    """A graph of tasks that do not need each other."""
    return graph(*(task(f"t{number}", **more) for number in range(count)))


async def test_no_task_is_handed_to_two_workers_nor_more_than_asked(
    ann: LedgerClient, open_client: OpenClient
) -> None:
    """Trap 4.5: a claim that is not one materialised statement updates more rows than its LIMIT."""
    await ann.start(loose(200))
    workers = [await open_client(f"worker-{number}") for number in range(6)]

    async def claim_until_empty(worker: LedgerClient, sizes: Iterator[int]) -> list[object]:
        got: list[object] = []
        while True:
            at_most = next(sizes)
            claims = await worker.claim(at_most)
            assert len(claims) <= at_most
            if not claims:
                return got
            got += [claim.task_id for claim in claims]

    shares = await asyncio.gather(
        *(claim_until_empty(worker, cycle((number, 1, 9))) for number, worker in enumerate(workers, start=1))
    )

    taken = [task_id for share in shares for task_id in share]
    assert len(taken) == len(set(taken)) == 200


async def test_a_claim_passes_by_what_another_one_is_taking(ann: LedgerClient, bob: LedgerClient) -> None:
    await ann.start(loose(10))
    async with ann.connection.transaction():
        of_ann = await ann.claim(4)
        of_bob = await asyncio.wait_for(bob.claim(100), timeout=5)

    assert [claim.task_name for claim in of_ann] == ["t0", "t1", "t2", "t3"]
    assert [claim.task_name for claim in of_bob] == ["t4", "t5", "t6", "t7", "t8", "t9"]


@pytest.mark.parametrize("at_most", [0, 1, 3, 7])
async def test_a_claim_over_several_types_takes_no_more_than_asked(ann: LedgerClient, at_most: int) -> None:
    types = ["cut", "glue", "paint"]
    job = await ann.start(graph(*(task(f"{kind}{n}", task_type=kind) for n in range(4) for kind in types)))

    claims = await ann.claim(at_most, types=types)

    assert len(claims) == at_most
    assert list((await ann.statuses(job.id)).values()).count("claimed") == at_most


async def test_the_order_is_that_of_the_order_key_then_of_the_id(ann: LedgerClient) -> None:
    job = await ann.start(loose(5))
    for name, order_key in {"t0": 9, "t1": 7, "t2": 7, "t3": 8, "t4": 7}.items():
        await ann.connection.execute(
            "UPDATE job_tasks SET order_key = $2 WHERE id = $1", job.tasks[name], order_key
        )
    tied = sorted(("t1", "t2", "t4"), key=lambda name: job.tasks[name])

    first = await ann.claim(2)
    rest = await ann.claim(9)

    assert [claim.task_name for claim in [*first, *rest]] == [*tied, "t3", "t0"]


async def test_an_older_job_is_not_overtaken_by_the_first_tasks_of_newer_ones(ann: LedgerClient) -> None:
    """Trap 4.4: by ``sequence``, the tasks 0 of new jobs always go before the tasks 3 of old ones."""
    await ann.start(loose(3))
    await ann.start(graph(task("newer")))

    assert [claim.task_name for claim in await ann.claim(9)] == ["t0", "t1", "t2", "newer"]


async def test_a_task_is_not_claimed_before_what_it_needs_is_complete(ann: LedgerClient) -> None:
    """Trap 4.4: by ``sequence``, a pdf worker claims a pdf whose text is still pending."""
    await ann.start(graph(task("text", task_type="text"), task("pdf", "text", task_type="pdf")))
    assert await ann.claim(9, types=["pdf"]) == []
    (text,) = await ann.claim(9, types=["text"])
    assert await ann.claim(9, types=["pdf"]) == []

    await ann.complete(text, output={"words": 3})

    (pdf,) = await ann.claim(9, types=["pdf"])
    assert (pdf.task_name, pdf.needs) == ("pdf", {"text": {"words": 3}})


async def test_a_step_of_priority_is_worth_a_minute_of_waiting(ann: LedgerClient) -> None:
    """Urgent work goes first, and nothing waits behind it for ever."""
    old = await ann.start(graph(task("waited-long")))
    await ann.start(graph(task("urgent")), priority=2)
    await ann.start(graph(task("usual")))
    await ann.connection.execute(
        "UPDATE job_tasks SET order_key = order_key - 121 * 1000000 WHERE id = $1", old.tasks["waited-long"]
    )

    assert [claim.task_name for claim in await ann.claim(9)] == ["waited-long", "urgent", "usual"]


@pytest.mark.parametrize("executor", ["fleet", "mesh"])
async def test_a_worker_gets_no_task_of_another_executor(ann: LedgerClient, executor: str) -> None:
    await ann.start(loose(1, executor=executor))
    assert await ann.claim(9) == []


async def test_a_repeated_claim_returns_the_same_rows_and_takes_no_others(ann: LedgerClient) -> None:
    """Trap 4.9: a claim whose reply is lost leaves tasks that belong to nobody until they are stale."""
    await ann.start(loose(9))
    token = uuid4()
    first = await ann.claim(4, token=token)

    again = await ann.claim(4, token=token, repeated=True)

    assert again == first
    assert len(await ann.claim(9)) == 5


async def test_a_repeated_claim_returns_what_is_left_of_it(ann: LedgerClient) -> None:
    await ann.start(loose(3))
    token = uuid4()
    first = await ann.claim(3, token=token)
    await ann.complete(first[0])

    assert await ann.claim(3, token=token, repeated=True) == first[1:]


async def test_a_repeated_claim_that_had_never_arrived_takes_tasks(ann: LedgerClient) -> None:
    await ann.start(loose(3))
    assert len(await ann.claim(2, token=uuid4(), repeated=True)) == 2


async def test_a_repeated_claim_waits_for_the_call_it_repeats(ann: LedgerClient, bob: LedgerClient) -> None:
    """A client that gave up on a reply cannot know that the server has."""
    await ann.start(loose(9))
    token = uuid4()
    bob.worker = ann.worker
    async with ann.connection.transaction():
        first = await ann.claim(4, token=token)
        repeating = bob.claim(4, token=token, repeated=True)
        again = await begun_and_waiting(repeating, of=bob, seen_by=ann)
    assert await again == first


async def test_somebody_elses_token_opens_nothing(ann: LedgerClient, bob: LedgerClient) -> None:
    await ann.start(loose(1))
    token = uuid4()
    await ann.claim(1, token=token)
    assert await bob.claim(1, token=token, repeated=True) == []


async def test_an_attempt_counts_when_it_is_claimed_so_a_deadly_task_comes_to_an_end(
    ann: LedgerClient,
) -> None:
    """Trap 4.6: attempts counted in fail_task never count those that kill their worker."""
    job = await ann.start(loose(1, max_attempts=3))
    for attempt in (1, 2, 3):
        claim = await ann.claim_one()
        assert claim.attempt == attempt
        await ann.let_leases_run_out()
        assert await ann.reclaim() == 1

    assert await ann.claim(9) == []
    assert (await ann.task(job.tasks["t0"]))["status"] == "failed"
    assert (await ann.job(job.id))["status"] == "failed"


@pytest.mark.parametrize("worker_id", ["", None])
async def test_a_claim_without_a_worker_is_refused(ann: LedgerClient, worker_id: str | None) -> None:
    with refused(Invalid, "worker_id_missing"):
        await ann.connection.fetch("SELECT * FROM claim_tasks($1, 1, ARRAY['work'])", worker_id)


@pytest.mark.parametrize("at_most", [-1, None])
async def test_a_claim_of_no_certain_number_is_refused(ann: LedgerClient, at_most: int | None) -> None:
    """No number would be no LIMIT: one call would take every task there is."""
    job = await ann.start(loose(3))
    with refused(Invalid, "max_tasks_missing"):
        await ann.connection.fetch("SELECT * FROM claim_tasks('ann', $1, ARRAY['work'])", at_most)
    assert set((await ann.statuses(job.id)).values()) == {"pending"}


async def test_a_job_is_processing_from_its_first_claim_on(ann: LedgerClient) -> None:
    await ann.register()
    job = await ann.create()
    assert (await ann.job(job))["status"] == "queued"

    await ann.claim(1, types=["plan:graph"])

    row = await ann.job(job)
    assert row["status"] == "processing"
    assert row["started_at"] >= row["created_at"]
