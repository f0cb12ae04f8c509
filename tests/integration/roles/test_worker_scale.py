"""``shoal worker scale``: real processes come with the queue and go with it, and nothing is lost by that."""

import signal
from collections.abc import Sequence

import psutil
import pytest

from tests.scenarios.processes import Launched

from .field import APPS, Field, so, until

pytestmark = pytest.mark.newest_servers


async def crew(field: Field, arguments: str, *, command: str = "scale", **settings: object) -> Launched:
    parent = field.command(command, f"{APPS}:one", *arguments.split(), **settings)
    await parent.start()
    return parent


def children(parent: Launched) -> list[psutil.Process]:
    return psutil.Process(parent.pid).children()


async def all_gone(processes: Sequence[psutil.Process]) -> None:
    await so(lambda: not any(process.is_running() for process in processes))


async def attempts(field: Field, job: object) -> list[tuple[str, int]]:
    rows = await field.ledger.connection.fetch(
        "SELECT status, attempts FROM job_tasks WHERE job_id = $1 AND name <> 'plan' ORDER BY sequence", job
    )
    return [(row["status"], row["attempts"]) for row in rows]


async def test_processes_come_with_the_queue_and_go_with_it(field: Field) -> None:
    parent = await crew(field, "--concurrency 1 --min 0 --max 2 --cool-down 0")
    assert children(parent) == []

    job = await field.job("patient", "patient", "patient")

    await so(lambda: len(field.starts()) == 2)
    assert set(field.starts().values()) <= {child.pid for child in children(parent)}
    field.let_go()
    assert await field.ended(job.id) == "complete"
    await so(lambda: not children(parent))
    assert await attempts(field, job.id) == [("complete", 1)] * 3
    assert await parent.stop() == 0


async def test_whoever_has_to_go_ends_its_task_first(field: Field) -> None:
    parent = await crew(field, "--concurrency 1 --min 0 --max 2 --cool-down 0")
    job = await field.job("patient", "patient")
    await so(lambda: len(field.starts()) == 2)

    # For the queue there is one task less, so one of the two has to go; both still run one.
    await field.ledger.connection.execute(
        """WITH ended AS (DELETE FROM task_leases WHERE task_id = $1)
           UPDATE job_tasks SET status = 'complete' WHERE id = $1""",
        job.tasks["0"],
    )
    await so(lambda: '"workers":1,"before":2' in parent.log_file.read_text())
    field.let_go()

    assert await field.ended(job.id) == "complete"
    assert (await field.ledger.task(job.tasks["1"]))["attempts"] == 1


async def test_a_paused_type_asks_for_nobody_and_a_limited_one_for_few(field: Field) -> None:
    await field.ledger.connection.execute("SELECT pause_task_type('quick')")
    await field.ledger.connection.execute("SELECT limit_task_type('patient', 1)")
    await field.job(*["quick"] * 9, *["patient"] * 9)

    parent = await crew(field, "--concurrency 1 --min 0 --max 9")

    await so(field.starts)
    assert len(children(parent)) == 1


async def test_a_process_that_crashed_is_replaced_and_its_task_runs_again(field: Field) -> None:
    parent = await crew(field, "--min 1", worker_lease_s=3)
    job = await field.job("patient")
    await so(field.starts)

    (child,) = children(parent)
    child.kill()

    await until(field.ledger.reclaim)
    await so(lambda: len(field.starts()) == 2)
    assert field.starts()["0.2"] != child.pid
    field.let_go()
    assert await field.ended(job.id) == "complete"


async def test_sigterm_stops_all_and_hands_back_what_they_run(field: Field) -> None:
    parent = await crew(field, "--concurrency 1 --min 2", grace_period_s=1)
    job = await field.job("patient", "patient")
    await so(lambda: len(field.starts()) == 2)
    processes = children(parent)

    assert await parent.stop() == 0

    await all_gone(processes)
    assert await attempts(field, job.id) == [("pending", 0)] * 2


async def test_killed_it_leaves_nobody_behind(field: Field) -> None:
    parent = await crew(field, "--concurrency 1 --min 2", grace_period_s=1)
    job = await field.job("patient", "deaf")
    await so(lambda: len(field.starts()) == 2)
    processes = children(parent)

    parent.signal(signal.SIGKILL)
    await parent.ended()

    await all_gone(processes)
    assert (await attempts(field, job.id))[0] == ("pending", 0)


async def test_workers_elsewhere_are_scaled_by_a_scaler_of_ones_own(field: Field) -> None:
    asked = field.folder / "asked"
    field.environment["CLOUD"] = str(asked)
    job = await field.job(*["quick"] * 5)

    parent = await crew(field, f"--concurrency 2 --min 0 --max 9 --cool-down 0 --scaler {APPS}:cloud")
    await so(lambda: asked.exists() and asked.read_text() == "3\n")
    await field.ledger.cancel_job(job.id)

    await so(lambda: asked.read_text() == "3\n0\n")
    assert children(parent) == []
    assert "could not scale" in parent.log_file.read_text()
    assert await parent.stop() == 0


async def test_what_cannot_scale_is_refused(field: Field) -> None:
    parent = field.command("scale", f"{APPS}:one", "--scaler", f"{APPS}:one")

    with pytest.raises(AssertionError):
        await parent.start()

    await parent.ended()
    assert parent.last_words().endswith("(scaler_not_usable)")


async def test_a_user_who_may_not_look_at_the_queue_is_told_so(field: Field) -> None:
    await field.ledger.connection.execute("CREATE ROLE blind LOGIN IN ROLE shoal_worker")
    url = field.environment["SHOAL_DATABASE_URL"].replace("//postgres@", "//blind@")
    parent = field.command("scale", f"{APPS}:one", database_url=url)
    try:
        with pytest.raises(AssertionError):
            await parent.start()
        await parent.ended()
    finally:
        await field.ledger.connection.execute("DROP ROLE blind")
    assert parent.last_words().endswith("(queue_not_readable)")


async def test_a_fixed_number_of_processes_shares_the_work(field: Field) -> None:
    parent = await crew(field, "--concurrency 1 --processes 2", command="run")
    job = await field.job("patient", "patient", "chatty")

    await so(lambda: len(field.starts()) == 2)
    field.let_go()

    assert await field.ended(job.id) == "complete"
    assert len(set(field.starts().values())) == 2
    assert await parent.stop() == 0
