"""What people do with events, in order. What a user asks for runs as that user."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from shoal.events.rules import Network, require_reachable
from shoal.events.store import event_of, sink_view, sql, view_of
from shoal.ledger.pool import Ledger
from shoal.runtime.cursors import decode_cursor, encode_cursor
from shoal.runtime.errors import Forbidden, NotFound
from shoal.runtime.moments import in_utc
from shoal.wire.events import (
    AddedWebhook,
    AddWebhook,
    Counted,
    EmitEvent,
    Emitted,
    EventDeadLetter,
    EventDeadLetterPage,
    EventPage,
    Replay,
    SinkPage,
    SinkView,
)

Claims = Mapping[str, object]

AS_SERVICE: Claims = {"role": "service_role"}
MOST_SINKS = 1000
BEGINNING = ("0", 0)


class Events:
    """``operators`` are the users who run this installation: they steer everybody's sinks."""

    def __init__(
        self, ledger: Ledger, *, operators: Collection[UUID], webhook_networks: Sequence[Network]
    ) -> None:
        self._ledger = ledger
        self._operators = {str(user) for user in operators}
        self._networks = webhook_networks

    async def list(
        self,
        claims: Claims,
        *,
        types: Sequence[str] | None,
        aggregate_id: str | None,
        cursor: str | None,
        from_start: bool,
        page_size: int,
    ) -> EventPage:
        """The newest ones, or what happened after a cursor."""
        place = decode_cursor(cursor, tuple[str, int]) if cursor else BEGINNING
        async with self._ledger.acting_as(claims) as connection:
            if cursor or from_start:
                rows = await sql.list_events.rows(
                    connection,
                    after_tx=str(int(place[0])) if place[0].isdecimal() else "0",
                    after_seq=place[1],
                    types=types,
                    aggregate_id=aggregate_id,
                    page_size=page_size,
                )
            else:
                newest = await sql.newest_events.rows(
                    connection, types=types, aggregate_id=aggregate_id, page_size=page_size
                )
                rows = newest[::-1]
        if rows:
            place = (rows[-1]["tx"], rows[-1]["seq"])
        return EventPage([view_of(event_of(row)) for row in rows], next=encode_cursor(place))

    async def emit(self, claims: Claims, request: EmitEvent) -> Emitted:
        async with self._ledger.acting_as(claims) as connection:
            made = await sql.emit_event.value(
                connection,
                type=request.type,
                payload=request.payload,
                key=request.key,
                user_id=request.user_id,
                event_id=request.event_id,
            )
        return Emitted(made)

    async def add_webhook(self, claims: Claims, request: AddWebhook) -> AddedWebhook:
        require_reachable(request.url, self._networks)
        acting = claims
        if request.everybody:
            acting = self._as_operator(claims)
            if acting.get("role") != "service_role":
                raise Forbidden(
                    "operators_only",
                    "Only a service or an operator may hear of everybody's events.",
                    hint="Leave out everybody, or use a service's key.",
                )
        async with self._ledger.acting_as(acting) as connection:
            (row,) = await sql.add_webhook.rows(
                connection, url=request.url, patterns=request.events, user_id=request.user_id
            )
        return AddedWebhook(row["name"], row["secret"])

    async def list_sinks(self, claims: Claims) -> SinkPage:
        async with self._ledger.acting_as(self._as_operator(claims)) as connection:
            rows = await sql.measure_sinks.rows(connection, at_most=MOST_SINKS)
        return SinkPage([sink_view(row) for row in rows])

    async def pause(self, claims: Claims, name: str, because: str | None) -> SinkView:
        """``because`` None goes on."""
        async with self._ledger.acting_as(self._as_operator(claims)) as connection:
            await sql.pause_event_sink.run(connection, name=name, because=because)
            rows = await sql.measure_sinks.rows(connection, at_most=MOST_SINKS)
        for row in rows:
            if row["name"] == name:
                return sink_view(row)
        raise NotFound("sink_not_found", f"There is no sink {name}.")

    async def remove(self, claims: Claims, name: str) -> None:
        async with self._ledger.acting_as(self._as_operator(claims)) as connection:
            await sql.remove_event_sink.run(connection, name=name)

    async def replay(self, claims: Claims, name: str, request: Replay) -> Counted:
        async with self._ledger.acting_as(self._as_operator(claims)) as connection:
            told = await sql.replay_events.value(
                connection,
                sink=name,
                since=in_utc(request.since),
                until=in_utc(request.until),
                types=request.types,
                event_ids=request.event_ids,
            )
        return Counted(told)

    async def list_dead_letters(
        self, claims: Claims, *, sink: str | None, cursor: str | None, page_size: int
    ) -> EventDeadLetterPage:
        before = decode_cursor(cursor, tuple[datetime, UUID]) if cursor else None
        async with self._ledger.acting_as(self._as_operator(claims)) as connection:
            rows = await sql.list_event_dead_letters.rows(
                connection,
                sink=sink,
                before_at=before[0] if before else None,
                before_id=before[1] if before else None,
                page_size=page_size + 1,
            )
        page = rows[:page_size]
        return EventDeadLetterPage(
            [
                EventDeadLetter(
                    sink=row["sink"],
                    reason=row["reason"],
                    attempts=row["attempts"],
                    failed_at=row["failed_at"],
                    event=view_of(event_of(row)),
                )
                for row in page
            ],
            next=encode_cursor((page[-1]["failed_at"], page[-1]["event_id"]))
            if len(rows) > page_size
            else None,
        )

    async def replay_dead_letters(
        self, claims: Claims, name: str, event_ids: Sequence[UUID] | None
    ) -> Counted:
        async with self._ledger.acting_as(self._as_operator(claims)) as connection:
            return Counted(await sql.replay_dead_letters.value(connection, sink=name, event_ids=event_ids))

    async def forget_dead_letters(
        self, claims: Claims, name: str, event_ids: Sequence[UUID] | None
    ) -> Counted:
        async with self._ledger.acting_as(self._as_operator(claims)) as connection:
            return Counted(await sql.forget_dead_letters.value(connection, sink=name, event_ids=event_ids))

    def _as_operator(self, claims: Claims) -> Claims:
        """Operators steer the sinks of everybody; others see and change their own."""
        return AS_SERVICE if claims.get("sub") in self._operators else claims
