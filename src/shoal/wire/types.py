"""Types of jobs and types of tasks on the wire."""

from datetime import datetime
from typing import Annotated, Any

import msgspec


class PhaseView(msgspec.Struct, rename="camel", frozen=True):
    """``ends`` is the percentage of the job at which the phase ends."""

    name: str
    ends: float


class JobTypeView(msgspec.Struct, rename="camel", frozen=True):
    """What a worker has registered: the JSON schema of the parameters, and the phases in their order."""

    type: str
    version: str
    params_schema: dict[str, Any]
    phases: list[PhaseView]
    registered_at: datetime


class JobTypePage(msgspec.Struct, rename="camel", frozen=True):
    types: list[JobTypeView]
    next: str | None


class TaskTypeView(msgspec.Struct, rename="camel", frozen=True):
    """What waits and runs of a type of task now, and what holds it back; null for nothing."""

    type: str
    ready: int
    running: int
    paused_because: str | None
    max_running: int | None
    rate_per_s: float | None
    burst: int | None


class TaskTypes(msgspec.Struct, rename="camel", frozen=True):
    types: list[TaskTypeView]


class LimitTaskType(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    """``POST /api/task-types/{type}/limit``. What is null or left out does not limit."""

    max_running: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] | None = None
    rate_per_s: Annotated[float, msgspec.Meta(ge=0.000001, le=1_000_000)] | None = None
    burst: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 1


class PauseTaskType(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    """``POST /api/task-types/{type}/pause``."""

    reason: Annotated[str, msgspec.Meta(min_length=1, max_length=1000)] = "Paused."
