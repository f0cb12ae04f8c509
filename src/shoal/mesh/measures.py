"""What the coordinator of the mesh decides and sees, in numbers."""

from prometheus_client import CollectorRegistry, Counter, Histogram

from shoal.mesh.model import Ended, Transfer

WAITS = (0.001, 0.01, 0.1, 0.5, 1, 5, 30, 300)
DURATIONS = (1, 10, 60, 300, 1800, 7200, 43200)


class CoordinatorMeasures:
    def __init__(self, registry: CollectorRegistry) -> None:
        self._transfers = Counter(
            "shoal_mesh_transfers_total",
            "Transfers that ended, by source and outcome.",
            ["source", "outcome"],
            registry=registry,
        )
        self._bytes = Counter(
            "shoal_mesh_bytes_total",
            "Bytes of transfers that went well, by source.",
            ["source"],
            registry=registry,
        )
        self._waits = Histogram(
            "shoal_mesh_wait_seconds", "How long servers waited for work.", buckets=WAITS, registry=registry
        )
        self.leases_lost = Counter(
            "shoal_mesh_leases_lost_total", "Transfers that made no progress for too long.", registry=registry
        )
        self.quarantined = Counter(
            "shoal_mesh_quarantined_total", "Servers that gave out wrong bytes.", registry=registry
        )
        self._pushes = Histogram(
            "shoal_mesh_push_seconds", "How long a push took.", buckets=DURATIONS, registry=registry
        )

    def transfer_ended(self, transfer: Transfer, outcome: str, received: int) -> None:
        source = "peer" if transfer.source_id else "origin"
        self._transfers.labels(source, outcome.lower()).inc()
        self._bytes.labels(source).inc(received)

    def waited(self, seconds: float) -> None:
        self._waits.observe(seconds)

    def push_ended(self, ended: Ended) -> None:
        self._pushes.observe(ended.seconds)
