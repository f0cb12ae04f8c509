"""``shoal worker run`` as a process: which apps and types it works for, and how it ends."""

import signal

import pytest

from tests.scenarios.processes import Launched

from .field import APPS, Field, so, until

pytestmark = pytest.mark.newest_servers


async def test_one_worker_runs_the_tasks_of_several_apps(field: Field) -> None:
    await field.worker(f"{APPS}:two")
    job = await field.job("quick", "other")

    assert await field.ended(job.id) == "complete"


async def test_only_the_named_types_are_claimed(field: Field) -> None:
    job = await field.job("quick", "doomed", "other")

    await field.worker(f"{APPS}:two", "--types", "quick,other")

    await until(lambda: complete(field, job.tasks["0"], job.tasks["2"]))
    left = await field.ledger.task(job.tasks["1"])
    assert (left["status"], left["attempts"]) == ("pending", 0)


async def complete(field: Field, *tasks: object) -> bool:
    count = "SELECT count(*) FROM job_tasks WHERE id = ANY ($1) AND status = 'complete'"
    return bool(await field.ledger.connection.fetchval(count, list(tasks)) == len(tasks))


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([f"{APPS}:two", f"{APPS}:clashing"], "declared_by_two_apps"),
        ([f"{APPS}:two", "--types", "othre"], "task_type_not_declared"),
        (["tests.absent:app"], "app_not_found"),
    ],
)
async def test_what_cannot_be_run_is_said_at_once(field: Field, arguments: list[str], code: str) -> None:
    worker = field.command("run", *arguments)

    with pytest.raises(AssertionError):
        await worker.start()

    assert await worker.ended() in {2, 5}
    assert worker.last_words().endswith(f"({code})")


async def test_sigterm_lets_running_tasks_end(field: Field) -> None:
    worker = await field.worker("--concurrency", "2")
    job = await field.job("patient", "patient", "patient")
    await so(lambda: len(field.starts()) == 2)

    worker.signal(signal.SIGTERM)
    await until(lambda: waits_unclaimed(field, job.tasks["2"]))
    field.let_go()

    assert await worker.ended() == 0
    rows = await field.ledger.tasks(job.id)
    assert [(row["status"], row["attempts"]) for row in rows if row["name"] != "plan"] == [
        ("complete", 1),
        ("complete", 1),
        ("pending", 0),
    ]


async def waits_unclaimed(field: Field, task: object) -> bool:
    query = "SELECT status = 'pending' AND attempts = 0 FROM job_tasks WHERE id = $1"
    return bool(await field.ledger.connection.fetchval(query, task))


async def test_what_outlasts_the_grace_period_is_handed_back_without_an_attempt(field: Field) -> None:
    worker = await field.worker(grace_period_s=0.5)
    job = await field.job("patient")
    await so(field.starts)

    assert await worker.stop() == 0

    handed_back = await field.ledger.task(job.tasks["0"])
    assert (handed_back["status"], handed_back["attempts"]) == ("pending", 0)
    field.let_go()
    await field.worker()
    assert await field.ended(job.id) == "complete"
    assert (await field.ledger.task(job.tasks["0"]))["attempts"] == 1


async def test_a_second_signal_ends_it_at_once(field: Field) -> None:
    worker = await field.worker(grace_period_s=30)
    job = await field.job("patient")
    await so(field.starts)
    worker.signal(signal.SIGTERM)
    await so(lambda: says(worker, '"message":"ending"'))

    worker.signal(signal.SIGTERM)

    assert await worker.ended() == 130
    # It said goodbye to nobody, so its lease has to run out.
    assert (await field.ledger.task(job.tasks["0"]))["status"] == "claimed"


def says(worker: Launched, words: str) -> bool:
    return words in worker.log_file.read_text()
