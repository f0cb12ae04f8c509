"""The routes of the jobs room."""

from typing import Annotated
from uuid import UUID

from litestar import Router, get, post
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter

from shoal.api.identity import Caller
from shoal.api.openapi import problems
from shoal.jobs.service import Jobs
from shoal.wire.jobs import JobPage, JobView, StartJob, Status


def jobs_router(jobs: Jobs) -> Router:
    @post(
        "/start",
        summary="Start a job",
        description="Starts a job of a type that a worker has registered.",
        responses=problems(400, 401, 403, 404, 409, 413, 503),
    )
    async def start_job(data: JSONBody[StartJob], principal: Caller) -> JobView:
        return await jobs.start(principal.claims, data)

    @get(
        "/{job_id:uuid}",
        summary="Read a job",
        description="Its live progress, its result, and its artifacts with links that expire.",
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
        principal: Caller,
        status: FromQuery[Status | None] = None,
        job_type: Annotated[str | None, QueryParameter(name="type", max_length=63)] = None,
        cursor: Annotated[str | None, QueryParameter(max_length=500)] = None,
        limit: Annotated[int, QueryParameter(ge=1, le=200)] = 50,
    ) -> JobPage:
        return await jobs.list(principal.claims, status=status, type=job_type, cursor=cursor, page_size=limit)

    return Router("/api/jobs", route_handlers=[start_job, read_job, list_jobs], tags=["Jobs"])
