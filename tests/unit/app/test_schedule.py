"""What an app declares of schedules."""

from typing import Any

import msgspec
import pytest

from shoal import App, Graph
from shoal.runtime.errors import Invalid


class Params(msgspec.Struct):
    n: int = 1


def app_with(**given: Any) -> App:
    app = App()

    @app.schedule(**given)
    @app.job("report")
    def report(params: Params) -> Graph:
        raise AssertionError("declaring a schedule plans nothing")

    return app


def test_a_schedule_is_asked_for_as_it_was_declared() -> None:
    (declared,) = app_with(
        cron="0 9 * * 1", tz="Europe/Berlin", params={"n": 3}, overlap="queue"
    ).schedules.values()

    assert declared.as_asked() == {
        "name": "report",
        "cron": "0 9 * * 1",
        "zone": "Europe/Berlin",
        "job": {"type": "report", "params": {"n": 3}, "priority": 0},
        "jitterS": 0.0,
        "missedRuns": "last",
        "missedLimit": 100,
        "overlap": "queue",
    }


def test_a_job_has_as_many_as_have_names() -> None:
    app = App()

    @app.schedule(every=(5, "MINUTES"))
    @app.schedule(name="weekly", cron="@weekly")
    @app.job("report")
    def report(params: Params) -> Graph:
        return Graph()

    assert set(app.schedules) == {"report", "weekly"}
    assert app.schedules["report"].as_asked()["frequencyTime"] == 5
    assert app.jobs["report"] is report


@pytest.mark.parametrize(
    "given",
    [{}, {"cron": "* * * * *", "every": (1, "DAYS")}, {"cron": "@daily", "params": {"n": "many"}}],
    ids=["neither", "both", "wrong parameters"],
)
def test_what_is_wrong_is_refused_where_it_is_declared(given: dict[str, Any]) -> None:
    with pytest.raises(Invalid) as refusal:
        app_with(**given)
    assert refusal.value.code == "invalid_declaration"


def test_a_name_is_declared_once() -> None:
    app = App()
    with pytest.raises(Invalid):

        @app.schedule(cron="@daily")
        @app.schedule(cron="@weekly")
        @app.job("report")
        def report(params: Params) -> Graph:
            return Graph()
