"""What tasks make is seen when the attempt that made it has completed its task, and never otherwise."""

from uuid import UUID

import pytest

from shoal.ledger.pool import Ledger
from shoal.runtime.errors import Conflict
from shoal.worker.held import Claim

from .ledger_client import INSERT_AS_THE_SEED, OWNER, LedgerClient, graph, task
from .races import refused


async def seen(ledger: Ledger, job: UUID) -> list[str]:
    """What the owner sees of the job's artifacts."""
    async with ledger.acting_as({"role": "authenticated", "sub": str(OWNER)}) as connection:
        rows = await connection.fetch(
            "SELECT storage_path FROM job_artifacts WHERE job_id = $1 ORDER BY storage_path", job
        )
    return [row["storage_path"] for row in rows]


async def insert_as_service(client: LedgerClient, claim: Claim, path: str) -> None:
    """The direct insert of a client written from the seed: no claim token, and a signed link."""
    async with client.connection.transaction():
        await client.connection.execute("SET LOCAL ROLE service_role")
        await client.connection.execute(INSERT_AS_THE_SEED, claim.job_id, claim.task_id, path)


async def test_an_artifact_is_hidden_until_its_task_completes(ann: LedgerClient, ledger: Ledger) -> None:
    job = await ann.start(graph(task("a")))
    held = await ann.claim_one()
    assert await ann.add_artifact(held, "a.mp3")
    assert await seen(ledger, job.id) == []

    await ann.complete(held)

    assert await seen(ledger, job.id) == ["a.mp3"]


async def test_the_artifacts_of_a_zombie_are_never_seen(
    ann: LedgerClient, bob: LedgerClient, ledger: Ledger
) -> None:
    """Trap 4.11: a retry inserts a second row, and a zombie overwrites the file of the new attempt."""
    job = await ann.start(graph(task("a")))
    lost = await ann.claim_one()
    await ann.add_artifact(lost, "zombie.mp3")
    await ann.let_leases_run_out()
    await ann.reclaim()
    held = await bob.claim_one()
    await bob.add_artifact(held, "good.mp3")
    assert await ann.add_artifact(lost, "late.mp3") is False

    await bob.complete(held)

    assert await ann.add_artifact(lost, "later.mp3") is False
    assert await seen(ledger, job.id) == ["good.mp3"]


@pytest.mark.parametrize("end", ["failed", "cancelled", "released"])
async def test_of_an_attempt_that_did_not_complete_nothing_is_seen(
    ann: LedgerClient, ledger: Ledger, end: str
) -> None:
    job = await ann.start(graph(task("a")))
    held = await ann.claim_one()
    await ann.add_artifact(held, "a.mp3")
    if end == "failed":
        await ann.fail(held, permanent=True)
    elif end == "cancelled":
        await ann.cancel_job(job.id)
    else:
        await ann.release(held)
        again = await ann.claim_one()
        await ann.complete(again)
    assert await seen(ledger, job.id) == []


async def test_adding_an_artifact_again_adds_nothing(ann: LedgerClient, ledger: Ledger) -> None:
    """The reply to the first call may have been lost."""
    job = await ann.start(graph(task("a")))
    held = await ann.claim_one()
    assert await ann.add_artifact(held, "a.mp3")
    assert await ann.add_artifact(held, "a.mp3")
    await ann.complete(held)
    assert await seen(ledger, job.id) == ["a.mp3"]


async def test_the_direct_insert_of_a_client_written_from_the_seed_works(
    ann: LedgerClient, ledger: Ledger
) -> None:
    """Trap 4.12: a link signed for an hour and stored is dead afterwards: it is accepted and not kept."""
    job = await ann.start(graph(task("a")))
    held = await ann.claim_one()
    await insert_as_service(ann, held, "a.mp3")
    row = await ann.connection.fetchrow("SELECT * FROM job_artifacts")
    assert row is not None
    assert (row["public_url"], row["claim_token"], row["job_id"]) == (None, held.token, job.id)
    assert await seen(ledger, job.id) == []

    await ann.complete(held)

    assert await seen(ledger, job.id) == ["a.mp3"]


async def test_a_direct_insert_says_no_job_but_its_tasks(ann: LedgerClient) -> None:
    await ann.start(graph(task("a")))
    other = await ann.start(graph(task("b")))
    held = await ann.claim_one()
    await insert_as_service(ann, held._replace(job_id=other.id), "a.mp3")
    assert await ann.connection.fetchval("SELECT job_id FROM job_artifacts") == held.job_id


async def test_nothing_is_added_by_a_direct_insert_once_the_task_has_ended(
    ann: LedgerClient, bob: LedgerClient, ledger: Ledger
) -> None:
    """A zombie written from the seed names no attempt: its row would count for the one that completed."""
    job = await ann.start(graph(task("a")))
    lost = await ann.claim_one()
    await ann.let_leases_run_out()
    await ann.reclaim()
    with refused(Conflict, "task_not_claimed"):
        await insert_as_service(ann, lost, "between.mp3")
    await bob.complete(await bob.claim_one())
    with refused(Conflict, "task_not_claimed"):
        await insert_as_service(ann, lost, "zombie.mp3")
    assert await seen(ledger, job.id) == []
