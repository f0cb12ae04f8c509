"""What an app declares, and what it may not."""

from collections.abc import Callable
from itertools import pairwise
from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.app.context import Context
from shoal.app.declare import App, Job
from shoal.app.graph import Graph
from shoal.runtime.errors import Invalid


class Report(msgspec.Struct):
    title: str
    pages: Annotated[int, msgspec.Meta(ge=1, le=100)] = 1


@pytest.fixture
def app() -> App:
    return App()


def refusal(call: Callable[[], object]) -> Invalid:
    with pytest.raises(Invalid) as refused:
        call()
    return refused.value


def report_job(app: App, **options: Any) -> Job:
    @app.task("write", phase="writing")
    def write(context: Context) -> None: ...

    @app.job("report", **options)
    def report(report: Report) -> Graph:
        graph = Graph()
        for number in range(report.pages):
            graph.add(write, {"title": report.title, "number": number})
        return graph

    return report


def test_a_task_is_known_by_its_type(app: App) -> None:
    @app.task("write.page-2", retries=0, backoff=0.5, timeout=9, phase="writing")
    async def write(context: Context, number: int) -> str:
        return str(number)

    assert app.tasks == {"write.page-2": write}
    assert (write.type, write.retries, write.backoff, write.timeout) == ("write.page-2", 0, 0.5, 9)
    assert (write.phase, write.input_type, write.is_async) == ("writing", int, True)


def test_a_task_may_take_no_input_and_one_of_any_kind(app: App) -> None:
    @app.task("plain")
    def plain(context: Context) -> None: ...

    @app.task("any")
    def anything(context, input):  # type: ignore[no-untyped-def]  # users need not annotate  # noqa: A002
        return input

    assert plain.input_type is None
    assert anything.input_type is Any
    assert not plain.is_async


@pytest.mark.parametrize("name", ["", "A", "1a", "_a", "a b", "a/b", "plan:x", "ä", "a" * 64, "a\n"])
@pytest.mark.parametrize("kind", ["task", "job"])
def test_a_strange_name_is_refused(app: App, kind: str, name: str) -> None:
    error = refusal(lambda: getattr(app, kind)(name))
    assert error.code == "invalid_declaration"
    assert repr(name) in error.message
    assert error.hint


@given(st.from_regex(r"[a-z][a-z0-9_.-]{0,62}", fullmatch=True))
def test_any_ordinary_name_is_taken(name: str) -> None:
    app = App()

    @app.task(name)
    def write(context: Context) -> None: ...

    @app.job(name)  # tasks and jobs do not share their names
    def report(report: Report) -> Graph:
        return Graph()

    assert (list(app.tasks), list(app.jobs)) == ([name], [name])


@pytest.mark.parametrize("kind", ["task", "job"])
def test_a_name_that_is_taken_is_refused(app: App, kind: str) -> None:
    report_job(app)
    taken = {"task": "write", "job": "report"}[kind]
    error = refusal(lambda: getattr(app, kind)(taken))
    assert error.code == "invalid_declaration"
    assert "twice" in error.message


def test_planning_turns_plain_parameters_into_a_graph(app: App) -> None:
    graph = report_job(app, phases={"writing": 100}).plan({"title": "T", "pages": 2})

    assert [step.input for step in graph.steps] == [
        {"title": "T", "number": 0},
        {"title": "T", "number": 1},
    ]


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"title": 1},
        {"title": "T", "pages": 0},
        {"title": "T", "pages": "2"},
        {"title": "T", "pages": 101},
        [],
        None,
        "T",
    ],
)
def test_parameters_that_do_not_fit_are_refused_by_name(app: App, params: object) -> None:
    error = refusal(lambda: report_job(app, phases={"writing": 100}).plan(params))
    assert error.code == "invalid_params"
    assert "report" in error.message


def test_a_step_in_a_phase_the_job_does_not_have_is_refused(app: App) -> None:
    error = refusal(lambda: report_job(app, phases={"printing": 100}).plan({"title": "T"}))
    assert error.code == "invalid_graph"
    assert "'writing'" in error.message


def test_the_schema_says_what_the_parameters_are(app: App) -> None:
    schema = report_job(app).params_schema

    assert msgspec.json.decode(msgspec.json.encode(schema)) == schema
    declared = schema["$defs"]["Report"]
    assert declared["required"] == ["title"]
    assert declared["properties"]["pages"] == {"type": "integer", "minimum": 1, "maximum": 100, "default": 1}


def test_a_job_without_annotations_takes_anything(app: App) -> None:
    @app.job("loose")
    def loose(params):  # type: ignore[no-untyped-def]  # users need not annotate
        return Graph()

    assert loose.plan({"a": [1]}).steps == []
    assert loose.params_schema == {}


def phases_of(phases: dict[str, float]) -> list[tuple[str, float]]:
    app = App()
    written = report_job(app, phases=phases).phases_as_written()
    return [(str(phase["name"]), float(str(phase["ends"]))) for phase in written]


def test_shares_of_a_hundred_are_kept_as_they_are() -> None:
    assert phases_of({"a": 10, "b": 60, "c": 30}) == [("a", 10), ("b", 70), ("c", 100)]
    assert phases_of({"a": 10, "b": 60}) == [("a", 10), ("b", 70)]


def test_larger_weights_share_the_hundred() -> None:
    assert phases_of({"a": 100, "b": 300}) == [("a", 25), ("b", 100)]


def test_no_phases_are_none() -> None:
    assert phases_of({}) == []


names = st.text("abcdefgh", min_size=1, max_size=4)


@given(st.dictionaries(names, st.floats(0.01, 1e6), min_size=1, max_size=12))
def test_phases_end_one_after_the_other_at_a_hundred_at_most(phases: dict[str, float]) -> None:
    written = phases_of(phases)
    assert [name for name, _ in written] == list(phases)
    ends = [end for _, end in written]
    assert all(earlier <= later for earlier, later in pairwise(ends))
    assert all(0 <= end <= 100 for end in ends)
    if sum(phases.values()) > 100:
        assert ends[-1] == 100


def test_a_type_that_json_cannot_become_is_refused_where_it_is_declared(app: App) -> None:
    class Plain:
        pass

    def job(params: Plain) -> Graph:
        return Graph()

    def task(context: Context, given: list[Plain]) -> None: ...

    for declare in (lambda: app.job("plain")(job), lambda: app.task("plain")(task)):
        error = refusal(declare)
        assert error.code == "invalid_declaration"
        assert "plain" in error.message
    assert not app.jobs
    assert not app.tasks


@pytest.mark.parametrize("priority", [-101, 101, float("nan")])
def test_a_priority_is_between_minus_a_hundred_and_a_hundred(app: App, priority: int) -> None:
    assert refusal(lambda: app.task("urgent", priority=priority)).code == "invalid_declaration"


def test_a_task_may_ask_for_a_process_and_hold_it_to_its_memory(app: App) -> None:
    task = app.task("heavy", run_in="process", memory_mb=512)(lambda _: None)
    assert (task.run_in, task.memory_mb) == ("process", 512)
    assert app.task("light")(lambda _: None).run_in == "worker"


@pytest.mark.parametrize(
    "options",
    [{"run_in": "thread"}, {"memory_mb": 512}, {"run_in": "process", "memory_mb": 1}],
    ids=["nowhere", "a limit for the whole worker", "too little for Python"],
)
def test_where_a_task_runs_makes_sense(app: App, options: dict[str, Any]) -> None:
    assert refusal(lambda: app.task("heavy", **options)).code == "invalid_declaration"
