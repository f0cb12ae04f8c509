"""The statements of the room, and how its rows become values."""

from collections.abc import Iterable

from shoal.events.model import Event, Sink, Turn
from shoal.ledger.connection import Row
from shoal.ledger.statements import load_statements
from shoal.wire.events import EventView, SinkView

sql = load_statements("shoal.events")


def event_of(row: Row) -> Event:
    return Event(
        position=row["position"],
        id=row["event_id"],
        type=row["event_type"],
        topic=row["event_topic"],
        aggregate_type=row["aggregate_type"],
        aggregate_id=row["aggregate_id"],
        aggregate_version=row["aggregate_version"],
        payload=row["payload"],
        user_id=row["user_id"],
        occurred_at=row["occurred_at"],
    )


def turns_of(rows: Iterable[Row]) -> list[Turn]:
    """The rows of ``take_events``: those of a partition follow each other."""
    turns: dict[int, tuple[Row, list[Event]]] = {}
    for row in rows:
        _, events = turns.setdefault(row["partition"], (row, []))
        if row["event_id"] is not None:
            events.append(event_of(row))
    return [Turn(row["partition"], row["up_to"], row["attempts"], events) for row, events in turns.values()]


def sink_of(row: Row) -> Sink:
    return Sink(
        name=row["name"],
        kind=row["kind"],
        patterns=row["patterns"],
        user_id=row["user_id"],
        config=row["config"],
        secret=row["secret"],
        paused_because=row["paused_because"],
    )


def view_of(event: Event) -> EventView:
    return EventView(
        id=event.id,
        type=event.type,
        topic=event.topic,
        aggregate_type=event.aggregate_type,
        aggregate_id=event.aggregate_id,
        aggregate_version=event.aggregate_version,
        user_id=event.user_id,
        occurred_at=event.occurred_at,
        payload=event.payload,
    )


def sink_view(row: Row) -> SinkView:
    return SinkView(
        name=row["name"],
        kind=row["kind"],
        events=row["patterns"],
        user_id=row["user_id"],
        url=row["config"].get("url"),
        paused_because=row["paused_because"],
        behind=row["behind"],
        oldest_s=row["oldest_s"],
        dead=row["dead"],
        last_error=row["last_error"],
        created_at=row["created_at"],
    )
