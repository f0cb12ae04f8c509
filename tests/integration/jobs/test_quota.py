"""What users keep in the vault is counted exactly, and what is over a quota is refused when it is added."""

import asyncio
from uuid import UUID, uuid4

import asyncpg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shoal.jobs.retention import Retention
from shoal.jobs.settings import RetentionSettings
from shoal.ledger.pool import Ledger
from shoal.runtime.errors import TooLarge
from shoal.runtime.refusals import translate

from .conftest import OpenClient
from .ended import ended_job
from .ledger_client import OWNER, LedgerClient, graph, task
from .races import begun_and_waiting, refused

OTHER = UUID("00000000-0000-4000-8000-0000000000bb")
USAGE = "SELECT bytes FROM vault_usage WHERE user_id = $1"
SET_SIZES = "UPDATE job_artifacts SET file_size_bytes = $1"
SEEDS_INSERT = """
INSERT INTO job_artifacts (job_id, task_id, artifact_type, storage_path, file_size_bytes)
VALUES ($1, $2, 'audio_mp3', $3, $4)
"""
RECOUNT = """
SELECT coalesce(jsonb_object_agg(user_id, bytes), '{}') FROM (
  SELECT user_id, sum(file_size_bytes) AS bytes FROM job_artifacts GROUP BY user_id) a
"""
COUNTED = "SELECT coalesce(jsonb_object_agg(user_id, bytes), '{}') FROM vault_usage WHERE bytes <> 0"


async def set_quota(ledger: Ledger, *, together: int | None = None, each: int | None = None) -> None:
    """As a sentinel with these settings does when it starts."""
    given = RetentionSettings(vault_max_bytes=together, vault_max_bytes_per_user=each)
    await Retention(ledger, given).start()


async def usage(client: LedgerClient, user: UUID = OWNER) -> int:
    return int(await client.connection.fetchval(USAGE, user) or 0)


async def test_what_is_added_counts_once_and_no_more_when_it_is_gone(ann: LedgerClient) -> None:
    job = await ann.start(graph(task("a")))
    held = await ann.claim_one()
    for path in ("one", "one", "two"):
        assert await ann.add_artifact(held, path)
    assert await usage(ann) == 2
    await ann.connection.execute(SET_SIZES, 10)
    assert await usage(ann) == 20
    await ann.complete(held)
    await ann.connection.execute("DELETE FROM jobs WHERE id = $1", job.id)
    assert await usage(ann) == 0


async def test_a_user_over_the_quota_is_refused_and_others_are_not(ann: LedgerClient, ledger: Ledger) -> None:
    await set_quota(ledger, each=2)
    await ann.start(graph(task("a")))
    mine = await ann.claim_one()
    await ann.start(graph(task("a")), user_id=OTHER)
    theirs = await ann.claim_one()
    for path in ("one", "two"):
        assert await ann.add_artifact(mine, path)

    with refused(TooLarge, "quota_exceeded"):
        await ann.add_artifact(mine, "three")

    assert await usage(ann) == 2
    assert await ann.add_artifact(mine, "two"), "a repeated call adds nothing"
    assert await ann.add_artifact(theirs, "one")


async def test_the_refusal_says_how_much_there_is_and_what_to_do(ann: LedgerClient, ledger: Ledger) -> None:
    await set_quota(ledger, each=0)
    await ann.start(graph(task("a")))
    with pytest.raises(asyncpg.PostgresError) as caught:
        await ann.add_artifact(await ann.claim_one(), "one")
    error = translate(caught.value)
    assert error is not None
    assert error.message == "The files of this user would take 1 bytes; they may take 0."
    assert "shoal job purge" in error.hint


async def test_one_user_may_have_a_quota_of_their_own(ann: LedgerClient, ledger: Ledger) -> None:
    await set_quota(ledger, each=0)
    await ann.connection.execute("SELECT limit_vault($1, 1)", OWNER)
    await ann.start(graph(task("a")))
    held = await ann.claim_one()
    assert await ann.add_artifact(held, "one")
    with refused(TooLarge, "quota_exceeded"):
        await ann.add_artifact(held, "two")
    await ann.connection.execute("SELECT limit_vault($1)", OWNER)
    await set_quota(ledger, each=2)
    assert await ann.add_artifact(held, "two")
    await set_quota(ledger)
    assert await ann.add_artifact(held, "three")


async def test_a_client_written_from_the_seed_meets_the_same_quota(ann: LedgerClient, ledger: Ledger) -> None:
    await set_quota(ledger, each=100)
    await ann.start(graph(task("a")))
    held = await ann.claim_one()
    async with ann.connection.transaction():
        await ann.connection.execute("SET LOCAL ROLE service_role")
        await ann.connection.execute(SEEDS_INSERT, held.job_id, held.task_id, "a", 100)
    with refused(TooLarge, "quota_exceeded"):
        async with ann.connection.transaction():
            await ann.connection.execute("SET LOCAL ROLE service_role")
            await ann.connection.execute(SEEDS_INSERT, held.job_id, held.task_id, "b", 1)


async def test_deleting_makes_room_also_for_somebody_who_is_over_the_quota(
    ann: LedgerClient, ledger: Ledger
) -> None:
    old = [await ended_job(ann, age_days=31) for _ in range(3)]
    await set_quota(ledger, together=1, each=1)
    await ann.start(graph(task("a")))
    held = await ann.claim_one()
    with refused(TooLarge, "quota_exceeded"):
        await ann.add_artifact(held, "one")
    for job in old:
        await ann.connection.execute("SELECT shoal.delete_jobs($1)", [job])
    assert await ann.add_artifact(held, "one")


@pytest.mark.parametrize("limit", ["together", "each"])
async def test_many_who_add_at_once_fill_a_quota_exactly(
    ann: LedgerClient, open_client: OpenClient, ledger: Ledger, limit: str
) -> None:
    room, tries = 7, 4
    await set_quota(ledger, together=room if limit == "together" else None, each=room)
    users = [OWNER, OTHER] if limit == "together" else [OWNER]
    clients = [await open_client(f"worker-{number}") for number in range(4)]
    held = []
    for number, client in enumerate(clients):
        await client.start(graph(task("a")), user_id=users[number % len(users)])
        held.append(await client.claim_one())

    async def add(number: int) -> int:
        added = 0
        for attempt in range(tries):
            try:
                added += await clients[number].add_artifact(held[number], f"{number}/{attempt}")
            except asyncpg.PostgresError as error:
                if getattr(error, "detail", "") != "quota_exceeded":
                    raise
        return added

    assert sum(await asyncio.gather(*map(add, range(4)))) == room
    assert sum([await usage(ann, user) for user in users]) == room


async def test_who_adds_while_another_fills_the_vault_waits_and_is_refused(
    ann: LedgerClient, bob: LedgerClient, ledger: Ledger
) -> None:
    await set_quota(ledger, together=1)
    await ann.start(graph(task("a")))
    mine = await ann.claim_one()
    await bob.start(graph(task("a")), user_id=OTHER)
    theirs = await bob.claim_one()
    async with ann.connection.transaction():
        await ann.add_artifact(mine, "one")
        adding = await begun_and_waiting(bob.add_artifact(theirs, "two"), of=bob, seen_by=ann)
    with refused(TooLarge, "quota_exceeded"):
        await adding


Step = st.tuples(st.sampled_from(["add", "end", "delete", "resize"]), st.integers(0, 2), st.integers(0, 9))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(Step, max_size=12))
async def test_the_count_is_what_a_recount_finds(
    ann: LedgerClient, steps: list[tuple[str, int, int]]
) -> None:
    await ann.connection.execute("DELETE FROM jobs")
    users = [uuid4() for _ in range(3)]
    held = {}
    for user in users:
        await ann.start(graph(task("a")), user_id=user)
        held[user] = await ann.claim_one()
    for what, who, size in steps:
        claim = held.get(users[who])
        if what == "delete":
            await ann.connection.execute("DELETE FROM jobs WHERE user_id = $1", users[who])
            held.pop(users[who], None)
        elif what == "resize":
            await ann.connection.execute(SET_SIZES, size)
        elif claim and what == "end":
            await ann.fail(held.pop(users[who]), permanent=True)
        elif claim:
            await ann.connection.execute(SEEDS_INSERT, claim.job_id, claim.task_id, f"{uuid4()}", size)
        assert await ann.connection.fetchval(COUNTED) == {
            user: kept for user, kept in (await ann.connection.fetchval(RECOUNT)).items() if kept
        }
