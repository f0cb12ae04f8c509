"""A graph is built forwards, so it has no cycles; what is wrong is refused where it is added."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.app.context import Context
from shoal.app.declare import App
from shoal.app.graph import Graph
from shoal.app.task import Task
from shoal.runtime.errors import Invalid

app = App()


class Page(msgspec.Struct):
    number: int
    text: str = ""


@app.task("fetch")
def fetch(context: Context) -> None: ...


@app.task("render", retries=4, backoff=1.5, timeout=60, phase="pages")
def render(context: Context, page: Page) -> None: ...


def refusal(graph: Graph, task: Task, *args: Any, **kwargs: Any) -> str:
    before = list(graph.steps)
    with pytest.raises(Invalid) as refused:
        graph.add(task, *args, **kwargs)
    assert refused.value.code == "invalid_graph"
    assert graph.steps == before
    return refused.value.message


def test_a_step_carries_what_its_task_declares() -> None:
    graph = Graph()
    first = graph.add(fetch)
    second = graph.add(render, Page(3), name="page 3", needs=[first], on_failure="skip")

    assert (first.name, first.task_type, first.max_attempts, first.backoff_s) == ("fetch", "fetch", 3, 5.0)
    assert (second.name, second.max_attempts, second.backoff_s, second.timeout_s) == ("page 3", 5, 1.5, 60)
    assert (second.needs, second.on_failure, second.phase) == (("fetch",), "skip", "pages")
    assert second.input == {"number": 3, "text": ""}


def test_a_phase_given_to_a_step_wins() -> None:
    assert Graph().add(render, phase="cover").phase == "cover"


def test_the_result_is_the_last_step_unless_another_is_chosen() -> None:
    graph = Graph()
    first = graph.add(fetch, name="first")
    graph.add(fetch, name="second")
    assert graph.result == "second"
    graph.result = first.name
    assert graph.as_written()["result"] == "first"


def test_what_is_written_is_plain_and_says_nothing_twice() -> None:
    graph = Graph()
    first = graph.add(fetch)
    graph.add(render, Page(1, "x"), needs=[first, first])

    written = msgspec.json.decode(msgspec.json.encode(graph.as_written()))
    assert written == {
        "tasks": [
            {"name": "fetch", "task_type": "fetch", "max_attempts": 3, "backoff_s": 5.0, "input": {}},
            {
                "name": "render",
                "task_type": "render",
                "max_attempts": 5,
                "backoff_s": 1.5,
                "phase": "pages",
                "input": {"number": 1, "text": "x"},
                "needs": ["fetch"],
                "timeout_s": 60,
            },
        ],
        "result": "render",
    }


def test_an_empty_graph_has_nothing_to_do() -> None:
    assert Graph().as_written() == {"tasks": [], "result": None}


def test_two_steps_of_one_name_are_refused() -> None:
    graph = Graph()
    graph.add(fetch, name="one")
    assert "'one'" in refusal(graph, render, Page(1), name="one")


def test_needing_a_step_of_another_graph_is_refused_even_under_a_known_name() -> None:
    graph, other = Graph(), Graph()
    graph.add(fetch, name="one")
    stranger, namesake = other.add(fetch, name="two"), other.add(fetch, name="one")
    assert "'two'" in refusal(graph, fetch, needs=[stranger])
    assert "'one'" in refusal(graph, fetch, needs=[namesake])


@given(st.lists(st.sampled_from(["fetch", "fetch-2", "fetch-3", "render", None]), max_size=30))
def test_steps_without_a_name_get_one_nobody_has(names: list[str | None]) -> None:
    graph = Graph()
    for name in names:
        if name is None or name not in {step.name for step in graph.steps}:
            graph.add(fetch, name=name)
    taken = [step.name for step in graph.steps]
    assert len(taken) == len(set(taken))


@given(st.lists(st.sets(st.integers(0, 30)), max_size=20))
def test_a_step_only_ever_needs_earlier_ones(wanted: list[set[int]]) -> None:
    graph = Graph()
    for needs in wanted:
        graph.add(fetch, needs=[graph.steps[index] for index in sorted(needs) if index < len(graph.steps)])

    place = {step.name: index for index, step in enumerate(graph.steps)}
    for step in graph.steps:
        assert all(place[need] < place[step.name] for need in step.needs)


def test_a_step_is_as_urgent_as_its_task() -> None:
    urgent = App().task("urgent", priority=7)(lambda _: None)
    graph = Graph()
    graph.add(urgent)
    written = msgspec.json.decode(msgspec.json.encode(graph.as_written()))
    assert written["tasks"][0]["priority"] == 7
