"""A worker needs no more than to be a member of ``shoal_worker``, which can read no table of jobs."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from shoal import App, Context, Event
from shoal.ledger.connection import connect

from .workshop import Workshop, until

pytestmark = pytest.mark.newest_servers

HAND = "hand"


@pytest.fixture
async def url_of_hand(workshop: Workshop) -> AsyncIterator[str]:
    """The database, entered by a user who is a member of ``shoal_worker`` and nothing else."""
    await workshop.client.connection.execute(f"CREATE ROLE {HAND} LOGIN IN ROLE shoal_worker")
    yield workshop.database_url.replace("//postgres@", f"//{HAND}@")
    await workshop.client.connection.execute(f"DROP ROLE {HAND}")


async def test_a_worker_without_other_rights_plans_runs_and_reports(
    workshop: Workshop, url_of_hand: str
) -> None:
    app = App()
    tries = []

    @app.task("work")
    def work(context: Context) -> str:
        tries.append(context.attempt)
        context.progress(0.5, "half")
        context.log.info("a line")
        context.artifact("made.txt", "made", type="text")
        if context.attempt == 1:
            raise ValueError("not the first time")
        return "done"

    job = await workshop.start("work", backoff_s=0)
    async with workshop.worker(app, database_url=url_of_hand):
        assert (await workshop.ended(job))["status"] == "complete"
    assert tries == [1, 2]
    assert (await workshop.task(job))["output"] == "done"
    assert "a line" in await workshop.lines_of(job)
    assert [row["name"] for row in await workshop.artifacts_of(job)] == ["made.txt"]


async def test_a_worker_without_other_rights_handles_events(workshop: Workshop, url_of_hand: str) -> None:
    app = App()
    told: list[str] = []

    @app.on("job.completed")
    async def note(event: Event) -> None:
        told.append(event.aggregate_id)

    @app.task("work")
    async def work(_: Context) -> None: ...

    async with workshop.worker(app, database_url=url_of_hand):
        job = await workshop.start("work")
        await workshop.ended(job)
        await until(lambda: _now(told))
    assert told == [str(job.id)]


async def _now(seen: object) -> object:
    return seen


async def test_its_connection_shows_nobodys_jobs(workshop: Workshop, url_of_hand: str) -> None:
    await workshop.start("work")
    connection = await connect(url_of_hand, application="test hand")
    try:
        for table in ("jobs", "job_tasks", "job_artifacts", "users", "access_keys"):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.fetch(f"SELECT * FROM {table}")  # noqa: S608 - written above
    finally:
        await connection.close()
