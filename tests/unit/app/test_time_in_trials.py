"""The clock of a trial: delays, pauses between attempts, and snoozes."""

import pytest

from shoal import App, Context, Graph, RetryAfter, Snooze
from shoal.testing import begin_job, try_job


def an_app() -> App:
    app = App()

    @app.task("flaky", retries=3, backoff=10)
    def flaky(context: Context) -> int:
        if context.attempt < 3:
            raise OSError("not yet")
        return context.attempt

    @app.task("asked", retries=1)
    def asked(context: Context) -> None:
        if context.attempt == 1:
            raise RetryAfter(90)

    @app.task("early")
    def early(context: Context) -> None:
        if "awake" not in seen:
            seen.append("awake")
            raise Snooze(3600)

    seen: list[str] = []

    @app.task("last")
    def last(context: Context) -> int:
        value: int = context.needs["flaky"]
        return value

    @app.job("pauses")
    def pauses(params: dict[str, int]) -> Graph:
        graph = Graph()
        needed = [graph.add(flaky), graph.add(asked), graph.add(early)]
        graph.add(last, needs=needed)
        return graph

    return app


def test_what_waits_waits_for_its_time() -> None:
    job = begin_job(an_app(), "pauses")
    assert (job.status, job.waiting) == ("processing", {"flaky": 10, "asked": 90, "early": 3600})

    job.advance(9.5)
    assert (job.attempts["flaky"], job.waiting["flaky"]) == (1, 0.5)
    job.advance(0.5)
    assert (job.attempts["flaky"], job.waiting["flaky"]) == (2, 20)
    job.advance(80)
    assert job.states == {"flaky": "complete", "asked": "complete"}
    assert job.waiting == {"early": 3510}
    job.advance(3510)
    assert (job.status, job.result, job.clock) == ("complete", 3, 3600)
    assert (job.attempts["early"], job.errors) == (1, {})


def test_time_passes_in_steps_of_what_is_due() -> None:
    job = begin_job(an_app(), "pauses")
    job.advance(100_000)
    assert (job.status, job.attempts["flaky"], job.clock) == ("complete", 3, 100_000)


def test_a_later_start_holds_everything_back() -> None:
    job = begin_job(an_app(), "pauses", starts_in=60)
    assert (job.attempts, set(job.waiting.values())) == ({}, {60})
    job.advance(59)
    assert job.attempts == {}
    job.advance(1)
    assert job.waiting == {"flaky": 10, "asked": 90, "early": 3600}
    job.finish()
    assert (job.status, job.clock) == ("complete", 3660)


@pytest.mark.parametrize("retries", [0, 2])
def test_the_clock_of_a_job_that_is_tried_ends_with_it(retries: int) -> None:
    app = App()

    @app.task("never", retries=retries, backoff=4000)
    def never(context: Context) -> None:
        raise OSError("no")

    @app.job("fails")
    def fails(params: dict[str, int]) -> Graph:
        graph = Graph()
        graph.add(never)
        return graph

    job = try_job(app, "fails")
    assert (job.status, job.attempts, job.clock) == ("failed", {"never": retries + 1}, retries * 3600)
