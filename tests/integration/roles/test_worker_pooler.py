"""A worker that reaches its ledger through PgBouncer in transaction mode, and in no other way."""

import pytest

from .field import Field, so, until

pytestmark = pytest.mark.newest_servers

MANY = 300
PROLONGED = """
SELECT EXISTS (SELECT FROM task_leases l JOIN job_tasks t ON t.id = l.task_id
                WHERE l.heartbeat_at > t.claimed_at + make_interval(secs => t.lease_s))
"""


async def test_it_keeps_its_leases_and_looks_for_new_jobs_by_itself(field: Field, pooler_url: str) -> None:
    early = await field.job("patient")
    worker = await field.worker(database_url=pooler_url, worker_lease_s=3)
    await so(field.starts)
    late = await field.job(*["quick"] * MANY)  # nobody can wake it for these

    await until(lambda: field.ledger.connection.fetchval(PROLONGED))
    assert await field.ledger.reclaim() == 0
    assert await field.ended(late.id) == "complete"
    field.let_go()

    assert await field.ended(early.id) == "complete"
    for job in (early, late):
        assert {row["attempts"] for row in await field.ledger.tasks(job.id)} == {1}
    assert await worker.stop() == 0
    assert "prepared statement" not in worker.log_file.read_text()


async def test_several_share_few_connections(field: Field, pooler_url: str) -> None:
    job = await field.job(*["quick"] * MANY)
    workers = [await field.worker(database_url=pooler_url) for _ in range(2)]

    assert await field.ended(job.id) == "complete"

    for worker in workers:
        assert await worker.stop() == 0
        assert "prepared statement" not in worker.log_file.read_text()
