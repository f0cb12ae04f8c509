"""Deleting beside working, trying again and adding files: nobody waits in a circle, nothing is left."""

import asyncio
from datetime import timedelta
from random import randrange
from uuid import UUID

import asyncpg

from shoal.jobs.store import sql
from shoal.runtime.refusals import translate

from .conftest import OpenClient
from .ended import rows_left
from .ledger_client import LedgerClient, graph, task

NOTHING = timedelta(0)


async def work(client: LedgerClient, started: list[UUID]) -> None:
    """Start jobs, and let every other task that comes fail."""
    for _ in range(40):
        job = await client.start(graph(task("a"), task("b")))
        started.append(job.id)
        for number, claim in enumerate(await client.claim(2)):
            await client.add_artifact(claim, f"{claim.token}")
            await client.add_logs([(claim, "line")])
            await (client.complete(claim) if number else client.fail(claim, permanent=True))


async def retry(client: LedgerClient, started: list[UUID]) -> None:
    for _ in range(150):
        try:
            await client.retry_job(started[randrange(len(started))])  # noqa: S311 - not a secret
        except asyncpg.PostgresError as error:
            if translate(error) is None:  # else there is nothing to try again, or it is gone
                raise


async def delete(client: LedgerClient) -> int:
    row = await sql.delete_old_jobs.row(client.connection, keep_ended=NOTHING, keep_failed=NOTHING)
    return row["jobs"] if row else 0


async def delete_again_and_again(client: LedgerClient) -> int:
    return sum([await delete(client) for _ in range(100)])


async def test_everything_at_once_comes_to_an_end_and_leaves_nothing(
    ann: LedgerClient, bob: LedgerClient, open_client: OpenClient
) -> None:
    started: list[UUID] = []
    retrying, deleting = await open_client("retrying"), await open_client("deleting")
    await work(ann, started)

    _, _, deleted = await asyncio.gather(
        work(bob, started), retry(retrying, started), delete_again_and_again(deleting)
    )

    assert deleted > 0
    while claims := await ann.claim(100):
        await ann.complete(*claims)
    while await delete(ann):
        pass
    assert [await rows_left(ann, job) for job in started] == [0] * len(started)
    assert await ann.connection.fetchval("SELECT sum(bytes) FROM vault_usage") == 0
