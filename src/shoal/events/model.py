"""The values of the room."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

SinkKind = Literal["kafka", "webhook", "beacon", "consumer", "jobs"]
FailureKind = Literal["refused", "failed", "away"]
"""``refused``: this event will never be taken. ``failed``: perhaps another time. ``away``: nobody is there,
which says nothing about the event."""


@dataclass(frozen=True)
class Event:
    position: int
    id: UUID
    type: str
    topic: str
    aggregate_type: str
    aggregate_id: str
    aggregate_version: int | None
    payload: Any
    user_id: UUID | None
    occurred_at: datetime


@dataclass(frozen=True)
class Turn:
    """A partition of a sink that is ours for a while, and what is to be told of it, in order."""

    partition: int
    up_to: int
    attempts: int
    events: Sequence[Event]


@dataclass(frozen=True)
class Failure:
    kind: FailureKind
    error: str


@dataclass(frozen=True)
class Told:
    """How many events of a turn were told, from its front; and what happened to the next one."""

    count: int
    failure: Failure | None = None


@dataclass(frozen=True)
class Sink:
    name: str
    kind: SinkKind
    patterns: Sequence[str]
    user_id: UUID | None
    config: Mapping[str, Any]
    secret: str | None
    paused_because: str | None
