"""The routes of jobs that have ended."""

from typing import Annotated

from litestar import Router, get, post
from litestar.params import FromQuery, JSONBody, QueryParameter

from shoal.api.identity import Caller
from shoal.api.openapi import problems
from shoal.jobs.ended_jobs import EndedJobs
from shoal.wire.ended_jobs import DeadLetterPage, Purged, PurgeJobs, Reason


def ended_jobs_router(ended: EndedJobs) -> Router:
    @get(
        "/dead-letters",
        summary="List what failed for good",
        description="Your tasks that have no attempt left, or failed in a way that trying again does not "
        "mend; latest first. Those that failed because another did are not listed. A task leaves the list "
        "when it is tried again, or its job is.",
        responses=problems(400, 401, 403, 503),
    )
    async def list_dead_letters(
        principal: Caller,
        *,
        job_type: Annotated[str | None, QueryParameter(name="type", max_length=63)] = None,
        task_type: Annotated[str | None, QueryParameter(name="taskType", max_length=127)] = None,
        reason: FromQuery[Reason | None] = None,
        cursor: Annotated[str | None, QueryParameter(max_length=500)] = None,
        limit: Annotated[int, QueryParameter(ge=1, le=1000)] = 50,
    ) -> DeadLetterPage:
        return await ended.list_dead_letters(
            principal.claims,
            job_type=job_type,
            task_type=task_type,
            reason=reason,
            cursor=cursor,
            page_size=limit,
        )

    @post(
        "/jobs/purge",
        status_code=200,
        summary="Delete jobs that have ended",
        description="Yours; a service deletes those of everybody, or of the user it names. A batch at a "
        "time: ask again while the answer says that there is `more`. With `dryRun` nothing is deleted, and "
        "all that would be is counted. Their files follow a little later.",
        responses=problems(400, 401, 403, 413, 415, 503),
    )
    async def purge_jobs(principal: Caller, data: JSONBody[PurgeJobs]) -> Purged:
        return await ended.purge(principal.claims, data)

    return Router("/api", route_handlers=[list_dead_letters, purge_jobs], tags=["Jobs"])
