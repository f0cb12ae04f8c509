"""The queue in numbers, for Prometheus: looked at when somebody asks, and not again for some seconds.

What cannot be read is left out, and so is no longer shown: an old number would look like a quiet queue.
"""

import asyncio
import time
from collections.abc import Iterator, Sequence

import structlog
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from shoal.jobs.store import sql
from shoal.ledger.connection import Row
from shoal.ledger.pool import Ledger
from shoal.runtime.health import TIMEOUT_S

log = structlog.get_logger(__name__)

FRESH_S = 5.0
MOST_TYPES = 200

BY_TYPE = ("task_type",)


class QueueMeasures(Collector):
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._rows: Sequence[Row] = ()
        self._looked_at = float("-inf")
        self._looking: asyncio.Task[None] | None = None

    async def refresh(self) -> None:
        """Look again, unless that was just done. Whoever asks meanwhile waits for the same look."""
        if time.monotonic() - self._looked_at < FRESH_S:
            return
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        await asyncio.shield(self._looking)

    def collect(self) -> Iterator[Metric]:
        rows = self._rows
        ready = GaugeMetricFamily("shoal_queue_tasks_ready", "Tasks that wait for a worker.", labels=BY_TYPE)
        running = GaugeMetricFamily("shoal_queue_tasks_running", "Tasks workers hold.", labels=BY_TYPE)
        oldest = GaugeMetricFamily(
            "shoal_queue_oldest_ready_age_seconds",
            "How long the oldest of the next thousand in line has been there.",
            labels=BY_TYPE,
        )
        for row in rows:
            ready.add_metric([row["task_type"]], row["ready"])
            running.add_metric([row["task_type"]], row["running"])
            oldest.add_metric([row["task_type"]], row["oldest_s"] or 0.0)
        yield from (ready, running, oldest)

    async def _look(self) -> None:
        try:
            async with asyncio.timeout(TIMEOUT_S), self._ledger.connection() as connection:
                self._rows = await sql.measure_queue.rows(connection, at_most_types=MOST_TYPES)
        except Exception as error:  # noqa: BLE001 - whatever it was, there are no numbers
            log.warning("the queue was not measured", error=str(error) or repr(error))
            self._rows = ()
        self._looked_at = time.monotonic()
