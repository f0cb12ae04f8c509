"""The routes of types: of jobs, for everybody; of tasks, with what holds them back, for operators."""

from collections.abc import Collection
from typing import Annotated
from uuid import UUID

from litestar import Router, get, post
from litestar.params import JSONBody, PathParameter, QueryParameter

from shoal.api.identity import Caller, operators_only
from shoal.api.openapi import problems
from shoal.jobs.service import Jobs
from shoal.jobs.task_types import TaskTypeControl
from shoal.wire.types import JobTypePage, LimitTaskType, PauseTaskType, TaskTypes, TaskTypeView

Cursor = Annotated[str | None, QueryParameter(max_length=500)]
Limit = Annotated[int, QueryParameter(ge=1, le=1000)]
TaskType = Annotated[str, PathParameter(min_length=1, max_length=127)]


def job_types_router(jobs: Jobs) -> Router:
    @get(
        "/",
        summary="List the types of jobs",
        description="Those that workers have registered, by name. A job is started by its type; its "
        "parameters follow `paramsSchema`.",
        responses=problems(400, 401, 403, 503),
    )
    async def list_job_types(principal: Caller, cursor: Cursor = None, limit: Limit = 100) -> JobTypePage:
        return await jobs.list_types(principal.claims, cursor=cursor, page_size=limit)

    return Router("/api/job-types", route_handlers=[list_job_types], tags=["Types"])


def task_types_router(control: TaskTypeControl, *, operators: Collection[UUID]) -> Router:
    @get(
        "/",
        summary="List the types of tasks",
        description="Those of which something is ready, runs or is held back.",
        responses=problems(401, 403, 503),
    )
    async def list_task_types() -> TaskTypes:
        return await control.list()

    @post(
        "/{task_type:str}/limit",
        status_code=200,
        summary="Limit a type of task",
        description="Over all workers together: at most so many at a time, and so many starts a second. "
        "What is left out does not limit; an empty object ends both limits.",
        responses=problems(400, 401, 403, 413, 415, 503),
    )
    async def limit_task_type(task_type: TaskType, data: JSONBody[LimitTaskType]) -> TaskTypeView:
        return await control.limit(task_type, data)

    @post(
        "/{task_type:str}/pause",
        status_code=200,
        summary="Pause a type of task",
        description="No more of them start until it is resumed. What runs goes on.",
        responses=problems(400, 401, 403, 413, 415, 503),
    )
    async def pause_task_type(
        task_type: TaskType, data: JSONBody[PauseTaskType | None] = None
    ) -> TaskTypeView:
        return await control.pause(task_type, (data or PauseTaskType()).reason)

    @post(
        "/{task_type:str}/resume",
        status_code=200,
        summary="Resume a type of task",
        responses=problems(400, 401, 403, 503),
    )
    async def resume_task_type(task_type: TaskType) -> TaskTypeView:
        return await control.resume(task_type)

    return Router(
        "/api/task-types",
        route_handlers=[list_task_types, limit_task_type, pause_task_type, resume_task_type],
        guards=[operators_only(operators)],
        tags=["Types"],
    )
