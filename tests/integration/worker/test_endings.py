"""How a task ends: what it returns, raises or outlasts, and what that means for it."""

import asyncio
import sys
import threading
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from shoal import App, Context, PermanentFailure, RetryAfter, Snooze
from tests.integration.jobs.ledger_client import graph, task

from .workshop import Workshop, until

pytestmark = pytest.mark.newest_servers


class Point(msgspec.Struct):
    x: int
    y: int = 2


def sum_of(context: Context, point: Point) -> dict[str, Any]:
    return {"sum": point.x + point.y, "thread": threading.current_thread() is not threading.main_thread()}


async def sum_of_async(context: Context, point: Point) -> dict[str, Any]:
    return sum_of(context, point)


async def test_a_sync_task_runs_in_a_thread_and_an_async_one_on_the_loop(workshop: Workshop) -> None:
    app = App()
    app.task("sync")(sum_of)
    app.task("async")(sum_of_async)
    first = await workshop.start("sync", input={"x": 1})
    second = await workshop.start("async", input={"x": 5, "y": 5})
    async with workshop.worker(app):
        assert (await workshop.ended(first))["status"] == "complete"
        assert (await workshop.ended(second))["status"] == "complete"
    assert (await workshop.task(first))["output"] == {"sum": 3, "thread": True}
    assert (await workshop.task(second))["output"] == {"sum": 10, "thread": False}


async def test_outputs_reach_the_tasks_that_need_them_by_name(workshop: Workshop) -> None:
    app = App()

    @app.task("give")
    def give(context: Context, given: int) -> int:
        return given

    @app.task("add")
    def add(context: Context) -> dict[str, Any]:
        return dict(context.needs)

    job = await workshop.client.start(
        graph(
            task("one", task_type="give", input=1),
            task("two", task_type="give", input=2),
            task("sum", "one", "two", task_type="add"),
            result="sum",
        )
    )
    async with workshop.worker(app):
        assert (await workshop.ended(job))["result"] == {"one": 1, "two": 2}


async def test_a_failure_is_tried_again_until_its_attempts_are_used_up(workshop: Workshop) -> None:
    app = App()
    attempts = []

    @app.task("fail")
    def fail(context: Context) -> None:
        attempts.append((context.attempt, context.max_attempts))
        raise ValueError(f"no {context.attempt}")

    job = await workshop.start("fail", max_attempts=3, backoff_s=0.01)
    async with workshop.worker(app):
        assert (await workshop.ended(job))["status"] == "failed"
    assert attempts == [(1, 3), (2, 3), (3, 3)]
    assert (await workshop.task(job))["error"] == "ValueError: no 3"


async def test_a_task_can_name_the_pause_before_its_next_attempt(workshop: Workshop) -> None:
    app = App()

    @app.task("later")
    def later(context: Context) -> None:
        raise RetryAfter(1000, "not yet")

    job = await workshop.start("later", backoff_s=0)
    async with workshop.worker(app):
        row = await until(lambda: workshop.task(job), lambda row: row["error"])
    now = await workshop.client.connection.fetchval("SELECT clock_timestamp()")
    assert row["error"] == "not yet"
    assert row["attempts"] == 1
    assert timedelta(seconds=900) < row["run_at"] - now <= timedelta(seconds=1000)


async def test_a_snoozed_task_comes_back_without_having_burned_an_attempt(workshop: Workshop) -> None:
    app = App()
    attempts: list[int] = []

    @app.task("wait")
    def wait(context: Context) -> str:
        attempts.append(context.attempt)
        if len(attempts) < 4:
            raise Snooze(0.01, "the feed is not there yet")
        return "done"

    job = await workshop.start("wait", max_attempts=1)
    async with workshop.worker(app):
        assert (await workshop.ended(job))["status"] == "complete"
    assert attempts == [1, 1, 1, 1]
    assert (await workshop.task(job))["error"] is None
    assert await workshop.lines_of(job) == ["the feed is not there yet"] * 3


async def test_a_snoozed_task_waits_as_long_as_it_asked(workshop: Workshop) -> None:
    app = App()

    @app.task("wait")
    async def wait(context: Context) -> None:
        raise Snooze(1000)

    job = await workshop.start("wait")
    async with workshop.worker(app):
        row = await until(lambda: workshop.task(job), lambda row: row["delayed"])
    now = await workshop.client.connection.fetchval("SELECT clock_timestamp()")
    assert timedelta(seconds=900) < row["run_at"] - now <= timedelta(seconds=1000)
    assert (row["status"], row["attempts"]) == ("pending", 0)


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), 1e300, -1.0])
async def test_a_senseless_pause_spoils_nothing(workshop: Workshop, seconds: float) -> None:
    app = App()

    @app.task("later")
    def later(context: Context) -> None:
        raise RetryAfter(seconds)

    @app.task("fail")
    def fail(context: Context) -> None:
        raise PermanentFailure("no")

    later_job = await workshop.start("later", max_attempts=2)
    failing = await workshop.start("fail")
    async with workshop.worker(app):
        assert (await workshop.ended(failing))["status"] == "failed"
        await until(lambda: workshop.task(later_job), lambda row: row["error"])


async def test_a_permanent_failure_leaves_no_attempt(workshop: Workshop) -> None:
    app = App()

    @app.task("never")
    async def never(context: Context) -> None:
        raise PermanentFailure("there is no such page")

    job = await workshop.start("never", max_attempts=5)
    async with workshop.worker(app):
        assert (await workshop.ended(job))["status"] == "failed"
    row = await workshop.task(job)
    assert (row["error"], row["attempts"]) == ("there is no such page", 1)


async def test_an_input_that_does_not_fit_fails_the_task_for_good(workshop: Workshop) -> None:
    app = App()
    app.task("sum")(sum_of)
    job = await workshop.start("sum", input={"x": "one"}, max_attempts=5)
    async with workshop.worker(app):
        await workshop.ended(job)
    row = await workshop.task(job)
    assert row["attempts"] == 1
    assert "Expected `int`, got `str` - at `$.x`" in row["error"]


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_a_task_that_outlasts_its_limit_has_failed(workshop: Workshop, kind: str) -> None:
    app = App()
    told = threading.Event()

    def wait(context: Context) -> None:
        while not context.cancelled:
            told.wait(0.01)
        told.set()

    async def wait_async(context: Context) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            told.set()

    app.task("wait")(wait if kind == "sync" else wait_async)
    job = await workshop.start("wait", max_attempts=1, timeout_s=0.1)
    async with workshop.worker(app):
        assert (await workshop.ended(job))["status"] == "failed"
        assert await asyncio.to_thread(told.wait, 10)
    assert (await workshop.task(job))["error"] == "The task took longer than its limit of 0.1 s."


async def test_a_time_limit_of_its_own_is_the_tasks_own_failure(workshop: Workshop) -> None:
    app = App()

    @app.task("impatient")
    async def impatient(context: Context) -> None:
        async with asyncio.timeout(0.01):
            await asyncio.Event().wait()

    job = await workshop.start("impatient", max_attempts=1, timeout_s=60)
    async with workshop.worker(app):
        await workshop.ended(job)
    assert (await workshop.task(job))["error"].startswith("TimeoutError")


def stop_iteration(context: Context) -> None:
    next(iter([]))


def leave(context: Context) -> None:
    sys.exit(3)


async def leave_async(context: Context) -> None:
    sys.exit(3)


async def cancel_itself(context: Context) -> None:
    raise asyncio.CancelledError


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (stop_iteration, "RuntimeError: coroutine raised StopIteration"),
        (leave, "SystemExit: 3"),
        (leave_async, "SystemExit: 3"),
        (cancel_itself, "CancelledError"),
    ],
)
async def test_whatever_a_task_raises_is_its_failure_alone(
    workshop: Workshop, function: Any, error: str
) -> None:
    app = App()
    app.task("raise")(function)
    app.task("sum")(sum_of)
    job = await workshop.start("raise", max_attempts=1)
    async with workshop.worker(app):
        await workshop.ended(job)
        after = await workshop.start("sum", input={"x": 1})
        assert (await workshop.ended(after))["status"] == "complete"
    assert (await workshop.task(job))["error"].startswith(error)


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("a\0b", "text_not_storable"),
        ({"key\0": 1}, "text_not_storable"),
        ("x" * 70_000, "output_too_large"),
        (["\ud800"], "cannot be written as JSON"),
        ({1, 2, object()}, "cannot be written as JSON"),
    ],
    ids=["U+0000", "U+0000 in a key", "large", "surrogate", "object"],
)
async def test_an_output_the_ledger_cannot_keep_spoils_no_other(
    workshop: Workshop, output: object, said: str
) -> None:
    """They end together, so that they are reported in one batch."""
    app = App()
    together = threading.Barrier(4)

    @app.task("end")
    def end(context: Context, bad: bool) -> Any:
        together.wait(20)
        return output if bad else "fine"

    jobs = [await workshop.start("end", input=bad) for bad in (False, True, False, False)]
    async with workshop.worker(app):
        statuses = [(await workshop.ended(job))["status"] for job in jobs]
    assert statuses == ["complete", "failed", "complete", "complete"]
    row = await workshop.task(jobs[1])
    assert said in row["error"]
    assert row["attempts"] == 1, "trying again would not help"
