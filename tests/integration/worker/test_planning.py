"""Jobs become tasks on a worker whose app declares them."""

import threading
from typing import Any

import msgspec
import pytest
from pydantic import BaseModel, Field

from shoal import App, Context, Graph

from .workshop import Workshop

pytestmark = pytest.mark.newest_servers


class Point(msgspec.Struct):
    x: int
    y: int = 2


class Colour(BaseModel):
    red: int = Field(ge=0, le=255)


async def test_a_job_is_planned_by_the_worker_whose_app_declares_it(workshop: Workshop) -> None:
    app = App()

    @app.task("sum")
    async def add(context: Context, point: Point) -> int:
        return point.x + point.y

    @app.job("addition", phases={"adding": 100})
    def addition(params: Point) -> Graph:
        graph = Graph()
        graph.add(add, params, phase="adding")
        return graph

    async with workshop.worker(app):
        row = await workshop.ended(await workshop.client.create("addition", params={"x": 40}))
        refused = await workshop.ended(await workshop.client.create("addition", params={"y": 1}))
    assert (row["status"], row["result"]) == ("complete", 42)
    assert refused["status"] == "failed"
    error = (await workshop.client.tasks(refused["id"]))[0]["error"]
    assert error.startswith("invalid_params:")


async def test_models_of_pydantic_are_params_inputs_and_outputs(workshop: Workshop) -> None:
    app = App()

    @app.task("invert")
    def invert(context: Context, colour: Colour) -> Colour:
        return Colour(red=255 - colour.red)

    @app.job("inversion")
    def inversion(params: Colour) -> Graph:
        graph = Graph()
        graph.add(invert, params)
        return graph

    async with workshop.worker(app):
        row = await workshop.ended(await workshop.client.create("inversion", params={"red": 5}))
        refused = await workshop.ended(await workshop.client.create("inversion", params={"red": 256}))
    assert row["result"] == {"red": 250}
    error = (await workshop.client.tasks(refused["id"]))[0]["error"]
    assert "Input should be less than or equal to 255 - at `red`" in error
    schema = "SELECT params_schema FROM job_types WHERE type = 'inversion'"
    written: dict[str, Any] = await workshop.client.connection.fetchval(schema)
    assert written["properties"]["red"]["maximum"] == 255


async def test_urgent_tasks_are_claimed_before_others_that_are_ready(workshop: Workshop) -> None:
    app = App()
    order: list[str] = []

    def note(context: Context) -> None:
        order.append(context.name)

    low = app.task("low", priority=-5)(note)
    usual = app.task("usual")(note)
    high = app.task("high", priority=5)(note)

    @app.job("mixed")
    def mixed(params: dict[str, int]) -> Graph:
        graph = Graph()
        for task in (low, usual, high):
            graph.add(task)
        return graph

    async with workshop.worker(app, worker_concurrency=1):
        await workshop.ended(await workshop.client.create("mixed"))
    assert order == ["high", "usual", "low"]


async def test_a_plan_the_ledger_cannot_keep_spoils_no_other(workshop: Workshop) -> None:
    """They end together, so that they are reported in one batch."""
    app = App()
    together = threading.Barrier(4)

    @app.task("work")
    async def work(context: Context, text: str) -> None: ...

    @app.job("text")
    def text(params: dict[str, bool]) -> Graph:
        together.wait(20)
        graph = Graph()
        graph.add(work, "x" * 65536 if params["bad"] else "fine")
        return graph

    async with workshop.worker(app):
        jobs = [
            await workshop.client.create("text", params={"bad": bad}) for bad in (False, True, False, False)
        ]
        rows = [await workshop.ended(job) for job in jobs]
    assert [row["status"] for row in rows] == ["complete", "failed", "complete", "complete"]
    assert rows[1]["error"].startswith("task_input_too_large")
    (planned,) = await workshop.client.tasks(jobs[1])
    assert planned["attempts"] == 1, "trying again would not help"


async def test_a_job_that_takes_long_to_plan_holds_nobody_up(workshop: Workshop) -> None:
    app = App()
    may_end = threading.Event()

    @app.task("work")
    async def work(context: Context) -> None:
        may_end.set()

    @app.job("large")
    def large(params: dict[str, int]) -> Graph:
        assert may_end.wait(20), "the event loop stood still"
        return Graph()

    async with workshop.worker(app):
        planned = await workshop.client.create("large")
        await workshop.start("work")
        assert (await workshop.ended(planned))["status"] == "complete"
