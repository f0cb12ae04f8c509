"""What an engine may be, and how it is computed."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import msgspec
import pytest

from shoal import App, Bounds, Iterations, try_engine
from shoal.app.engine import Engine
from shoal.app.streams import Numbers, Streams
from shoal.runtime.errors import Invalid


class Dice(msgspec.Struct):
    sides: Annotated[int, msgspec.Meta(ge=2)] = 6


@pytest.fixture
def app() -> App:
    app = App()

    @app.engine("dice", version="1.0", reducer="moments", batch=10)
    def dice(config: Dice, iterations: Iterations) -> Numbers:
        numbers: Numbers = 1 + (Streams(iterations).uniform() * config.sides).astype(int)
        return numbers

    @app.engine("squares", version="2", reducer="collect")
    def squares(config: dict[str, Any], iterations: Iterations) -> list[int]:
        return [number * number for number in iterations]

    return app


def refusal(call: Callable[[], object]) -> Invalid:
    with pytest.raises(Invalid) as refused:
        call()
    return refused.value


def declare(app: App, function: Callable[..., Any], **options: Any) -> Engine:
    return app.engine("new", **{"version": "1", "reducer": "moments", **options})(function)


def plain(config: Dice, iterations: Iterations) -> list[float]:
    return [1.0 for _ in iterations]


def test_an_engine_is_known_by_its_name_and_pinned_by_its_version(app: App) -> None:
    engine = app.engines["dice"]
    assert (engine.identity, engine.reducer, engine.batch, engine.bounds) == (
        "dice@1.0",
        "moments",
        10,
        Bounds(),
    )
    assert engine.config_schema["$defs"]["Dice"]["properties"]["sides"]["minimum"] == 2


@pytest.mark.parametrize(
    "options",
    [
        {"version": ""},
        {"version": "1@2"},
        {"version": "1\n"},
        {"version": "1" * 33},
        {"reducer": "mean"},
        {"batch": 0},
        {"bounds": Bounds(2.0, 1.0)},
        {"bounds": Bounds(float("nan"), 1.0)},
        {"bounds": Bounds(0.0, 1e200)},
        {"memory_mb": 1},
    ],
)
def test_a_declaration_that_cannot_be_kept_is_refused(app: App, options: dict[str, Any]) -> None:
    assert refusal(lambda: declare(app, plain, **options)).code == "invalid_declaration"
    assert "new" not in app.engines


def test_a_function_that_is_no_engine_is_refused(app: App) -> None:
    async def waits(config: Dice, iterations: Iterations) -> list[float]:
        return []

    def alone(config: Dice) -> list[float]:
        return []

    def swapped(iterations: Iterations, config: Dice) -> list[float]:
        return []

    def strange(config: object, iterations: Iterations) -> list[float]:
        return []

    class Opaque: ...

    strange.__annotations__["config"] = Opaque
    for function in (waits, alone, swapped, strange):
        assert refusal(partial(declare, app, function)).code == "invalid_declaration"


def test_a_name_is_taken_once(app: App) -> None:
    assert "twice" in refusal(lambda: app.engine("dice", version="9", reducer="moments")).message


@pytest.mark.parametrize("chunks", [1, 7, 1000])
def test_the_answer_does_not_depend_on_the_cutting(app: App, chunks: int) -> None:
    whole = try_engine(app, "dice", Dice(20), iterations=1000, seed=5)
    assert try_engine(app, "dice", Dice(20), iterations=1000, chunks=chunks, seed=5) == pytest.approx(
        whole, rel=1e-12
    )
    assert (whole["minDps"], whole["maxDps"], whole["totalIterations"]) == (1.0, 20.0, 1000)
    assert try_engine(app, "dice", Dice(20), iterations=1000, seed=6) != whole
    squares = try_engine(app, "squares", {}, iterations=1000, chunks=chunks)
    assert squares == {"values": [number * number for number in range(1000)], "totalIterations": 1000}


def test_it_tells_how_far_it_is_after_each_batch(app: App) -> None:
    told: list[int] = []
    app.engines["dice"].compute({}, Iterations(0, 100, 25), moved=told.append)
    assert told == [10, 20, 25]


def test_what_hears_how_far_it_is_may_end_it(app: App) -> None:
    def stop(done: int) -> None:
        raise KeyboardInterrupt(done)

    with pytest.raises(KeyboardInterrupt, match="10"):
        app.engines["dice"].compute({}, Iterations(0, 0, 25), moved=stop)


def test_a_config_that_does_not_fit_is_refused(app: App) -> None:
    error = refusal(lambda: try_engine(app, "dice", {"sides": 1}, iterations=1))
    assert error.code == "invalid_config"
    assert "sides" in error.message


@pytest.mark.parametrize("values", [None, 1.0, [], [1.0, 2.0, 3.0]])
def test_an_engine_returns_a_value_for_each_iteration(app: App, values: object) -> None:
    def broken(config: Any, iterations: Iterations) -> object:
        return values

    declare(app, broken)
    assert refusal(lambda: try_engine(app, "new", {}, iterations=2)).code == "invalid_values"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0, 0.0])
def test_an_engine_keeps_to_its_own_bounds(app: App, value: float) -> None:
    def wild(config: Any, iterations: Iterations) -> list[float]:
        return [value, value]

    declare(app, wild)
    assert refusal(lambda: try_engine(app, "new", {}, iterations=2)).code == "invalid_result"


def test_a_trial_says_what_it_does_not_know(app: App) -> None:
    assert refusal(lambda: try_engine(app, "nothing", {}, iterations=1)).code == "unknown_engine"
    assert refusal(lambda: try_engine(app, "dice", {}, iterations=1, chunks=2)).code == "invalid_iterations"
