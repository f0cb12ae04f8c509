"""Events on the wire: what webhooks, Kafka and the beacon carry, and the pages of the API."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec

Pattern = Annotated[str, msgspec.Meta(min_length=1, max_length=126)]


class EventView(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """One event. ``id`` is the same however often it is told; ``v`` in the payload is the version of that."""

    id: UUID
    type: str
    topic: str
    aggregate_type: str
    aggregate_id: str
    aggregate_version: int | None
    user_id: UUID | None
    occurred_at: datetime
    payload: Any


class EventPage(msgspec.Struct, rename="camel", frozen=True):
    """Oldest first. Ask again with ``next`` to get what happened since."""

    events: list[EventView]
    next: str | None


class EmitEvent(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    """``POST /api/events``. Events with the same ``key`` are told in order."""

    type: Annotated[str, msgspec.Meta(min_length=1, max_length=126)]
    payload: dict[str, Any] = {}
    key: Annotated[str, msgspec.Meta(max_length=200)] = ""
    user_id: UUID | None = None
    event_id: UUID | None = None


class Emitted(msgspec.Struct, rename="camel", frozen=True):
    id: UUID


class AddWebhook(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    """``POST /api/events/webhooks``."""

    url: Annotated[str, msgspec.Meta(max_length=2000)]
    events: Annotated[list[Pattern], msgspec.Meta(min_length=1, max_length=100)] = msgspec.field(
        default_factory=lambda: ["*"]
    )
    user_id: UUID | None = None
    everybody: bool = False


class AddedWebhook(msgspec.Struct, rename="camel", frozen=True):
    """``secret`` is shown this once; messages are signed with it."""

    name: str
    secret: str


class SinkView(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """Who is told what, and how far. ``behind``: how many events of the outbox it has not been told of."""

    name: str
    kind: Literal["kafka", "webhook", "beacon", "consumer", "jobs"]
    events: list[str]
    user_id: UUID | None
    url: str | None
    paused_because: str | None
    behind: int
    oldest_s: float
    dead: int
    last_error: str | None
    created_at: datetime


class SinkPage(msgspec.Struct, rename="camel", frozen=True):
    sinks: list[SinkView]


class PauseSink(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    because: Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]


class Replay(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    """``POST /api/events/sinks/{name}/replay``. What is null or left out does not filter."""

    since: Annotated[datetime, msgspec.Meta(tz=True)] | None = None
    until: Annotated[datetime, msgspec.Meta(tz=True)] | None = None
    types: Annotated[list[Pattern], msgspec.Meta(min_length=1, max_length=100)] | None = None
    event_ids: Annotated[list[UUID], msgspec.Meta(max_length=10_000)] | None = None


class SomeDeadLetters(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    """Which of a sink; null or left out is all of them."""

    event_ids: Annotated[list[UUID], msgspec.Meta(max_length=10_000)] | None = None


class Counted(msgspec.Struct, rename="camel", frozen=True):
    events: int


class EventDeadLetter(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """An event that a sink could not be told, with the reason."""

    sink: str
    reason: str
    attempts: int
    failed_at: datetime
    event: EventView


class EventDeadLetterPage(msgspec.Struct, rename="camel", frozen=True):
    """``next`` is the cursor of the following page; none on the last one."""

    dead_letters: list[EventDeadLetter]
    next: str | None
