"""How a worker behaves. The lease is one constant: heartbeats come at a third of it."""

import os
import socket
import uuid
from typing import Annotated

import msgspec


class WorkerSettings(msgspec.Struct, frozen=True, kw_only=True):
    worker_concurrency: Annotated[int, msgspec.Meta(description="Tasks one worker runs at a time.", ge=1)] = 8
    worker_types: Annotated[
        tuple[str, ...],
        msgspec.Meta(
            description="The task types a worker claims, with commas between them; planning jobs of a type "
            "is plan:TYPE. Empty means all that its apps declare."
        ),
    ] = ()
    worker_lease_s: Annotated[
        int,
        msgspec.Meta(
            description="Silence after which a worker is taken for dead, in seconds.", ge=3, le=3600
        ),
    ] = 30
    worker_id: Annotated[
        str, msgspec.Meta(description="The name of this worker in the ledger; empty makes one up.")
    ] = ""
    worker_metrics_port: Annotated[
        int,
        msgspec.Meta(
            description="The port on which a worker answers Prometheus; 0 opens none. Of several processes "
            "under one parent, the second takes the next port, and so on.",
            ge=0,
            le=65535,
        ),
    ] = 0
    worker_metrics_host: Annotated[
        str, msgspec.Meta(description="The address of that port; 0.0.0.0 is all of them.")
    ] = "127.0.0.1"
    artifact_max_bytes: Annotated[
        int, msgspec.Meta(description="The size of the largest artifact a task may keep.", ge=1)
    ] = 5 * 1024**3

    @property
    def heartbeat_every_s(self) -> float:
        return self.worker_lease_s / 3


class ScaleSettings(msgspec.Struct, frozen=True, kw_only=True):
    scale_min: Annotated[
        int, msgspec.Meta(description="Workers 'shoal worker scale' keeps when nothing is to be done.", ge=0)
    ] = 1
    scale_max: Annotated[
        int, msgspec.Meta(description="Workers 'shoal worker scale' keeps at most.", ge=1)
    ] = 4
    scale_tasks_per_worker: Annotated[
        int,
        msgspec.Meta(
            description="Tasks, ready or running, that are worth one worker; 0 means worker_concurrency.",
            ge=0,
        ),
    ] = 0
    scale_cool_down_s: Annotated[
        float,
        msgspec.Meta(description="How long fewer workers must be enough before one is ended.", ge=0),
    ] = 60.0


def new_worker_id() -> str:
    """Different for every process that ever ran: a restarted container has the same host and pid."""
    return f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
