"""Lines that tasks write stay with their job, in order, as long as the attempt counts."""

import asyncio

from .conftest import OpenClient
from .ledger_client import LedgerClient, graph, task
from .races import begun_and_waiting

LINES = "SELECT array_agg(line ORDER BY id) FROM task_logs"


async def test_lines_are_kept_in_their_order(ann: LedgerClient) -> None:
    await ann.start(graph(task("a"), task("b")))
    a, b = await ann.claim(2)
    await ann.add_logs([(b, "one"), (a, "two"), (b, "three")])
    await ann.add_logs([(a, "four")])
    assert await ann.connection.fetchval(LINES) == ["one", "two", "three", "four"]


async def test_lines_of_a_lost_attempt_are_dropped(ann: LedgerClient, bob: LedgerClient) -> None:
    await ann.start(graph(task("a"), task("b")))
    lost, held = await ann.claim(2)
    await ann.let_leases_run_out(lost)
    await ann.reclaim()
    await bob.claim_one()
    await ann.add_logs([(lost, "zombie"), (held, "kept")])
    assert await ann.connection.fetchval(LINES) == ["kept"]


async def test_the_last_lines_of_a_completed_task_may_come_after_it(ann: LedgerClient) -> None:
    await ann.start(graph(task("a")))
    held = await ann.claim_one()
    await ann.complete(held)
    await ann.add_logs([(held, "done")])
    assert await ann.connection.fetchval(LINES) == ["done"]


async def test_a_line_is_kept_as_far_as_it_fits(ann: LedgerClient) -> None:
    await ann.start(graph(task("a")))
    await ann.add_logs([(await ann.claim_one(), "x" * 10_000)])
    assert await ann.connection.fetchval(LINES) == ["x" * 4096]


async def test_lines_and_completions_of_the_same_tasks_do_not_wait_in_a_circle(
    ann: LedgerClient, bob: LedgerClient, open_client: OpenClient
) -> None:
    """The foreign key takes tasks in the order of the lines; completions take them by id."""
    await ann.start(graph(task("a"), task("b")))
    first, second = sorted(await ann.claim(2), key=lambda claim: claim.task_id)
    heartbeats = await open_client(ann.worker)
    async with bob.connection.transaction():
        await bob.connection.execute("SELECT FROM job_tasks WHERE id = $1 FOR UPDATE", first.task_id)
        completing = await begun_and_waiting(ann.complete(first, second), of=ann, seen_by=bob)
        sending = heartbeats.add_logs([(second, "two"), (first, "one")])
        logging = await begun_and_waiting(sending, of=heartbeats, seen_by=bob)
    assert await completing == ["completed", "completed"]
    await logging
    assert await ann.connection.fetchval(LINES) == ["two", "one"]


async def test_many_lines_beside_many_completions_all_arrive(ann: LedgerClient, bob: LedgerClient) -> None:
    logging = LedgerClient(bob.connection, worker=ann.worker)
    for _ in range(20):
        await ann.start(graph(*(task(str(number)) for number in range(20))))
        claims = await ann.claim(20)
        await asyncio.gather(
            ann.complete(*claims), logging.add_logs([(claim, "line") for claim in reversed(claims)])
        )
    assert await ann.connection.fetchval("SELECT count(*) FROM task_logs") == 400
