"""Starting jobs on a connection of asyncpg, inside the transaction the caller has there."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, Literal, Protocol
from uuid import UUID

from shoal.app.graph import Graph
from shoal.app.values import as_json, as_json_values
from shoal.runtime.errors import Invalid
from shoal.runtime.refusals import translate
from shoal.wire.jobs import MOST_JOBS_AT_ONCE, OnConflict

CREATE_JOBS = "SELECT public.create_jobs($1::text::jsonb, $2::uuid, $3, $4)"

PlannedBy = Literal["caller", "worker"]
KeyOf = Callable[[Any], str]


class Connection(Protocol):
    """What is asked of a connection; asyncpg's have it, and so have those its pools lend."""

    async def fetchval(self, query: str, *args: object) -> Any: ...

    def transaction(self) -> AbstractAsyncContextManager[Any]: ...


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """How jobs are to be started.

    * ``user_id``: for whom; left out where the connection acts as a user.
    * ``planned_by``: the caller, who has the code, so that the tasks are there at once and wrong parameters
      are refused here; or a worker, which a connection that acts as a user has to leave it to.
    """

    connection: Connection
    user_id: UUID | None
    priority: int
    on_conflict: OnConflict
    run_at: datetime | None
    planned_by: PlannedBy


async def start_jobs(
    job_type: str,
    plan: Callable[[object], Graph],
    many: Iterable[object],
    wishes: Wishes,
    *,
    key_of: KeyOf | None = None,
    idempotency_key: str | None = None,
) -> list[UUID]:
    """Start a job for each of the parameters, all or none; their ids in that order."""
    if wishes.run_at is not None and wishes.run_at.tzinfo is None:
        raise Invalid("invalid_moment", f"{wishes.run_at} has no time zone.", hint="Say in which zone it is.")

    def written(given: object) -> Mapping[str, object]:
        params = as_json_values({} if given is None else given)
        return {
            "type": job_type,
            "params": params,
            "priority": wishes.priority,
            "unique_key": key_of and key_of(given),
            "run_at": wishes.run_at,
            **({"graph": plan(params).as_written()} if wishes.planned_by == "caller" else {}),
        }

    remaining = map(written, many)
    ids: list[UUID] = []
    async with wishes.connection.transaction():
        while jobs := list(islice(remaining, MOST_JOBS_AT_ONCE)):
            arguments = (as_json(jobs).decode(), wishes.user_id, wishes.on_conflict, idempotency_key)
            try:
                ids += await wishes.connection.fetchval(CREATE_JOBS, *arguments)
            except Exception as error:
                if refusal := translate(error, jobs_before=len(ids)):
                    raise refusal from error
                raise
    return ids
