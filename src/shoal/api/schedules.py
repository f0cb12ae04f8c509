"""The routes of the room of schedules."""

from typing import Annotated
from uuid import UUID

from litestar import Router, delete, get, post
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter

from shoal.api.identity import Caller
from shoal.api.openapi import problems
from shoal.api.schedule_runs import run_handlers
from shoal.schedules.service import Schedules
from shoal.wire.schedules import AddSchedule, PauseSchedule, SchedulePage, ScheduleStatus, ScheduleView

Cursor = Annotated[str | None, QueryParameter(max_length=500)]
Limit = Annotated[int, QueryParameter(ge=1, le=1000)]


def schedules_router(schedules: Schedules) -> Router:
    @post(
        "/",
        summary="Add a schedule",
        description="It starts a job or emits an event, every so often or by a cron expression, on the clock "
        "of its time zone. With `onConflict` `replace`, one of the same name becomes this one; what did not "
        "change goes on.",
        responses=problems(400, 401, 403, 404, 409, 413, 415, 503),
    )
    async def add_schedule(data: JSONBody[AddSchedule], principal: Caller) -> ScheduleView:
        return await schedules.add(principal.claims, data)

    @get(
        "/",
        summary="List your schedules",
        description="By name. Pass `next` of one page as `cursor` to get the following one.",
        responses=problems(400, 401, 403, 503),
    )
    async def list_schedules(
        principal: Caller,
        name: Annotated[str | None, QueryParameter(max_length=126)] = None,
        status: FromQuery[ScheduleStatus | None] = None,
        cursor: Cursor = None,
        limit: Limit = 50,
    ) -> SchedulePage:
        return await schedules.list(
            principal.claims, name=name, status=status, cursor=cursor, page_size=limit
        )

    @get("/{schedule_id:uuid}", summary="Read a schedule", responses=problems(400, 401, 403, 404, 503))
    async def read_schedule(schedule_id: FromPath[UUID], principal: Caller) -> ScheduleView:
        return await schedules.read(principal.claims, schedule_id)

    @delete(
        "/{schedule_id:uuid}",
        summary="Delete a schedule",
        description="With the list of its runs. The jobs it has started go on.",
        responses=problems(400, 401, 403, 404, 503),
    )
    async def delete_schedule(schedule_id: FromPath[UUID], principal: Caller) -> None:
        await schedules.delete(principal.claims, schedule_id)

    @post(
        "/{schedule_id:uuid}/pause",
        status_code=200,
        summary="Pause a schedule",
        description="It does not run until it is resumed.",
        responses=problems(400, 401, 403, 404, 409, 413, 415, 503),
    )
    async def pause_schedule(
        schedule_id: FromPath[UUID], principal: Caller, data: JSONBody[PauseSchedule | None] = None
    ) -> ScheduleView:
        return await schedules.pause(principal.claims, schedule_id, (data or PauseSchedule()).reason)

    @post(
        "/{schedule_id:uuid}/resume",
        status_code=200,
        summary="Resume a schedule",
        description="Also one that was parked. It goes on with its next occurrence; those of the meantime do "
        "not run.",
        responses=problems(400, 401, 403, 404, 409, 503),
    )
    async def resume_schedule(schedule_id: FromPath[UUID], principal: Caller) -> ScheduleView:
        return await schedules.resume(principal.claims, schedule_id)

    return Router(
        "/api/schedules",
        route_handlers=[
            add_schedule,
            list_schedules,
            read_schedule,
            delete_schedule,
            pause_schedule,
            resume_schedule,
            *run_handlers(schedules),
        ],
        tags=["Schedules"],
    )
