"""Jobs that ended some time ago, made quickly, and what is left of them."""

from datetime import timedelta
from typing import Any, Literal
from uuid import UUID

from .ledger_client import LedgerClient, graph, task

End = Literal["complete", "failed", "cancelled"]

LEFT = """
SELECT count(*) FROM (
  SELECT id FROM jobs WHERE id = $1
  UNION ALL SELECT id FROM job_tasks WHERE job_id = $1
  UNION ALL SELECT id FROM job_artifacts WHERE job_id = $1
  UNION ALL SELECT NULL FROM task_logs WHERE job_id = $1
  UNION ALL SELECT NULL FROM idempotency_keys WHERE job_id = $1) kept
"""
EDGES = "SELECT count(*) FROM task_edges"
AGE = "UPDATE jobs SET finished_at = finished_at - $2::interval WHERE id = $1"


async def ended_job(
    client: LedgerClient, how: End = "complete", *, age_days: float = 0, **given: Any
) -> UUID:
    """A job of two tasks that wrote a line and made a file, and ended in this way so many days ago."""
    job = await client.start(graph(task("a"), task("b", "a")), **given)
    first = await client.claim_one()
    await client.add_artifact(first, f"{job.id}/{first.token}")
    await client.add_logs([(first, "line")])
    match how:
        case "complete":
            await client.complete(first)
            await client.complete(await client.claim_one())
        case "failed":
            await client.fail(first, permanent=True)
        case "cancelled":
            await client.cancel_job(job.id)
    await grow_old(client, job.id, age_days)
    return job.id


async def grow_old(client: LedgerClient, job: UUID, days: float) -> None:
    await client.connection.execute(AGE, job, timedelta(days=days))


async def rows_left(client: LedgerClient, job: UUID) -> int:
    """How many rows of any table speak of this job."""
    return int(await client.connection.fetchval(LEFT, job))
