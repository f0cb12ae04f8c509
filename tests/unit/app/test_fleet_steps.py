"""Steps for the fleet: how they are cut, what is written of them, and what is refused."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.app.declare import App
from shoal.app.fleet_step import chunk_size
from shoal.app.graph import Graph
from shoal.app.iterations import Iterations
from shoal.app.trial import try_job
from shoal.runtime.errors import Invalid
from shoal.wire.fleet_tasks import FleetTask

app = App()


class Shift(msgspec.Struct):
    by: int = 0


@app.engine("count", version="2", reducer="moments", batch=100)
def count(shift: Shift, iterations: Iterations) -> list[float]:
    return [float(number + 1 + shift.by) for number in iterations]


@app.engine("name", version="1", reducer="collect", batch=100)
def name(_: Any, iterations: Iterations) -> list[str]:
    return [f"number {number}" for number in iterations]


@app.task("shift")
def shift_task(_: Any) -> Shift:
    return Shift(5)


def written(graph: Graph) -> FleetTask:
    return msgspec.convert(graph.steps[-1].input, FleetTask)


@given(iterations=st.integers(1, 10**12), batch=st.integers(1, 10**6))
def test_a_chunk_is_between_a_tenth_of_a_batch_and_a_batch(iterations: int, batch: int) -> None:
    size = chunk_size(iterations, batch)
    assert min(iterations, batch / 10) <= size <= min(iterations, batch)
    assert size == batch or -(-iterations // size) <= 1000


def test_a_step_says_everything_that_a_plan_is_made_of() -> None:
    graph = Graph()
    step = graph.fleet(count, Shift(3), iterations=5000, seed=9, audience="public")
    task = written(graph)

    assert (step.executor, step.task_type, step.name, graph.result) == (
        "fleet",
        "fleet:count",
        "count",
        "count",
    )
    assert (task.engine, task.reducer, task.config, task.seed) == ("count@2", "moments", {"by": 3}, 9)
    assert (task.iterations, task.size, task.audience) == (5000, 10, "public")


def test_without_a_word_only_ones_own_nodes_run_it() -> None:
    graph = Graph()
    graph.fleet(count, iterations=1)
    assert written(graph).audience == "own"


@pytest.mark.parametrize(
    "wrong",
    [
        {"iterations": 0},
        {"iterations": 2**53},
        {"iterations": 10, "chunk_size": -1},
        {"iterations": 10, "seed": -1},
        {"iterations": 10, "audience": "everybody"},
        {"iterations": 10, "config_hash": "short"},
        {"iterations": 10, "config": {}, "config_hash": "0" * 64},
        {"iterations": 10**12, "chunk_size": 1},
        {"iterations": 10, "replication": 0.5},
        {"iterations": 10, "config": {"by": 1, "text": "x" * 70_000}},
    ],
)
def test_what_no_fleet_could_run_is_refused_in_the_graph(wrong: dict[str, Any]) -> None:
    with pytest.raises(Invalid) as refused:
        Graph().fleet(count, **wrong)
    assert refused.value.code == "invalid_graph"


def test_more_results_than_can_be_collected_are_refused() -> None:
    with pytest.raises(Invalid, match="10000 chunks"):
        Graph().fleet(name, iterations=10_001, chunk_size=1)


def test_a_config_that_does_not_fit_its_engine_is_refused() -> None:
    with pytest.raises(Invalid) as refused:
        Graph().fleet(count, {"by": "much"}, iterations=10)
    assert refused.value.code == "invalid_config"


@app.job("shifted")
def shifted(_: Any) -> Graph:
    graph = Graph()
    first = graph.add(shift_task)
    graph.fleet(count, iterations=10, chunk_size=3, config_from=first)
    return graph


@app.job("names")
def names(_: Any) -> Graph:
    graph = Graph()
    graph.fleet(name, iterations=3)
    graph.fleet(name, iterations=2)
    return graph


def test_a_trial_computes_what_nodes_would() -> None:
    trial = try_job(app, "shifted")
    assert trial.status == "complete"
    assert trial.result["meanDps"] == pytest.approx(10.5)
    assert trial.graph.steps[-1].needs == ("shift",)


def test_two_steps_of_an_engine_have_two_names() -> None:
    trial = try_job(app, "names")
    assert [step.name for step in trial.graph.steps] == ["name", "name-2"]
    assert trial.result == {"values": ["number 0", "number 1"], "totalIterations": 2}
