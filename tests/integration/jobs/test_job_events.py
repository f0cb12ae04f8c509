"""What happens to jobs is told, in the transaction in which it happens and in its order."""

from typing import Any

import pytest

from tests.integration.jobs.conftest import OpenClient
from tests.integration.jobs.ledger_client import OWNER, LedgerClient, graph, task
from tests.integration.jobs.races import begun_and_waiting

EVENTS = """
SELECT event_type, aggregate_version, user_id, payload FROM event_store_t
 WHERE aggregate_type = 'job' AND aggregate_id = $1 ORDER BY seq
"""
ASK = "INSERT INTO event_sink_t (name, kind, patterns) VALUES ('asks', 'consumer', $1)"
TOLD = "SELECT e.event_type FROM outbox_message_t o JOIN event_store_t e USING (event_id) ORDER BY o.id"


async def events_of(client: LedgerClient, job: Any) -> list[tuple[str, int]]:
    rows = await client.connection.fetch(EVENTS, str(job))
    return [(row["event_type"], row["aggregate_version"]) for row in rows]


async def test_a_job_that_completes(ann: LedgerClient) -> None:
    job = await ann.start(graph(task("one"), task("two", "one"), result="two"), unique_key="k")
    await ann.complete(await ann.claim_one())
    await ann.complete(await ann.claim_one(), output={"pages": 3})
    assert await events_of(ann, job.id) == [("job.created", 1), ("job.completed", 3)]
    last = (await ann.connection.fetch(EVENTS, str(job.id)))[-1]
    assert last["user_id"] == OWNER
    assert last["payload"] == {
        "v": 1,
        "jobId": str(job.id),
        "jobType": "graph",
        "status": "complete",
        "uniqueKey": "k",
        "result": {"pages": 3},
    }


async def test_a_job_that_fails_and_is_tried_again(ann: LedgerClient) -> None:
    job = await ann.start(graph(task("one")))
    await ann.fail(await ann.claim_one(), error="the ink ran out", permanent=True)
    await ann.connection.execute("SELECT retry_job($1)", job.id)
    await ann.complete(await ann.claim_one())
    assert [name for name, _ in await events_of(ann, job.id)] == [
        "job.created",
        "job.failed",
        "job.retried",
        "job.completed",
    ]
    failed = (await ann.connection.fetch(EVENTS, str(job.id)))[1]
    assert failed["payload"]["error"] == "the ink ran out"


async def test_a_job_that_is_cancelled_is_told_once(ann: LedgerClient) -> None:
    job = await ann.start(graph(task("one"), task("two")))
    await ann.claim_one()
    await ann.connection.execute("SELECT cancel_job($1, 'Enough.')", job.id)
    await ann.connection.execute("SELECT cancel_job($1, 'Again.')", job.id)
    assert (await events_of(ann, job.id))[1:] == [("job.cancelled", 3)]


async def test_that_a_job_has_started_is_told_to_who_wants_it(ann: LedgerClient) -> None:
    await ann.connection.execute(ASK, ["job.*"])
    job = await ann.start(graph(task("one")))
    assert await events_of(ann, job.id) == [("job.created", 1), ("job.started", 2)]


async def test_jobs_of_a_batch_and_one_of_nothing(ann: LedgerClient) -> None:
    await ann.register()
    jobs = [{"type": "graph"}, {"type": "graph", "graph": {"tasks": []}}]
    waiting, done = await ann.connection.fetchval("SELECT create_jobs($1, $2)", jobs, OWNER)
    assert await events_of(ann, waiting) == [("job.created", 1)]
    assert await events_of(ann, done) == [("job.created", 1), ("job.completed", 2)]


async def test_what_is_rolled_back_is_not_told(ann: LedgerClient) -> None:
    job = await ann.start(graph(task("one")))
    claim = await ann.claim_one()
    transaction = ann.connection.transaction()
    await transaction.start()
    await ann.complete(claim)
    await transaction.rollback()
    assert await events_of(ann, job.id) == [("job.created", 1)]
    await ann.complete(claim)


async def test_tasks_are_told_to_those_who_name_them_and_before_the_end_of_their_job(
    ann: LedgerClient,
) -> None:
    job = await ann.start(graph(task("one"), task("two")))
    await ann.complete(await ann.claim_one())
    assert [name for name, _ in await events_of(ann, job.id)] == ["job.created"]

    await ann.connection.execute(ASK, ["task.completed", "task.retrying", "job.*"])
    again = await ann.claim_one()
    await ann.fail(again, error="once more", retry_after_s=0)
    await ann.complete(await ann.claim_one())
    told = [row[0] for row in await ann.connection.fetch(TOLD)]
    assert told == ["task.retrying", "task.completed", "job.completed"]
    retrying = (await ann.connection.fetch(EVENTS, str(job.id)))[1]["payload"]
    assert retrying["taskId"] == str(again.task_id)
    assert (retrying["worker"], retrying["attempt"], retrying["error"]) == ("ann", 1, "once more")


@pytest.mark.newest_servers
async def test_the_events_of_a_job_are_appended_in_the_order_of_its_commits(
    ann: LedgerClient, open_client: OpenClient
) -> None:
    """Two workers end two tasks of one job at the same time: the end of the job is the last event."""
    bob = await open_client("bob")
    await ann.connection.execute(ASK, ["task.completed", "job.completed"])
    job = await ann.start(graph(task("one"), task("two")))
    mine, his = await ann.claim_one(), await bob.claim_one()
    transaction = ann.connection.transaction()
    await transaction.start()
    await ann.complete(mine)
    waiting = await begun_and_waiting(bob.complete(his), of=bob, seen_by=ann)
    await transaction.commit()
    await waiting
    told = [row[0] for row in await ann.connection.fetch(TOLD)]
    assert told == ["task.completed", "task.completed", "task.completed", "job.completed"]
    assert (await events_of(ann, job.id))[-1][0] == "job.completed"
