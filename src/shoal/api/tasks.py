"""The routes of single tasks."""

from uuid import UUID

from litestar import Router, get, post
from litestar.params import FromPath, JSONBody

from shoal.api.identity import Caller
from shoal.api.openapi import problems
from shoal.jobs.service import Jobs
from shoal.wire.jobs import Cancel, TaskView


def tasks_router(jobs: Jobs) -> Router:
    @get(
        "/{task_id:uuid}",
        summary="Read a task",
        responses=problems(400, 401, 403, 404, 503),
    )
    async def read_task(task_id: FromPath[UUID], principal: Caller) -> TaskView:
        return await jobs.read_task(principal.claims, task_id)

    @post(
        "/{task_id:uuid}/cancel",
        status_code=200,
        summary="Cancel a task",
        description="What needs it fails, is skipped or runs, as declared for a failure. A task that has "
        "ended stays as it is.",
        responses=problems(400, 401, 403, 404, 413, 415, 503),
    )
    async def cancel_task(
        task_id: FromPath[UUID], principal: Caller, data: JSONBody[Cancel | None] = None
    ) -> TaskView:
        return await jobs.cancel_task(principal.claims, task_id, (data or Cancel()).reason)

    @post(
        "/{task_id:uuid}/retry",
        status_code=200,
        summary="Try a task again",
        description="With it, what did not run because of it.",
        responses=problems(400, 401, 403, 404, 409, 503),
    )
    async def retry_task(task_id: FromPath[UUID], principal: Caller) -> TaskView:
        return await jobs.retry_task(principal.claims, task_id)

    return Router("/api/tasks", route_handlers=[read_task, cancel_task, retry_task], tags=["Tasks"])
