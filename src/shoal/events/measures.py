"""The relay in numbers: what this process did, and how far every sink is."""

import asyncio
import time
from collections.abc import Iterator, Sequence

import structlog
from prometheus_client import CollectorRegistry, Counter
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from shoal.events.store import sql
from shoal.ledger.connection import Row
from shoal.ledger.pool import Ledger
from shoal.runtime.health import TIMEOUT_S

log = structlog.get_logger(__name__)

FRESH_S = 5.0
MOST_SINKS = 200

BY_SINK = ("sink",)


class RelayCounts:
    def __init__(self, registry: CollectorRegistry) -> None:
        self.ordered = Counter(
            "shoal_events_ordered", "Messages of the outbox that were given a position.", registry=registry
        )
        self.told = Counter("shoal_events_told", "Events told to sinks.", ["kind"], registry=registry)
        self.failed = Counter(
            "shoal_events_failed",
            "Attempts to tell an event that failed.",
            ["kind", "failure"],
            registry=registry,
        )


class SinkMeasures(Collector):
    """Looked at when somebody asks, and not again for some seconds. What cannot be read is left out."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._rows: Sequence[Row] = ()
        self._looked_at = float("-inf")
        self._looking: asyncio.Task[None] | None = None

    async def refresh(self) -> None:
        if time.monotonic() - self._looked_at < FRESH_S:
            return
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        await asyncio.shield(self._looking)

    def collect(self) -> Iterator[Metric]:
        behind = GaugeMetricFamily(
            "shoal_event_sink_behind", "Messages of the outbox a sink was not told of.", labels=BY_SINK
        )
        oldest = GaugeMetricFamily(
            "shoal_event_sink_waiting_seconds",
            "For how long the partition of a sink that waits longest has not moved.",
            labels=BY_SINK,
        )
        dead = GaugeMetricFamily(
            "shoal_event_dead_letters", "Events that a sink could not be told.", labels=BY_SINK
        )
        for row in self._rows:
            behind.add_metric([row["name"]], row["behind"])
            oldest.add_metric([row["name"]], row["oldest_s"])
            dead.add_metric([row["name"]], row["dead"])
        yield from (behind, oldest, dead)

    async def _look(self) -> None:
        try:
            async with asyncio.timeout(TIMEOUT_S), self._ledger.connection() as connection:
                self._rows = await sql.measure_sinks.rows(connection, at_most=MOST_SINKS)
        except Exception as error:  # noqa: BLE001 - whatever it was, there are no numbers
            log.warning("the sinks were not measured", error=str(error) or repr(error))
            self._rows = ()
        self._looked_at = time.monotonic()
