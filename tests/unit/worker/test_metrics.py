"""What a worker counts, as Prometheus reads it."""

from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from shoal.app.failures import PermanentFailure, RetryAfter
from shoal.runtime.errors import Invalid, Unavailable
from shoal.runtime.metrics import exposition
from shoal.worker.meaning import TookTooLong, meaning_of
from shoal.worker.metrics import FAILURE_CODES, WorkerMetrics
from shoal.worker.reports import Completion, code_of, report_of

TYPES = ("draw", "plan:book")
CLAIM: Any = None  # nothing here looks at it


class Series(NamedTuple):
    name: str
    labels: frozenset[tuple[str, str]]


def shown(metrics: WorkerMetrics) -> dict[Series, float]:
    registry = CollectorRegistry()
    registry.register(metrics)
    families = text_string_to_metric_families(exposition(registry).decode())
    return {
        Series(sample.name, frozenset(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }


def value(metrics: WorkerMetrics, name: str, **labels: str) -> float:
    return shown(metrics)[Series(f"shoal_worker_{name}", frozenset({"task_type": "draw", **labels}.items()))]


def test_a_task_that_ends_well_is_counted_once() -> None:
    metrics = WorkerMetrics(TYPES)
    metrics.started("draw")
    assert value(metrics, "tasks_running") == 1

    metrics.ended("draw", 0.2)
    metrics.reported("draw", "completed", "")

    assert value(metrics, "tasks_running") == 0
    assert value(metrics, "tasks_started_total") == 1
    assert value(metrics, "tasks_completed_total") == 1
    assert value(metrics, "task_duration_seconds_count") == 1
    assert value(metrics, "task_duration_seconds_sum") == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("verdict", "failed", "retried", "snoozed", "lost"),
    [
        ("failed", 1, 0, 0, 0),
        ("retrying", 1, 1, 0, 0),
        ("snoozed", 0, 0, 1, 0),
        ("lease_lost", 0, 0, 0, 1),
    ],
)
def test_every_other_end_has_a_number_of_its_own(
    verdict: str, failed: int, retried: int, snoozed: int, lost: int
) -> None:
    metrics = WorkerMetrics(TYPES)

    metrics.reported("draw", verdict, "timeout")

    assert value(metrics, "tasks_completed_total") == 0
    assert value(metrics, "tasks_failed_total", code="timeout") == failed
    assert value(metrics, "tasks_retried_total") == retried
    assert value(metrics, "tasks_snoozed_total") == snoozed
    assert value(metrics, "tasks_lost_total") == lost


@given(st.lists(st.floats(0, 10_000), max_size=50))
def test_the_buckets_count_all_that_took_no_longer(durations: list[float]) -> None:
    metrics = WorkerMetrics(["draw"])
    for seconds in durations:
        metrics.ended("draw", seconds)

    buckets = [
        (float(dict(series.labels)["le"]), count)
        for series, count in shown(metrics).items()
        if series.name == "shoal_worker_task_duration_seconds_bucket"
    ]

    assert len(buckets) > 10
    for bound, count in buckets:
        assert count == sum(seconds <= bound for seconds in durations)


def test_no_series_comes_that_was_not_there_from_the_start() -> None:
    metrics = WorkerMetrics(TYPES)
    before = shown(metrics).keys()

    for task_type in TYPES:
        metrics.started(task_type)
        metrics.ended(task_type, 1e9)
        metrics.lost(task_type)
        for verdict in ("completed", "already_completed", "failed", "retrying", "snoozed", "lease_lost"):
            for code in FAILURE_CODES:
                metrics.reported(task_type, verdict, code)

    assert shown(metrics).keys() == before


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (LookupError("x"), "error"),
        (PermanentFailure("x"), "permanent"),
        (RetryAfter(1), "retry_after"),
        (TookTooLong("x"), "timeout"),
        (Invalid("whatever_the_user_likes", "x"), "refused"),
        (Unavailable("whatever_the_user_likes", "x"), "unavailable"),
    ],
)
def test_why_it_failed_is_one_of_few_codes(error: Exception, code: str) -> None:
    assert code_of(report_of(CLAIM, meaning_of(error))) == code
    assert code in FAILURE_CODES


def test_an_output_that_is_refused_has_a_code_too() -> None:
    assert code_of(Completion(CLAIM, "{}")) in FAILURE_CODES
