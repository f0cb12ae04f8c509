"""The routes of the jobs room."""

from typing import Annotated
from uuid import UUID

from litestar import Router, get, post
from litestar.params import FromPath, FromQuery, HeaderParameter, JSONBody, QueryParameter

from shoal.api.identity import Caller
from shoal.api.openapi import problems
from shoal.jobs.service import Jobs
from shoal.runtime.moments import read_moment
from shoal.wire.jobs import (
    ArtifactPage,
    Cancel,
    JobPage,
    JobView,
    LogPage,
    StartedJobs,
    StartJob,
    StartJobs,
    Status,
    TaskPage,
)

Cursor = Annotated[str | None, QueryParameter(max_length=500)]
IdempotencyKey = Annotated[str | None, HeaderParameter(name="Idempotency-Key", min_length=1, max_length=255)]
Limit = Annotated[int, QueryParameter(ge=1, le=1000)]


def jobs_router(jobs: Jobs, *, max_batch_bytes: int) -> Router:
    @post(
        "/start",
        summary="Start a job",
        description="Starts a job of a type that a worker has registered. Repeated with the same "
        "`Idempotency-Key`, it returns the same job.",
        responses=problems(400, 401, 403, 404, 409, 413, 503),
    )
    async def start_job(
        data: JSONBody[StartJob], principal: Caller, idempotency_key: IdempotencyKey = None
    ) -> JobView:
        return await jobs.start(principal.claims, data, idempotency_key=idempotency_key)

    @post(
        "/start-batch",
        request_max_body_size=max_batch_bytes,
        summary="Start many jobs",
        description="All of them or none. An error says which job it is about, as in `jobs[17]`; the first "
        "is `jobs[0]`. One `Idempotency-Key` is for all of them.",
        responses=problems(400, 401, 403, 404, 409, 413, 415, 503),
    )
    async def start_jobs(
        data: JSONBody[StartJobs], principal: Caller, idempotency_key: IdempotencyKey = None
    ) -> StartedJobs:
        return await jobs.start_many(principal.claims, data, idempotency_key=idempotency_key)

    @get(
        "/{job_id:uuid}",
        summary="Read a job",
        description="Its live progress, its result, and its artifacts with links that expire. With more than "
        "1000 of them, `artifactsNext` is the `cursor` for the others.",
        responses=problems(400, 401, 403, 404, 503),
    )
    async def read_job(job_id: FromPath[UUID], principal: Caller) -> JobView:
        return await jobs.read(principal.claims, job_id)

    @get(
        "/",
        summary="List your jobs",
        description="Newest first. Pass `next` of one page as `cursor` to get the following one.",
        responses=problems(400, 401, 403, 503),
    )
    async def list_jobs(
        *,
        principal: Caller,
        status: FromQuery[Status | None] = None,
        job_type: Annotated[str | None, QueryParameter(name="type", max_length=63)] = None,
        unique_key: Annotated[str | None, QueryParameter(name="uniqueKey", max_length=255)] = None,
        created_from: Annotated[str | None, QueryParameter(name="createdFrom", format="date-time")] = None,
        created_before: Annotated[
            str | None, QueryParameter(name="createdBefore", format="date-time")
        ] = None,
        cursor: Cursor = None,
        limit: Limit = 50,
    ) -> JobPage:
        return await jobs.list(
            principal.claims,
            status=status,
            type=job_type,
            unique_key=unique_key,
            created_from=read_moment(created_from),
            created_before=read_moment(created_before),
            cursor=cursor,
            page_size=limit,
        )

    @post(
        "/{job_id:uuid}/cancel",
        status_code=200,
        summary="Cancel a job",
        description="Workers that run its tasks are told at once. A job that has ended stays as it is.",
        responses=problems(400, 401, 403, 404, 503),
    )
    async def cancel_job(
        job_id: FromPath[UUID], principal: Caller, data: JSONBody[Cancel | None] = None
    ) -> JobView:
        return await jobs.cancel(principal.claims, job_id, (data or Cancel()).reason)

    @post(
        "/{job_id:uuid}/retry",
        status_code=200,
        summary="Try a job again",
        description="Everything of it that failed or was cancelled is tried again.",
        responses=problems(400, 401, 403, 404, 409, 503),
    )
    async def retry_job(job_id: FromPath[UUID], principal: Caller) -> JobView:
        return await jobs.retry(principal.claims, job_id)

    @get(
        "/{job_id:uuid}/tasks",
        summary="List the tasks of a job",
        responses=problems(400, 401, 403, 404, 503),
    )
    async def list_tasks(
        job_id: FromPath[UUID], principal: Caller, cursor: Cursor = None, limit: Limit = 100
    ) -> TaskPage:
        return await jobs.list_tasks(principal.claims, job_id, cursor=cursor, page_size=limit)

    @get(
        "/{job_id:uuid}/artifacts",
        summary="List what a job has made",
        description="In the order of its tasks, with links that expire.",
        responses=problems(400, 401, 403, 404, 503),
    )
    async def list_artifacts(
        job_id: FromPath[UUID], principal: Caller, cursor: Cursor = None, limit: Limit = 100
    ) -> ArtifactPage:
        return await jobs.list_artifacts(principal.claims, job_id, cursor=cursor, page_size=limit)

    @get(
        "/{job_id:uuid}/logs",
        summary="Read what the tasks of a job wrote",
        description="Oldest first. Ask again with `next` to get what was written since.",
        responses=problems(400, 401, 403, 404, 503),
    )
    async def list_logs(
        job_id: FromPath[UUID], principal: Caller, cursor: Cursor = None, limit: Limit = 200
    ) -> LogPage:
        return await jobs.list_logs(principal.claims, job_id, cursor=cursor, page_size=limit)

    return Router(
        "/api/jobs",
        route_handlers=[
            start_job,
            start_jobs,
            read_job,
            list_jobs,
            cancel_job,
            retry_job,
            list_tasks,
            list_artifacts,
            list_logs,
        ],
        tags=["Jobs"],
    )
