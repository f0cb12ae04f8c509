"""Jobs that ended long ago go, whole; what has not ended is never touched, and nobody waits for it."""

from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shoal.jobs.retention import Retention
from shoal.jobs.settings import RetentionSettings
from shoal.jobs.store import sql
from shoal.ledger.pool import Ledger
from shoal.runtime.errors import Conflict, NotFound

from .ended import EDGES, End, ended_job, grow_old, rows_left
from .ledger_client import OWNER, LedgerClient, graph, task
from .races import begun_and_waiting, refused

DAY = timedelta(days=1)
ENDS: list[End] = ["complete", "failed", "cancelled"]
BACKDATE_LINES = "UPDATE task_logs SET at = at - interval '10 days'"
BACKDATE_KEYS = "UPDATE idempotency_keys SET created_at = created_at - interval '25 hours'"
HOLD_BACK = """
UPDATE job_tasks SET delayed = true, run_at = 'infinity' WHERE job_id = $1 AND status = 'pending'
"""
NO_WAITING = "SET lock_timeout = '2s'"
LINES = "SELECT count(*) FROM task_logs"


async def delete_old(
    client: LedgerClient, *, ended: timedelta | None = 30 * DAY, failed: timedelta | None = 30 * DAY
) -> int:
    row = await sql.delete_old_jobs.row(client.connection, keep_ended=ended, keep_failed=failed)
    assert row is not None
    return int(row["jobs"])


@pytest.mark.parametrize("how", ENDS)
async def test_an_old_job_goes_with_everything_of_it(ann: LedgerClient, how: End) -> None:
    old = await ended_job(ann, how, age_days=31, idempotency_key="old")
    young = await ended_job(ann, how, age_days=29, idempotency_key="young")
    before = await rows_left(ann, young)

    assert await delete_old(ann) == 1

    assert await rows_left(ann, old) == 0
    assert await rows_left(ann, young) == before
    assert await ann.connection.fetchval(EDGES) == 1
    assert await delete_old(ann) == 0


async def test_failed_jobs_are_kept_for_a_time_of_their_own(ann: LedgerClient) -> None:
    jobs = {how: await ended_job(ann, how, age_days=31) for how in ENDS}
    assert await delete_old(ann, failed=90 * DAY) == 2
    assert [how for how, job in jobs.items() if await rows_left(ann, job)] == ["failed"]


async def test_what_has_no_end_set_is_kept_for_ever(ann: LedgerClient) -> None:
    for how in ENDS:
        await ended_job(ann, how, age_days=36500)
    assert await delete_old(ann, ended=None, failed=None) == 0
    assert await delete_old(ann, ended=None) == 1


async def test_a_batch_is_as_large_as_its_tasks_and_at_least_one_job(ann: LedgerClient) -> None:
    await ann.register_once("graph")
    sizes = [900, 900, 900, 2500]
    for age, size in enumerate(sizes):
        job = await ann.start(graph({"name": "many", "task_type": "work", "each": [{}] * size}))
        await ann.cancel_job(job.id)
        await grow_old(ann, job.id, 100 - age)
    assert [await delete_old(ann) for _ in range(4)] == [2, 1, 1, 0]


Fate = st.tuples(
    st.sampled_from(["complete", "failed", "cancelled", "queued", "processing", "retried"]),
    st.integers(0, 60),
)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(fates=st.lists(Fate, max_size=6), keep=st.tuples(*[st.none() | st.integers(1, 50)] * 2))
async def test_of_any_jobs_those_go_that_ended_and_are_too_old(
    ann: LedgerClient, fates: list[tuple[str, int]], keep: tuple[int | None, int | None]
) -> None:
    await ann.connection.execute("DELETE FROM jobs")
    ended, failed = (None if days is None else days * DAY for days in keep)
    staying = set()
    for fate, age in fates:
        if fate in ENDS:
            job = await ended_job(ann, fate, age_days=age)
            kept = failed if fate == "failed" else ended
            if kept is None or age * DAY < kept:
                staying.add(job)
        else:
            staying.add(await unended_job(ann, fate))
    await ann.connection.execute("UPDATE jobs SET created_at = created_at - interval '1 year'")

    while await delete_old(ann, ended=ended, failed=failed):
        pass

    assert {row["id"] for row in await ann.connection.fetch("SELECT id FROM jobs")} == staying
    assert await ann.connection.fetchval("SELECT count(DISTINCT job_id) FROM job_tasks") == len(staying)


async def unended_job(client: LedgerClient, fate: str) -> UUID:
    if fate == "retried":
        job = await ended_job(client, "failed", age_days=365)
        await client.retry_job(job)
        (claim,) = await client.claim(1)
        assert claim.job_id == job
        return job
    planned = await client.start(graph(task("x")))
    if fate == "processing":
        await client.claim(1)
    else:  # what is queued must not be claimed for another job of this example
        await client.connection.execute(HOLD_BACK, planned.id)
    return planned.id


async def test_a_job_that_is_being_tried_again_is_passed_over_without_waiting(
    ann: LedgerClient, bob: LedgerClient
) -> None:
    retried = await ended_job(ann, "failed", age_days=31)
    other = await ended_job(ann, "failed", age_days=31)
    await ann.connection.execute(NO_WAITING)
    async with bob.connection.transaction():
        await bob.retry_job(retried)
        assert await delete_old(ann) == 1
    assert await rows_left(ann, other) == 0
    assert (await ann.job(retried))["status"] == "processing"
    assert await delete_old(ann) == 0
    await ann.complete(await ann.claim_one())


async def test_a_job_of_which_one_task_is_held_is_passed_over(ann: LedgerClient, bob: LedgerClient) -> None:
    job = await ended_job(ann, age_days=31)
    await ann.connection.execute(NO_WAITING)
    async with bob.connection.transaction():
        await bob.connection.execute("SELECT FROM job_tasks WHERE job_id = $1 LIMIT 1 FOR UPDATE", job)
        assert await delete_old(ann) == 0
    assert await delete_old(ann) == 1


async def test_what_was_tried_again_just_before_its_tasks_were_locked_stays(
    ann: LedgerClient, bob: LedgerClient
) -> None:
    """The choice of what is old is made before the locks: it is looked at again under them."""
    job = await ended_job(ann, "failed", age_days=31)
    await bob.retry_job(job)
    deleted = await ann.connection.fetchrow("SELECT * FROM shoal.delete_jobs($1)", [job])
    assert deleted is not None
    assert deleted["jobs"] == 0
    assert (await ann.job(job))["status"] == "processing"


async def test_trying_again_a_job_that_is_being_deleted_is_refused(
    ann: LedgerClient, bob: LedgerClient
) -> None:
    job = await ended_job(ann, "failed", age_days=31)
    async with ann.connection.transaction():
        assert await delete_old(ann) == 1
        retrying = await begun_and_waiting(bob.retry_job(job), of=bob, seen_by=ann)
    with refused(Conflict, "nothing_to_retry"):
        await retrying
    with refused(NotFound, "job_not_found"):
        await bob.retry_job(job)


async def test_while_jobs_are_deleted_others_are_claimed_and_completed(
    ann: LedgerClient, bob: LedgerClient
) -> None:
    await ended_job(ann, age_days=31)
    await ann.start(graph(task("a")))
    async with ann.connection.transaction():
        assert await delete_old(ann) == 1
        await bob.connection.execute(NO_WAITING)
        assert await bob.complete(await bob.claim_one()) == ["completed"]
        await ended_job(bob, user_id=uuid4())


async def test_one_process_deletes_at_a_time(ann: LedgerClient, bob: LedgerClient) -> None:
    await ended_job(ann, age_days=31)
    async with ann.connection.transaction():
        assert await delete_old(ann) == 1
        await ended_job(bob, age_days=31, user_id=uuid4())
        assert await delete_old(bob) == 0
    assert await delete_old(bob) == 1


async def test_a_task_that_is_added_by_hand_saves_its_job(ann: LedgerClient, bob: LedgerClient) -> None:
    """A client written from the seed inserts rows of its own."""
    job = await ended_job(ann, age_days=31)
    async with bob.connection.transaction():
        await bob.connection.execute("INSERT INTO job_tasks (job_id, task_type) VALUES ($1, 'late')", job)
        await ann.connection.execute(NO_WAITING)
        assert await delete_old(ann) == 0
    assert await delete_old(ann) == 0
    await bob.complete(*await bob.claim(1, types=["late"]))


async def test_deleted_jobs_are_remembered_however_they_went(ann: LedgerClient) -> None:
    old = await ended_job(ann, age_days=31)
    by_hand = await ended_job(ann)
    await delete_old(ann)
    await ann.connection.execute("DELETE FROM jobs WHERE id = $1", by_hand)
    rows = await ann.connection.fetch(
        "SELECT job_id, user_id FROM shoal.deleted_jobs WHERE empty_at IS NOT NULL"
    )
    assert {(row["job_id"], row["user_id"]) for row in rows} == {(old, OWNER), (by_hand, OWNER)}


async def test_old_lines_go_but_not_those_of_a_job_that_has_not_ended(ann: LedgerClient) -> None:
    await ended_job(ann)
    await ann.start(graph(task("a")))
    running = await ann.claim_one()
    await ann.add_logs([(running, "one"), (running, "two")])
    await ann.connection.execute(BACKDATE_LINES)
    await ended_job(ann)

    assert await sql.delete_old_lines.value(ann.connection, keep=11 * DAY) == 0
    assert await sql.delete_old_lines.value(ann.connection, keep=9 * DAY) == 1
    assert await ann.connection.fetchval(LINES) == 3
    await ann.complete(running)
    assert await sql.delete_old_lines.value(ann.connection, keep=9 * DAY) == 2


async def test_an_idempotency_key_goes_after_a_day_and_its_job_stays(ann: LedgerClient) -> None:
    job = await ended_job(ann, idempotency_key="key")
    assert await sql.delete_old_keys.value(ann.connection) == 0
    await ann.connection.execute(BACKDATE_KEYS)
    assert await sql.delete_old_keys.value(ann.connection) == 1
    assert (await ann.job(job))["status"] == "complete"


async def test_the_chore_deletes_batch_after_batch_until_nothing_old_is_left(
    ann: LedgerClient, ledger: Ledger
) -> None:
    old = [await ended_job(ann, how, age_days=2, idempotency_key=how) for how in ENDS]
    young = await ended_job(ann, idempotency_key="young")
    await ann.connection.execute(BACKDATE_LINES)
    await ann.connection.execute(BACKDATE_KEYS)

    await Retention(
        ledger, RetentionSettings(keep_jobs_days=1, keep_failed_jobs_days=1, keep_lines_days=1)
    ).work()

    assert [await rows_left(ann, job) for job in old] == [0, 0, 0]
    assert (await ann.job(young))["status"] == "complete"
    assert await rows_left(ann, young) == 1 + 3 + 1  # the job, its tasks, its artifact


@pytest.mark.parametrize("role", ["anon", "authenticated", "shoal_worker"])
@pytest.mark.parametrize(
    "call",
    ["delete_old_jobs('1s', '1s')", "delete_old_lines('1s')", "delete_old_keys()", "delete_jobs('{}')"],
)
async def test_nobody_but_the_service_cleans(ann: LedgerClient, role: str, call: str) -> None:
    async with ann.connection.transaction():
        await ann.connection.execute(f"SET LOCAL ROLE {role}")
        with pytest.raises(Exception, match="permission denied for function"):
            await ann.connection.fetch(f"SELECT shoal.{call}")
