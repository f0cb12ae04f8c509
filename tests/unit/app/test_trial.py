"""Jobs tried out in-process."""

from collections.abc import AsyncIterator

import msgspec
import pytest

from examples.hello import app as hello_app
from shoal import App, Context, Graph, PermanentFailure, Snooze, try_job
from shoal.app.graph import OnFailure
from shoal.runtime.errors import Invalid


class Size(msgspec.Struct):
    count: int


def an_app(on_failure: OnFailure = "fail") -> App:
    app = App()

    @app.task("make")
    async def make(context: Context, size: Size) -> list[int]:
        (context.workdir / "note").write_text("from a file")
        context.artifact("note", context.workdir / "note", type="text")

        async def blocks() -> AsyncIterator[bytes]:
            yield b"from "
            yield b"a stream"

        context.artifact("stream", blocks(), type="text")
        return list(range(size.count))

    @app.task("flaky", retries=2)
    def flaky(context: Context) -> int:
        if context.attempt < 3:
            raise OSError("not yet")
        return context.attempt

    @app.task("refuses", retries=5)
    def refuses(_: Context) -> None:
        raise PermanentFailure("never")

    @app.task("sum")
    def total(context: Context) -> int:
        return sum(context.needs["make"] or [])

    @app.job("good")
    def good(size: Size) -> Graph:
        graph = Graph()
        graph.add(total, needs=[graph.add(make, size), graph.add(flaky)])
        return graph

    @app.job("bad")
    def bad(size: Size) -> Graph:
        graph = Graph()
        made = graph.add(make, size)
        graph.add(total, needs=[made, graph.add(refuses)], on_failure=on_failure)
        return graph

    return app


def test_the_smallest_example() -> None:
    trial = try_job(hello_app, "hello", {"name": "Ada"})
    assert (trial.status, trial.result) == ("complete", "Hello, Ada!")
    assert trial.artifacts == {"greeting.txt": b"Hello, Ada!\n"}


def test_needs_attempts_and_artifacts_are_as_on_a_worker() -> None:
    trial = try_job(an_app(), "good", Size(4))
    assert (trial.status, trial.result) == ("complete", 6)
    assert trial.attempts == {"make": 1, "flaky": 3, "sum": 1}
    assert trial.artifacts == {"note": b"from a file", "stream": b"from a stream"}
    assert trial.errors == {}


@pytest.mark.parametrize(
    ("on_failure", "states", "status"),
    [
        ("fail", {"make": "complete", "refuses": "failed", "sum": "failed"}, "failed"),
        ("skip", {"make": "complete", "refuses": "failed", "sum": "cancelled"}, "failed"),
        ("ignore", {"make": "complete", "refuses": "failed", "sum": "complete"}, "failed"),
    ],
)
def test_a_failure_spreads_as_declared(on_failure: OnFailure, states: dict[str, str], status: str) -> None:
    trial = try_job(an_app(on_failure), "bad", {"count": 2})
    assert (trial.states, trial.status) == (states, status)
    assert trial.attempts["refuses"] == 1


def test_wrong_parameters_are_refused_as_they_would_be() -> None:
    with pytest.raises(Invalid, match="not valid"):
        try_job(an_app(), "good", {"count": "many"})
    with pytest.raises(Invalid, match="no job"):
        try_job(an_app(), "nothing")


def test_a_snoozed_task_runs_again_at_once_and_burns_no_attempt() -> None:
    app = App()
    runs: list[int] = []

    @app.task("wait", retries=0)
    def wait(context: Context) -> int:
        runs.append(context.attempt)
        if len(runs) < 3:
            raise Snooze(3600)
        return len(runs)

    @app.job("waiting")
    def waiting(params: dict[str, int]) -> Graph:
        graph = Graph()
        graph.add(wait)
        return graph

    assert try_job(app, "waiting").result == 3
    assert runs == [1, 1, 1]


def test_a_task_that_never_stops_snoozing_is_refused() -> None:
    app = App()

    @app.task("wait")
    def wait(context: Context) -> None:
        raise Snooze(3600, "no feed")

    @app.job("waiting")
    def waiting(params: dict[str, int]) -> Graph:
        graph = Graph()
        graph.add(wait)
        return graph

    with pytest.raises(Invalid, match="no feed") as caught:
        try_job(app, "waiting")
    assert caught.value.code == "snoozed_for_ever"
