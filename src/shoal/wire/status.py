"""How a process says it is: the answer of ``GET /status``."""

from typing import Literal

import msgspec

PartState = Literal["connected", "disconnected", "disabled"]


class StatusMetrics(msgspec.Struct, frozen=True, kw_only=True):
    active_nodes: int = 0
    active_jobs: int = 0
    chunks_per_minute: int = 0


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """``disabled`` is what is not configured; it does not degrade."""

    status: Literal["healthy", "degraded"]
    redis: PartState
    centrifugo: PartState
    supabase: PartState
    vault: PartState
    metrics: StatusMetrics
