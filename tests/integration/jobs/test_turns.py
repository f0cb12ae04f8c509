"""Fair turns: who brings little does not wait for all of somebody who brings much, and nobody starves."""

from uuid import UUID

from .ledger_client import LedgerClient, graph, task

BIG = UUID("00000000-0000-4000-8000-0000000000b1")
SMALL = UUID("00000000-0000-4000-8000-0000000000b2")

HOUR_US = 3600 * 1_000_000

# As if everything so far had been started that much earlier.
EARLIER = (
    "UPDATE jobs SET turn = turn - $1, turn_ends = turn_ends - $1 WHERE turn > 0",
    "UPDATE job_tasks SET order_key = order_key - $1",
)


def many(count: int, prefix: str = "t") -> dict[str, object]:
    return graph({"name": prefix, "task_type": "work", "each": [{}] * count})


async def pass_seconds(client: LedgerClient, seconds: int) -> None:
    for statement in EARLIER:
        await client.connection.execute(statement, seconds * 1_000_000)


async def test_a_small_job_does_not_wait_for_all_of_a_big_one(ann: LedgerClient) -> None:
    big = await ann.start(many(1000), user_id=BIG)
    await pass_seconds(ann, 3)
    small = await ann.start(many(3), user_id=SMALL)

    first = await ann.claim(10)

    of_small = [claim for claim in first if claim.job_id == small.id]
    assert len(of_small) == 3
    assert len([claim for claim in first if claim.job_id == big.id]) == 7


async def test_two_users_with_much_to_do_share(ann: LedgerClient) -> None:
    one = await ann.start(many(200), user_id=BIG)
    await ann.start(many(200), user_id=SMALL)

    claims = await ann.claim(100)

    assert 45 <= sum(claim.job_id == one.id for claim in claims) <= 55


async def test_many_jobs_weigh_as_much_as_one_big_one(ann: LedgerClient) -> None:
    for _ in range(20):
        await ann.start(many(10), user_id=BIG)
    one = await ann.start(many(200), user_id=SMALL)

    claims = await ann.claim(100)

    assert 45 <= sum(claim.job_id == one.id for claim in claims) <= 55


async def test_of_one_user_the_older_job_goes_first_down_to_its_last_task(ann: LedgerClient) -> None:
    await ann.start(graph(task("old-1"), task("old-2", "old-1")))
    await ann.start(graph(task("new-1"), task("new-2", "new-1")))

    order = []
    while claims := await ann.claim(1):
        order += [claim.task_name for claim in claims]
        await ann.complete(*claims)

    assert order == ["old-1", "old-2", "new-1", "new-2"]


async def test_what_is_urgent_passes_what_its_own_user_has_waiting(ann: LedgerClient) -> None:
    await ann.start(many(500))
    urgent = await ann.start(many(1), priority=1)

    (claim,) = await ann.claim(1)

    assert claim.job_id == urgent.id


async def test_an_urgent_task_passes_those_of_its_job(ann: LedgerClient) -> None:
    await ann.start(graph(task("a"), task("b"), task("c", priority=1)))
    assert [claim.task_name for claim in await ann.claim(3)] == ["c", "a", "b"]


async def test_nobody_is_put_back_by_more_than_twelve_hours(ann: LedgerClient) -> None:
    """Six for the user's earlier jobs, six for the job's own earlier tasks."""
    await ann.start(many(60_000))
    last = await ann.start(many(60_000, "late"))

    lead = await ann.connection.fetchval(
        "SELECT max(order_key) - shoal.microseconds(clock_timestamp()) FROM job_tasks WHERE job_id = $1",
        last.id,
    )
    assert 11.9 * HOUR_US < lead <= 12.1 * HOUR_US


async def test_ended_jobs_put_nobody_back(ann: LedgerClient) -> None:
    await ann.start(many(100))
    await ann.complete(*await ann.claim(100))
    fresh = await ann.start(many(1))

    behind_now = await ann.connection.fetchval(
        "SELECT turn <= shoal.microseconds(clock_timestamp()) FROM jobs WHERE id = $1", fresh.id
    )
    assert behind_now


async def test_what_is_tried_again_later_takes_its_turn_anew(ann: LedgerClient) -> None:
    """Else a retry of last week's big job would pass everybody who waits."""
    old = await ann.start(many(3), user_id=BIG)
    await ann.fail(*await ann.claim(3), permanent=True)
    await pass_seconds(ann, 7 * 24 * 3600)
    waiting = await ann.start(many(1), user_id=SMALL)
    await ann.retry_job(old.id)

    claims = await ann.claim(9)

    assert [claim.job_id for claim in claims] == [waiting.id, old.id, old.id, old.id]
    assert [claim.task_name for claim in claims[1:]] == ["t-1", "t-2", "t-3"]
