"""For the tests of those who use Shoal: jobs run in-process, and what was started is remembered.

* ``try_job`` runs a job to its end; ``begin_job`` leaves its clock standing for ``Trial.advance``.
* ``RecordedStarts`` is a connection for ``app.start`` that starts nothing.
"""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

import msgspec

from shoal.app.starting import CREATE_JOBS, Connection
from shoal.app.trial import Trial, begin_job, try_job
from shoal.runtime.errors import Conflict

__all__ = ["RecordedStarts", "StartedJob", "Trial", "begin_job", "try_job"]


class StartedJob(msgspec.Struct, frozen=True, kw_only=True):
    """A job that would have been started. ``graph`` is None when a worker was to plan it."""

    id: UUID
    type: str
    params: dict[str, Any]
    user_id: UUID | None
    priority: int
    unique_key: str | None
    run_at: datetime | None
    graph: dict[str, Any] | None = None

    @property
    def tasks(self) -> list[str]:
        """The names of its tasks, in their order."""
        return [task["name"] for task in (self.graph or {"tasks": []})["tasks"]]


@dataclass(frozen=True)
class _NoTransaction:
    """What everything else of a connection is asked of when there is none."""

    def transaction(self) -> AbstractAsyncContextManager[None]:
        return nullcontext()


class RecordedStarts:
    """Hand it to ``app.start`` in place of a connection; ``jobs`` is what was started.

    Whatever else is asked of it is asked of ``connection``, if one is given. Unique keys hold among the
    jobs that were recorded, none of which ever ends.
    """

    def __init__(self, connection: Connection | None = None) -> None:
        self.jobs: list[StartedJob] = []
        self._connection = connection or _NoTransaction()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def transaction(self) -> AbstractAsyncContextManager[Any]:
        return self._connection.transaction()

    def of(self, job_type: str) -> list[StartedJob]:
        return [job for job in self.jobs if job.type == job_type]

    async def fetchval(self, query: str, *args: Any) -> Any:
        if query != CREATE_JOBS:
            return await self.__getattr__("fetchval")(query, *args)
        written, user_id, on_conflict, _ = args
        asked = msgspec.json.decode(written, type=list[dict[str, Any]])
        recorded_before = len(self.jobs)
        try:
            return [self._start(one, user_id, on_conflict) for one in asked]
        except Conflict:
            del self.jobs[recorded_before:]  # all of them or none
            raise

    def _start(self, asked: Mapping[str, Any], user_id: UUID | None, on_conflict: str) -> UUID:
        job = msgspec.convert({**asked, "id": uuid4(), "user_id": user_id}, StartedJob)
        if job.unique_key is not None:
            for other in self.of(job.type):
                if (other.user_id, other.unique_key) == (user_id, job.unique_key):
                    if on_conflict == "existing":
                        return other.id
                    raise Conflict(
                        "job_exists", f"A {job.type} job with the key {job.unique_key!r} is alive."
                    )
        self.jobs.append(job)
        return job.id
