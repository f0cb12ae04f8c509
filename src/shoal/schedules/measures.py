"""What the scheduler of this process does, for Prometheus."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

LATENESS_S = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)


class SchedulerMeasures:
    def __init__(self, registry: CollectorRegistry) -> None:
        self.leads = Gauge(
            "shoal_scheduler_leads", "Whether this process fires the schedules.", registry=registry
        )
        self.runs = Counter("shoal_schedule_runs", "Runs of schedules that were fired.", registry=registry)
        self.parked = Counter(
            "shoal_schedules_parked", "Schedules that were put aside with an error.", registry=registry
        )
        self.lateness = Histogram(
            "shoal_schedule_lateness_seconds",
            "How late the schedule that waited longest was fired, for each batch.",
            buckets=LATENESS_S,
            registry=registry,
        )
