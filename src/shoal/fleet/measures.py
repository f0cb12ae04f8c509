"""What the fleet of one sentinel counts, under the names its dashboards know."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from redis.exceptions import RedisError

from shoal.fleet.looks import FleetLooks
from shoal.fleet.stores_away import stores_needed
from shoal.runtime.errors import Unavailable

SECONDS = 60
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class FleetMeasures:
    def __init__(self, registry: CollectorRegistry, looks: FleetLooks) -> None:
        self._looks = looks
        self._verdicts = Counter(
            "sentinel_chunk_completions",
            "Results that nodes handed in, by what became of them.",
            ["verdict"],
            registry=registry,
        )
        self._latency = Histogram(
            "sentinel_proxy_latency_seconds",
            "How long calls of nodes took.",
            ["method"],
            buckets=BUCKETS,
            registry=registry,
        )
        self._redis_errors = Counter(
            "sentinel_redis_errors", "Calls of nodes that the brain did not answer.", registry=registry
        )
        self._heartbeat_age = Gauge(
            "node_heartbeat_age_max",
            "Seconds since the node was heard that is silent for longest.",
            registry=registry,
        )
        self._nodes = Gauge(
            "sentinel_active_nodes", "Nodes that were heard and not given up.", registry=registry
        )
        self._plans = Gauge("sentinel_active_plans", "Fleet tasks that are computed.", registry=registry)
        self._job_seconds = Histogram(
            "job_completion_time_seconds",
            "How long fleet tasks took, from their claim to their result.",
            buckets=(0.5, 1, 2, 5, 10, 30, 60, 300, 900, 3600, 4 * 3600, 24 * 3600),
            registry=registry,
        )
        self.reclaimed = Counter(
            "sentinel_chunks_reclaimed", "Chunks taken back from nodes that fell silent.", registry=registry
        )
        self.pushed = Counter(
            "sentinel_chunks_pushed", "Chunks whose nodes were told by a message.", registry=registry
        )
        self.aggregated = Counter(
            "sentinel_tasks_finished", "Fleet tasks whose result this sentinel wrote.", registry=registry
        )
        self._of_verdict: dict[str, Counter] = {}
        self._accepted = [0] * SECONDS
        self._second = 0

    def completed(self, verdict: str) -> None:
        counter = self._of_verdict.get(verdict)
        if counter is None:
            counter = self._of_verdict[verdict] = self._verdicts.labels(verdict)
        counter.inc()
        if verdict == "OK":
            self._turn()
            self._accepted[self._second % SECONDS] += 1

    def job_took(self, seconds: float) -> None:
        self._job_seconds.observe(seconds)

    @property
    def chunks_per_minute(self) -> int:
        """Accepted by this sentinel within the last minute."""
        self._turn()
        return sum(self._accepted)

    @contextmanager
    def call(self, method: str) -> Iterator[None]:
        began = time.perf_counter()
        try:
            with stores_needed():
                yield
        except Unavailable as error:
            self._redis_errors.inc(error.code == "redis_unreachable")
            raise
        except RedisError:
            self._redis_errors.inc()
            raise
        finally:
            self._latency.labels(method).observe(time.perf_counter() - began)

    async def refresh(self) -> None:
        """Look at the brain, before the numbers are shown."""
        try:
            self._nodes.set(await self._looks.count_nodes())
            self._heartbeat_age.set(await self._looks.oldest_heartbeat_s())
            self._plans.set(len(await self._looks.tokens()))
        except RedisError:
            for gauge in (self._nodes, self._heartbeat_age, self._plans):
                gauge.set(float("nan"))

    def _turn(self) -> None:
        now = int(time.monotonic())
        for passed in range(min(now - self._second, SECONDS)):
            self._accepted[(now - passed) % SECONDS] = 0
        self._second = now
