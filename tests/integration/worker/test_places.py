"""The places of a worker are filled one by one, not round by round."""

import asyncio

import pytest

from shoal import App, Context

from .workshop import Workshop

pytestmark = pytest.mark.newest_servers


async def test_a_slow_task_holds_up_no_other(workshop: Workshop) -> None:
    """Trap 4.10: whoever waits for the slowest of those claimed together leaves places idle meanwhile."""
    app = App()
    enough = asyncio.Event()

    @app.task("slow")
    async def slow(context: Context) -> None:
        await enough.wait()

    @app.task("quick")
    async def quick(context: Context) -> None:
        pass

    held_up = await workshop.start("slow")
    others = [await workshop.start("quick") for _ in range(7)]
    async with workshop.worker(app, worker_concurrency=2):
        await workshop.task_is(held_up, "claimed")
        for job in others:
            assert (await workshop.ended(job))["status"] == "complete"
        assert (await workshop.task(held_up))["status"] == "claimed"
        enough.set()
        assert (await workshop.ended(held_up))["status"] == "complete"
