"""When a worker looks for work: when it is told, when the clock says so, and in any case now and then."""

import asyncio

import pytest

from shoal import App, Context
from shoal.worker import agent

from .workshop import Workshop, until

pytestmark = pytest.mark.newest_servers

IDLE = """
SELECT count(*) FROM pg_stat_activity
 WHERE application_name LIKE 'shoal worker %' AND query LIKE '-- next_due%' AND state = 'idle'
"""
NEVER_S = 1000.0


@pytest.fixture
def app() -> App:
    app = App()

    @app.task("work")
    async def work(context: Context) -> str:
        return "done"

    return app


async def is_idle(workshop: Workshop) -> None:
    """Return once a worker has found nothing to do."""
    await until(lambda: workshop.client.connection.fetchval(IDLE))


async def test_a_new_task_wakes_an_idle_worker(
    workshop: Workshop, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent, "FIRST_POLL_S", NEVER_S)
    monkeypatch.setattr(agent, "LONGEST_POLL_S", NEVER_S)
    async with workshop.worker(app):
        await is_idle(workshop)
        job = await workshop.start("work")
        assert (await workshop.ended(job))["status"] == "complete"


async def test_a_worker_that_hears_nothing_looks_by_itself(
    workshop: Workshop, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent, "FIRST_POLL_S", 0.05)
    async with workshop.worker(app, without="listener"):
        await is_idle(workshop)
        job = await workshop.start("work")
        assert (await workshop.ended(job))["status"] == "complete"


async def test_a_delayed_task_is_taken_when_its_time_has_come(
    workshop: Workshop, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody says so then: the worker knows when to look."""
    monkeypatch.setattr(agent, "FIRST_POLL_S", NEVER_S)
    monkeypatch.setattr(agent, "LONGEST_POLL_S", NEVER_S)
    job = await workshop.start("work")
    await workshop.client.connection.execute(
        "UPDATE job_tasks SET delayed = true, run_at = clock_timestamp() + interval '1 s' WHERE id = $1",
        job.tasks["work"],
    )
    async with workshop.worker(app, without="listener"):
        await is_idle(workshop)
        assert (await workshop.task(job))["status"] == "pending"
        assert (await workshop.ended(job))["status"] == "complete"


async def test_a_worker_takes_only_what_its_app_declares(workshop: Workshop, app: App) -> None:
    strange = await workshop.start("strange")
    known = await workshop.start("work")
    async with workshop.worker(app):
        assert (await workshop.ended(known))["status"] == "complete"
    assert (await workshop.task(strange))["attempts"] == 0


async def test_slow_tasks_are_claimed_one_for_each_place(workshop: Workshop) -> None:
    """What one worker holds and does not run, another could not run."""
    app = App()
    enough = asyncio.Event()

    @app.task("slow")
    async def slow(context: Context) -> None:
        await enough.wait()

    jobs = [await workshop.start("slow") for _ in range(5)]
    async with workshop.worker(app, worker_concurrency=2):
        await workshop.task_is(jobs[0], "claimed")
        await workshop.task_is(jobs[1], "claimed")
        assert [(await workshop.task(job))["status"] for job in jobs[2:]] == ["pending"] * 3
        enough.set()
        for job in jobs:
            assert (await workshop.ended(job))["status"] == "complete"
