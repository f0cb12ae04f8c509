"""What a test sees of the jobs that its subject starts."""

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from shoal import App, Context, Graph
from shoal.runtime.errors import Conflict, Invalid
from shoal.testing import RecordedStarts

app = App()


@app.task("step")
def step(_: Context, number: int) -> int:
    return number


@app.job("steps")
def steps(params: dict[str, int]) -> Graph:
    graph = Graph()
    graph.add(step, 2, needs=[graph.add(step, params["first"])])
    return graph


async def test_it_remembers_what_was_asked_for() -> None:
    starts, user, later = RecordedStarts(), uuid4(), datetime(2030, 1, 31, tzinfo=UTC)

    job = await app.start(
        steps, {"first": 1}, connection=starts, user_id=user, priority=3, unique_key="k", run_at=later
    )
    many = await app.start_many(
        "steps", [{"first": n} for n in range(3)], connection=starts, planned_by="worker"
    )

    first, *others = starts.of("steps")
    assert (first.id, first.type, first.params, first.tasks) == (
        job,
        "steps",
        {"first": 1},
        ["step", "step-2"],
    )
    assert (first.user_id, first.priority, first.unique_key, first.run_at) == (user, 3, "k", later)
    assert [(one.id, one.params["first"], one.graph) for one in others] == [
        (many[n], n, None) for n in range(3)
    ]
    assert starts.of("other") == []


async def test_keys_hold_and_wrong_parameters_are_refused() -> None:
    starts = RecordedStarts()
    given: dict[str, Any] = {"connection": starts, "unique_key": "k"}
    first = await app.start(steps, {"first": 1}, **given)

    assert await app.start(steps, {"first": 2}, on_conflict="existing", **given) == first
    with pytest.raises(Conflict):
        await app.start(steps, {"first": 2}, **given)
    with pytest.raises(Invalid):
        await app.start(steps, {"first": "one"}, connection=starts)
    assert len(starts.jobs) == 1


async def test_of_many_none_is_remembered_when_one_is_refused() -> None:
    starts = RecordedStarts()
    with pytest.raises(Conflict):
        await app.start_many(steps, [{"first": n} for n in (1, 2, 1)], connection=starts, unique_key=str)
    assert starts.jobs == []


async def test_anything_else_is_asked_of_the_connection_behind_it() -> None:
    class Behind(RecordedStarts):
        async def fetchval(self, query: str, *args: Any) -> Any:
            return query, args

    starts = RecordedStarts(Behind())
    assert await starts.fetchval("SELECT $1", 7) == ("SELECT $1", (7,))
    with pytest.raises(AttributeError):
        await RecordedStarts().fetchval("SELECT 1")
