"""What an agent of the mesh has done, in numbers."""

from prometheus_client import CollectorRegistry, Counter

from shoal.node.mesh.downloads import Download
from shoal.wire._generated.scheduler_pb2 import TransferTaskComplete


class MeshMeasures:
    def __init__(self, registry: CollectorRegistry) -> None:
        self._transfers = Counter(
            "shoal_mesh_agent_transfers_total",
            "Transfers to this server that ended, by source and outcome.",
            ["source", "outcome"],
            registry=registry,
        )
        self._bytes = Counter(
            "shoal_mesh_agent_received_bytes_total",
            "Bytes that came over the network, by source.",
            ["source"],
            registry=registry,
        )

    def transfer_ended(self, download: Download) -> None:
        source = "origin" if download.is_from_origin else "peer"
        outcome = TransferTaskComplete.Outcome.Name(download.outcome).lower()
        self._transfers.labels(source, outcome).inc()
        self._bytes.labels(source).inc(download.received)
