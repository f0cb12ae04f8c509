"""What a worker counts, by task type, for Prometheus.

A task costs a few additions to plain numbers, whether anybody reads them or not; families are made of them
when somebody does. The labels are the types of the worker's apps and the codes below, so there are never
more series than at the start, and each of them is there from the start.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

FAILURE_CODES = (
    "error",
    "output_refused",
    "permanent",
    "refused",
    "retry_after",
    "timeout",
    "unavailable",
)
"""``error`` is any exception the task did not mean to raise; ``refused`` what Shoal itself raised, such as an
input that is not valid; ``output_refused`` an output that the ledger does not keep.
"""

BUCKETS_S = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0)

BY_TYPE = ("task_type",)


@dataclass(slots=True)
class Tally:
    """The numbers of one task type."""

    started: int = 0
    running: int = 0
    completed: int = 0
    retried: int = 0
    snoozed: int = 0
    lost: int = 0
    failed: dict[str, int] = field(default_factory=lambda: dict.fromkeys(FAILURE_CODES, 0))
    buckets: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS_S) + 1))
    seconds: float = 0.0

    def up_to_each_bound(self) -> list[tuple[str, float]]:
        return list(zip([*map(str, BUCKETS_S), "+Inf"], accumulate(self.buckets), strict=True))


class WorkerMetrics(Collector):
    """Written by the worker's event loop alone; read by whichever thread answers Prometheus."""

    def __init__(self, task_types: Iterable[str]) -> None:
        self._of = {task_type: Tally() for task_type in task_types}

    def started(self, task_type: str) -> None:
        tally = self._of[task_type]
        tally.started += 1
        tally.running += 1

    def ended(self, task_type: str, seconds: float) -> None:
        """However it ended. What was made of it is said by ``reported`` once it is durable."""
        tally = self._of[task_type]
        tally.running -= 1
        tally.seconds += seconds
        tally.buckets[bisect_left(BUCKETS_S, seconds)] += 1

    def reported(self, task_type: str, verdict: str, code: str) -> None:
        """What the ledger said to the report; ``code`` is why it failed, if it did."""
        tally = self._of[task_type]
        match verdict:
            case "failed":
                tally.failed[code] += 1
            case "retrying":
                tally.failed[code] += 1
                tally.retried += 1
            case "snoozed":
                tally.snoozed += 1
            case "lease_lost":
                tally.lost += 1
            case _:
                tally.completed += 1

    def lost(self, task_type: str) -> None:
        """The claim counts no more, and nothing will be reported."""
        self._of[task_type].lost += 1

    def collect(self) -> Iterator[Metric]:
        started = CounterMetricFamily("shoal_worker_tasks_started", "Tasks started.", labels=BY_TYPE)
        completed = CounterMetricFamily(
            "shoal_worker_tasks_completed", "Tasks whose output is durable.", labels=BY_TYPE
        )
        failed = CounterMetricFamily(
            "shoal_worker_tasks_failed", "Attempts that failed, by why.", labels=("task_type", "code")
        )
        retried = CounterMetricFamily(
            "shoal_worker_tasks_retried", "Failed attempts after which a task is tried again.", labels=BY_TYPE
        )
        snoozed = CounterMetricFamily(
            "shoal_worker_tasks_snoozed", "Tasks that asked to be run later.", labels=BY_TYPE
        )
        lost = CounterMetricFamily(
            "shoal_worker_tasks_lost",
            "Claims that counted no more: the lease ran out, or the task was cancelled.",
            labels=BY_TYPE,
        )
        running = GaugeMetricFamily("shoal_worker_tasks_running", "Tasks running now.", labels=BY_TYPE)
        durations = HistogramMetricFamily(
            "shoal_worker_task_duration_seconds", "From the start of a task to its end.", labels=BY_TYPE
        )
        for task_type, tally in self._of.items():
            started.add_metric([task_type], tally.started)
            completed.add_metric([task_type], tally.completed)
            for code, count in tally.failed.items():
                failed.add_metric([task_type, code], count)
            retried.add_metric([task_type], tally.retried)
            snoozed.add_metric([task_type], tally.snoozed)
            lost.add_metric([task_type], tally.lost)
            running.add_metric([task_type], tally.running)
            durations.add_metric([task_type], tally.up_to_each_bound(), tally.seconds)
        yield from (started, completed, failed, retried, snoozed, lost, running, durations)
