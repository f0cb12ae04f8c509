"""Starting jobs by name: whose they are, unique keys, and what remains of a start that is undone."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from shoal.runtime.errors import Conflict, Forbidden, Invalid, NotFound, TooLarge

from .ledger_client import OWNER, LedgerClient, graph, task
from .races import begun_and_waiting, refused

OTHER = UUID("00000000-0000-4000-8000-0000000000bb")


@pytest.fixture(autouse=True)
async def known_type(ann: LedgerClient) -> None:
    await ann.register()


async def count_jobs(client: LedgerClient) -> int:
    return int(await client.connection.fetchval("SELECT count(*) FROM jobs"))


async def test_a_job_begins_with_a_plan_that_gets_its_params(ann: LedgerClient) -> None:
    job = await ann.create(params={"name": "Ada"})

    row = await ann.job(job)
    assert (row["status"], row["user_id"], row["params"]) == ("queued", OWNER, {"name": "Ada"})
    assert row["progress"]["percent"] == 0
    (claim,) = await ann.claim(9, types=["plan:graph"])
    assert (claim.job_id, claim.job_type, claim.user_id) == (job, "graph", OWNER)
    assert claim.input == {"name": "Ada"}


async def test_a_type_nobody_registered_is_unknown(ann: LedgerClient) -> None:
    with refused(NotFound, "unknown_job_type"):
        await ann.create("unheard_of")


async def test_a_job_has_an_owner(ann: LedgerClient) -> None:
    with refused(Invalid, "job_owner_missing"):
        await ann.create(user_id=None)


async def test_a_job_starts_at_some_point_in_time(ann: LedgerClient) -> None:
    """An infinite delay would make the clock of idle workers fail on PostgreSQL 15."""
    for never in ("infinity", "-infinity"):
        with refused(Invalid, "run_at_infinite"):
            await ann.connection.execute(
                "SELECT create_job('graph', p_user_id => $1, p_run_at => $2::text::timestamptz)", OWNER, never
            )


async def test_the_clock_of_idle_workers_passes_over_what_never_comes(ann: LedgerClient) -> None:
    await ann.create(run_at=datetime.now(UTC) + timedelta(minutes=1))
    await ann.create(run_at=datetime.now(UTC) + timedelta(minutes=2))
    await ann.connection.execute(
        "UPDATE job_tasks SET run_at = 'infinity' WHERE run_at > now() + interval '90 s'"
    )
    assert 50 < await ann.connection.fetchval("SELECT shoal.next_due_s('{}')") <= 60
    await ann.connection.execute("UPDATE job_tasks SET run_at = 'infinity'")
    assert await ann.connection.fetchval("SELECT shoal.next_due_s('{}')") is None


async def test_a_delayed_job_is_planned_when_it_is_time(ann: LedgerClient) -> None:
    job = await ann.create(run_at=datetime.now(UTC) + timedelta(hours=1))
    assert await ann.claim(9, types=["plan:graph"]) == []
    assert (await ann.job(job))["status"] == "queued"
    await ann.let_delays_pass()
    assert len(await ann.claim(9, types=["plan:graph"])) == 1


async def test_of_one_key_there_is_one_living_job(ann: LedgerClient) -> None:
    first = await ann.create(unique_key="daily")
    with refused(Conflict, "job_exists"):
        await ann.create(unique_key="daily")
    assert await ann.create(unique_key="daily", on_conflict="existing") == first
    assert await count_jobs(ann) == 1


async def test_a_key_belongs_to_one_user_and_one_type(ann: LedgerClient) -> None:
    """Trap of unscoped keys: anybody could block anybody's job by its key."""
    await ann.register("other")
    jobs = {
        await ann.create(unique_key="daily"),
        await ann.create(unique_key="daily", user_id=OTHER),
        await ann.create("other", unique_key="daily"),
        await ann.create(unique_key="weekly"),
        await ann.create(),
        await ann.create(),
    }
    assert len(jobs) == 6


async def test_a_key_is_free_again_when_its_job_has_ended(ann: LedgerClient) -> None:
    ended = await ann.start(graph(task("a")), unique_key="daily")
    await ann.complete(await ann.claim_one())
    second = await ann.create(unique_key="daily", on_conflict="existing")
    assert second != ended.id
    await ann.cancel_job(second)
    assert await ann.create(unique_key="daily") not in {ended.id, second}


async def test_the_second_of_two_creators_waits_and_gets_the_job_of_the_first(
    ann: LedgerClient, bob: LedgerClient
) -> None:
    async with ann.connection.transaction():
        first = await ann.create(unique_key="daily")
        asking = bob.create(unique_key="daily", on_conflict="existing")
        second = await begun_and_waiting(asking, of=bob, seen_by=ann)
    assert await second == first


async def test_the_second_of_two_creators_takes_over_when_the_first_gives_up(
    ann: LedgerClient, bob: LedgerClient
) -> None:
    giving_up = ann.connection.transaction()
    await giving_up.start()
    first = await ann.create(unique_key="daily")
    second = await begun_and_waiting(bob.create(unique_key="daily"), of=bob, seen_by=ann)
    await giving_up.rollback()
    assert await second != first
    assert await count_jobs(ann) == 1


async def test_creators_at_the_same_moment_get_the_same_job(ann: LedgerClient, bob: LedgerClient) -> None:
    for number in range(15):
        key = {"unique_key": f"key-{number}", "on_conflict": "existing"}
        assert len(set(await asyncio.gather(ann.create(**key), bob.create(**key)))) == 1


async def test_of_a_transaction_that_is_undone_nothing_remains(ann: LedgerClient, bob: LedgerClient) -> None:
    undone = ann.connection.transaction()
    await undone.start()
    await ann.create(unique_key="daily", idempotency_key="once")
    assert await bob.claim(9, types=["plan:graph"]) == []
    await undone.rollback()

    left = """SELECT (SELECT count(*) FROM jobs) + (SELECT count(*) FROM job_tasks)
                     + (SELECT count(*) FROM idempotency_keys)"""
    assert await ann.connection.fetchval(left) == 0


async def test_of_a_refused_start_nothing_remains_in_the_callers_transaction(ann: LedgerClient) -> None:
    await ann.create(unique_key="daily")
    async with ann.connection.transaction():
        await ann.create(unique_key="weekly")
        with refused(Conflict, "job_exists"):
            async with ann.connection.transaction():
                await ann.create(unique_key="daily")
    assert await count_jobs(ann) == 2


async def test_the_same_idempotency_key_returns_the_same_job_even_when_it_has_ended(
    ann: LedgerClient,
) -> None:
    first = await ann.create(params={"n": 1}, idempotency_key="once")
    await ann.cancel_job(first)
    assert await ann.create(params={"n": 1}, idempotency_key="once") == first
    with refused(Conflict, "idempotency_key_reused"):
        await ann.create(params={"n": 2}, idempotency_key="once")
    assert await ann.create(params={"n": 1}, idempotency_key="once", user_id=OTHER) != first


async def test_two_calls_with_one_idempotency_key_wait_for_each_other(
    ann: LedgerClient, bob: LedgerClient
) -> None:
    async with ann.connection.transaction():
        first = await ann.create(idempotency_key="once")
        second = await begun_and_waiting(bob.create(idempotency_key="once"), of=bob, seen_by=ann)
    assert await second == first


async def test_params_over_the_limit_are_refused(ann: LedgerClient) -> None:
    with refused(TooLarge, "job_params_too_large"):
        await ann.create(params={"text": "x" * 65536})
    await ann.create(params={"text": "x" * 65000})


async def test_params_with_a_zero_character_are_refused(ann: LedgerClient) -> None:
    with refused(Invalid, "text_not_storable"):
        await ann.create(params={"text": "a\0b"})


@pytest.mark.parametrize("given", [{"priority": 101}, {"priority": -101}, {"unique_key": ""}])
async def test_what_no_job_can_be_leaves_nothing(ann: LedgerClient, given: dict[str, Any]) -> None:
    with pytest.raises(asyncpg.IntegrityConstraintViolationError):
        await ann.create(**given)
    assert await count_jobs(ann) == 0


async def as_user(client: LedgerClient, user: UUID | None) -> None:
    """Until the transaction ends, the connection is that of a user, as PostgREST makes it."""
    claims = '{"role": "authenticated"}' if user is None else f'{{"role": "authenticated", "sub": "{user}"}}'
    await client.connection.execute(
        "SELECT set_config('role', 'authenticated', true), set_config('request.jwt.claims', $1, true)", claims
    )


async def test_a_user_starts_jobs_for_themselves(ann: LedgerClient) -> None:
    async with ann.connection.transaction():
        await as_user(ann, OTHER)
        named = await ann.create(user_id=OTHER)
        unnamed = await ann.create(user_id=None)
    for job in (named, unnamed):
        assert (await ann.job(job))["user_id"] == OTHER


@pytest.mark.parametrize("user", [OTHER, None])
async def test_a_user_starts_no_jobs_for_others(ann: LedgerClient, user: UUID | None) -> None:
    """Nor does somebody whose token names no user at all: that does not make them the system."""
    async with ann.connection.transaction():
        await as_user(ann, user)
        with refused(Forbidden, "job_owner_foreign"):
            async with ann.connection.transaction():
                await ann.create(user_id=OWNER)
    assert await count_jobs(ann) == 0


async def test_of_one_key_there_is_one_living_job_whoever_starts_and_ends_them(
    ann: LedgerClient, bob: LedgerClient
) -> None:
    for _ in range(10):
        await asyncio.gather(
            ann.create(unique_key="k", on_conflict="existing"),
            bob.create(unique_key="k", on_conflict="existing"),
        )
        living = await ann.connection.fetch("SELECT id FROM jobs WHERE status IN ('queued', 'processing')")
        assert len(living) == 1
        await ann.cancel_job(living[0]["id"])
    assert await ann.retry_job(living[0]["id"]) == 1
