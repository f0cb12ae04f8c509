"""The routes of what schedules ran, will run, and run because somebody asks."""

from typing import Annotated
from uuid import UUID

from litestar import get, post
from litestar.handlers import BaseRouteHandler
from litestar.params import FromPath, JSONBody, QueryParameter

from shoal.api.identity import Caller
from shoal.api.openapi import problems
from shoal.schedules.service import Schedules
from shoal.wire.schedules import (
    MOST_UPCOMING,
    BackfillSchedule,
    PreviewSchedule,
    Ran,
    RunPage,
    RunSchedule,
    Upcoming,
)

Cursor = Annotated[str | None, QueryParameter(max_length=500)]
Limit = Annotated[int, QueryParameter(ge=1, le=1000)]


def run_handlers(schedules: Schedules) -> list[BaseRouteHandler]:
    @post(
        "/preview",
        status_code=200,
        summary="See when a schedule would run",
        description="The occurrences after a moment, each with the offset of the zone. Nothing is added.",
        responses=problems(400, 401, 403, 413, 415, 503),
    )
    async def preview_schedule(data: JSONBody[PreviewSchedule]) -> Upcoming:
        return await schedules.preview(data)

    @post(
        "/{schedule_id:uuid}/run",
        status_code=200,
        summary="Run a schedule now",
        description="Once more, or as if it were `at`; asked again for the same moment, it does not run "
        "again. Its own times are not touched.",
        responses=problems(400, 401, 403, 404, 413, 415, 503),
    )
    async def run_schedule(
        schedule_id: FromPath[UUID], principal: Caller, data: JSONBody[RunSchedule | None] = None
    ) -> Ran:
        return await schedules.run(principal.claims, schedule_id, (data or RunSchedule()).at)

    @post(
        "/{schedule_id:uuid}/backfill",
        status_code=200,
        summary="Run a schedule for a stretch of time",
        description="Every occurrence from `first` to `last`, at most 10,000. Asked again, none runs again.",
        responses=problems(400, 401, 403, 404, 413, 415, 503),
    )
    async def backfill_schedule(
        schedule_id: FromPath[UUID], principal: Caller, data: JSONBody[BackfillSchedule]
    ) -> Ran:
        return await schedules.backfill(principal.claims, schedule_id, data)

    @get(
        "/{schedule_id:uuid}/runs",
        summary="List the runs of a schedule",
        description="Latest first, with what became of the job each was to start.",
        responses=problems(400, 401, 403, 404, 503),
    )
    async def list_runs(
        schedule_id: FromPath[UUID], principal: Caller, cursor: Cursor = None, limit: Limit = 50
    ) -> RunPage:
        return await schedules.list_runs(principal.claims, schedule_id, cursor=cursor, page_size=limit)

    @get(
        "/{schedule_id:uuid}/upcoming",
        summary="See when a schedule runs next",
        responses=problems(400, 401, 403, 404, 503),
    )
    async def list_upcoming(
        schedule_id: FromPath[UUID],
        principal: Caller,
        count: Annotated[int, QueryParameter(ge=1, le=MOST_UPCOMING)] = 10,
    ) -> Upcoming:
        return await schedules.upcoming(principal.claims, schedule_id, count)

    return [preview_schedule, run_schedule, backfill_schedule, list_runs, list_upcoming]
