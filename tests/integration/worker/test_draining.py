"""A worker that is told to stop finishes what runs or hands it back, and burns no attempt."""

import asyncio
import threading

import pytest

from shoal import App, Context
from tests.integration.jobs.ledger_client import graph, task

from .workshop import Workshop, happened

pytestmark = pytest.mark.newest_servers

HELD = "SELECT count(*) FROM job_tasks WHERE status = 'claimed' AND task_type = 'work'"


async def test_what_runs_may_end_within_the_grace_period(workshop: Workshop) -> None:
    app = App()
    begun, may_end = asyncio.Event(), asyncio.Event()

    @app.task("work")
    async def work(context: Context) -> str:
        begun.set()
        await may_end.wait()
        return "done"

    first = await workshop.start("work")
    async with workshop.worker(app, worker_concurrency=1):
        await happened(begun)
        second = await workshop.start("work")
        asyncio.get_running_loop().call_later(0.1, may_end.set)
    assert (await workshop.task(first))["output"] == "done"
    row = await workshop.task(second)
    assert (row["status"], row["attempts"]) == ("pending", 0)


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_what_does_not_end_is_handed_back(workshop: Workshop, kind: str) -> None:
    app = App()
    begun, told = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    @app.task("sync")
    def sync(context: Context) -> str:
        loop.call_soon_threadsafe(begun.set)
        while not context.cancelled:
            told.wait(0.01)
        told.set()
        return "too late"

    @app.task("async")
    async def run(context: Context) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            told.set()

    job = await workshop.start(kind)
    async with workshop.worker(app, grace_s=0.1):
        await happened(begun)
    row = await workshop.task(job)
    assert (row["status"], row["attempts"], row["claim_token"]) == ("pending", 0, None)
    assert await asyncio.to_thread(told.wait, 10)


async def test_what_was_claimed_ahead_is_handed_back(workshop: Workshop) -> None:
    """The first ones end at once, so that the worker claims far ahead; then one holds the only place."""
    app = App()
    begun, may_end = asyncio.Event(), asyncio.Event()

    @app.task("work")
    async def work(context: Context, number: int) -> None:
        if number == 300:
            begun.set()
            await may_end.wait()

    job = await workshop.client.start(graph(task("n", task_type="work", each=list(range(600)))))
    async with workshop.worker(app, worker_concurrency=1):
        await happened(begun)
        held = await workshop.client.connection.fetchval(HELD)
        asyncio.get_running_loop().call_later(0.1, may_end.set)
    assert held > 1, "nothing was claimed ahead"
    rows = [row for row in await workshop.client.tasks(job.id) if row["task_type"] == "work"]
    assert [row["status"] for row in rows[:301]] == ["complete"] * 301
    assert {(row["status"], row["attempts"]) for row in rows[301:]} == {("pending", 0)}
