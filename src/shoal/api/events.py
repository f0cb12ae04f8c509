"""The routes of the events room."""

from typing import Annotated

from litestar import Router, get, post
from litestar.params import JSONBody, QueryParameter

from shoal.api.identity import Caller
from shoal.api.openapi import problems
from shoal.events.service import Events
from shoal.wire.events import (
    AddedWebhook,
    AddWebhook,
    EmitEvent,
    Emitted,
    EventPage,
)

Cursor = Annotated[str | None, QueryParameter(max_length=500)]
Limit = Annotated[int, QueryParameter(ge=1, le=1000)]


def events_router(events: Events) -> Router:
    @get(
        "/",
        summary="Read your events",
        description="The newest ones, oldest first. Ask again with `next` as `cursor` to get what happened "
        "since; with `fromStart` begin with the oldest that is kept. An event comes once every change "
        "that was under way when it happened has ended.",
        responses=problems(400, 401, 403, 503),
    )
    async def list_events(
        *,
        principal: Caller,
        event_type: Annotated[
            list[str] | None,
            QueryParameter(name="type", description="Types, or `job.*` for many.", max_items=100),
        ] = None,
        aggregate_id: Annotated[str | None, QueryParameter(name="aggregateId", max_length=255)] = None,
        from_start: Annotated[bool, QueryParameter(name="fromStart")] = False,
        cursor: Cursor = None,
        limit: Limit = 50,
    ) -> EventPage:
        return await events.list(
            principal.claims,
            types=event_type,
            aggregate_id=aggregate_id,
            cursor=cursor,
            from_start=from_start,
            page_size=limit,
        )

    @post(
        "/",
        summary="Emit an event of your own",
        description="Its type begins with `user.`. Repeated with the same `eventId`, it is appended once.",
        responses=problems(400, 401, 403, 413, 415, 503),
    )
    async def emit_event(data: JSONBody[EmitEvent], principal: Caller) -> Emitted:
        return await events.emit(principal.claims, data)

    @post(
        "/webhooks",
        summary="Have your events sent to a URL",
        description="As in the Standard Webhooks: a POST for each event, with `webhook-id`, "
        "`webhook-timestamp` and `webhook-signature`, signed with the secret that is shown this once. "
        "With `everybody` an operator hears of all users' events.",
        responses=problems(400, 401, 403, 409, 413, 415, 503),
    )
    async def add_webhook(data: JSONBody[AddWebhook], principal: Caller) -> AddedWebhook:
        return await events.add_webhook(principal.claims, data)

    return Router("/api/events", route_handlers=[list_events, emit_event, add_webhook], tags=["Events"])
