"""Limits of a task type hold over all workers together, however they claim at the same time."""

import asyncio
from typing import Any

import asyncpg
import pytest

from shoal.ledger.connection import Connection

from .conftest import OpenClient
from .ledger_client import LedgerClient, graph, task

LIMIT = "SELECT limit_task_type('work', p_max_running => $1, p_rate_per_s => $2, p_burst => $3)"
TIME_PASSES = "UPDATE task_limits SET counted_at = counted_at - make_interval(secs => $1)"


def loose(count: int) -> dict[str, Any]:
    return graph(*(task(f"t{number}") for number in range(count)))


async def limit(
    client: LedgerClient, *, running: int | None = None, rate: float | None = None, burst: int = 1
) -> None:
    await client.connection.execute(LIMIT, running, rate, burst)


async def next_due_s(client: LedgerClient) -> float | None:
    due: float | None = await client.connection.fetchval("SELECT shoal.next_due_s('{work}')")
    return due


async def test_no_more_run_at_a_time_than_allowed(ann: LedgerClient, bob: LedgerClient) -> None:
    await ann.start(loose(9))
    await limit(ann, running=3)

    held = await ann.claim(2)
    more = await bob.claim(9)

    assert (len(held), len(more)) == (2, 1)
    assert await bob.claim(9) == []
    await ann.complete(held[0])
    await bob.fail(more[0], retry_after_s=1000)
    assert len(await bob.claim(9)) == 2


async def test_workers_that_claim_at_once_do_not_exceed_it_together(
    ann: LedgerClient, open_client: OpenClient
) -> None:
    """Trap 4.17: a count beside SKIP LOCKED overshoots; here each claim waits for the limit's row."""
    await ann.start(loose(60))
    await limit(ann, running=5)
    workers = [await open_client(f"worker-{number}") for number in range(6)]
    most = 0

    async def work(worker: LedgerClient) -> int:
        nonlocal most
        done = 0
        while done < 10:
            claims = await worker.claim(3)
            running = await worker.connection.fetchval(
                "SELECT count(*) FROM job_tasks WHERE status = 'claimed'"
            )
            most = max(most, running)
            await worker.complete(*claims)
            done += len(claims)
            if not claims and not await unfinished(worker.connection):
                break
        return done

    async with asyncio.timeout(60):
        assert sum(await asyncio.gather(*(work(worker) for worker in workers))) == 60
    assert 1 < most <= 5


async def unfinished(connection: Connection) -> int:
    return int(
        await connection.fetchval(
            "SELECT count(*) FROM job_tasks WHERE task_type = 'work' AND status IN ('pending', 'claimed')"
        )
    )


async def test_other_types_pass(ann: LedgerClient) -> None:
    await ann.start(graph(task("a"), task("b"), task("free", task_type="free")))
    await limit(ann, running=1)
    assert [claim.task_name for claim in await ann.claim(9, types=["work", "free"])] == ["a", "free"]


async def test_no_more_start_in_a_second_than_allowed(ann: LedgerClient, bob: LedgerClient) -> None:
    await ann.start(loose(30))
    await limit(ann, rate=2.0, burst=4)

    assert len(await ann.claim(9)) == 4
    assert await bob.claim(9) == []
    await ann.connection.execute(TIME_PASSES, 1.0)
    assert len(await bob.claim(9)) == 2
    await ann.connection.execute(TIME_PASSES, 3600.0)
    assert len(await ann.claim(9)) == 4


async def test_a_repeated_claim_takes_no_token(ann: LedgerClient) -> None:
    await ann.start(loose(9))
    await limit(ann, rate=0.001, burst=2)
    claim = await ann.claim_one()
    for _ in range(5):
        assert await ann.claim(1, token=claim.token, repeated=True) == [claim]
    assert len(await ann.claim(9)) == 1


async def test_idle_workers_know_when_the_next_one_may_start(ann: LedgerClient) -> None:
    await ann.start(loose(9))
    await limit(ann, rate=0.1, burst=1)
    await ann.claim_one()
    due = await next_due_s(ann)
    assert due is not None
    assert 8 < due <= 10
    await ann.connection.execute("SELECT pause_task_type('work')")
    assert await next_due_s(ann) is None


async def test_a_paused_type_starts_nothing_and_what_runs_goes_on(
    ann: LedgerClient, bob: LedgerClient
) -> None:
    await ann.start(loose(3))
    running = await ann.claim_one()
    await ann.connection.execute("SELECT pause_task_type('work', 'The printer burns.')")

    assert await bob.claim(9) == []
    assert await ann.complete(running) == ["completed"]

    await ann.connection.execute("SELECT resume_task_type('work')")
    assert len(await bob.claim(9)) == 2
    assert await ann.connection.fetchval("SELECT count(*) FROM task_limits") == 0


async def test_resuming_keeps_the_other_limits(ann: LedgerClient) -> None:
    await ann.start(loose(3))
    await limit(ann, running=1)
    await ann.connection.execute("SELECT pause_task_type('work'); SELECT resume_task_type('work')")
    assert len(await ann.claim(9)) == 1
    await limit(ann)
    assert len(await ann.claim(9)) == 2


async def test_who_waits_for_a_place_is_told(ann: LedgerClient, bob: LedgerClient) -> None:
    told = asyncio.Event()
    await bob.connection.add_listener("shoal_tasks", lambda *_: told.set())
    await ann.start(loose(2))
    await limit(ann, running=1)
    claim = await ann.claim_one()
    await bob.connection.execute("SELECT")
    told.clear()

    await ann.complete(claim)

    await asyncio.wait_for(told.wait(), 5)


@pytest.mark.parametrize(
    "wrong", [{"running": 0}, {"rate": 0.0}, {"rate": -1.0}, {"rate": float("nan")}, {"burst": 0}]
)
async def test_what_is_no_limit_is_refused(ann: LedgerClient, wrong: dict[str, Any]) -> None:
    with pytest.raises(asyncpg.CheckViolationError):
        await limit(ann, **wrong)
