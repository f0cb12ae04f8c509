"""The routes of sinks: who is told of events, and what they could not be told."""

from typing import Annotated

from litestar import Router, delete, get, post
from litestar.params import FromPath, JSONBody, QueryParameter

from shoal.api.identity import Caller
from shoal.api.openapi import problems
from shoal.events.service import Events
from shoal.wire.events import (
    Counted,
    EventDeadLetterPage,
    PauseSink,
    Replay,
    SinkPage,
    SinkView,
    SomeDeadLetters,
)

Cursor = Annotated[str | None, QueryParameter(max_length=500)]
Limit = Annotated[int, QueryParameter(ge=1, le=1000)]


def event_sinks_router(events: Events) -> Router:
    @get(
        "/sinks",
        summary="List who is told of events, and how far",
        description="Your webhooks; for services and operators all sinks.",
        responses=problems(401, 403, 503),
    )
    async def list_sinks(principal: Caller) -> SinkPage:
        return await events.list_sinks(principal.claims)

    @delete(
        "/sinks/{name:str}",
        summary="Tell a sink no more",
        description="Its dead letters go with it.",
        responses=problems(400, 401, 403, 404, 503),
    )
    async def remove_sink(name: FromPath[str], principal: Caller) -> None:
        await events.remove(principal.claims, name)

    @post(
        "/sinks/{name:str}/pause",
        status_code=200,
        summary="Hold a sink up",
        description="It misses nothing, as long as events are kept.",
        responses=problems(400, 401, 403, 404, 413, 415, 503),
    )
    async def pause_sink(name: FromPath[str], data: JSONBody[PauseSink], principal: Caller) -> SinkView:
        return await events.pause(principal.claims, name, data.because)

    @post(
        "/sinks/{name:str}/resume",
        status_code=200,
        summary="Tell a sink again, from where it was held up",
        responses=problems(400, 401, 403, 404, 503),
    )
    async def resume_sink(name: FromPath[str], principal: Caller) -> SinkView:
        return await events.pause(principal.claims, name, None)

    @post(
        "/sinks/{name:str}/replay",
        status_code=200,
        summary="Tell a sink again what happened",
        description="With the same ids, after what is on its way to it; at most 100,000 at a time.",
        responses=problems(400, 401, 403, 404, 413, 415, 503),
    )
    async def replay_events(name: FromPath[str], data: JSONBody[Replay], principal: Caller) -> Counted:
        return await events.replay(principal.claims, name, data)

    @get(
        "/dead-letters",
        summary="List what sinks could not be told",
        description="With the reason, the latest first.",
        responses=problems(400, 401, 403, 503),
    )
    async def list_event_dead_letters(
        principal: Caller,
        *,
        sink: Annotated[str | None, QueryParameter(max_length=63)] = None,
        cursor: Cursor = None,
        limit: Limit = 50,
    ) -> EventDeadLetterPage:
        return await events.list_dead_letters(principal.claims, sink=sink, cursor=cursor, page_size=limit)

    @post(
        "/sinks/{name:str}/dead-letters/replay",
        status_code=200,
        summary="Try again to tell a sink its dead letters",
        responses=problems(400, 401, 403, 404, 413, 415, 503),
    )
    async def replay_dead_letters(
        name: FromPath[str], data: JSONBody[SomeDeadLetters], principal: Caller
    ) -> Counted:
        return await events.replay_dead_letters(principal.claims, name, data.event_ids)

    @post(
        "/sinks/{name:str}/dead-letters/forget",
        status_code=200,
        summary="Give up dead letters of a sink",
        responses=problems(400, 401, 403, 404, 413, 415, 503),
    )
    async def forget_dead_letters(
        name: FromPath[str], data: JSONBody[SomeDeadLetters], principal: Caller
    ) -> Counted:
        return await events.forget_dead_letters(principal.claims, name, data.event_ids)

    return Router(
        "/api/events",
        route_handlers=[
            list_sinks,
            remove_sink,
            pause_sink,
            resume_sink,
            replay_events,
            list_event_dead_letters,
            replay_dead_letters,
            forget_dead_letters,
        ],
        tags=["Events"],
    )
