"""Tasks in processes: what works inside, what ends them, and that nothing of them is left."""

import asyncio
import os
import signal
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from tests.integration.jobs.ledger_client import PlannedJob, graph, task
from tests.scenarios.processes import Launched

from .heavy import REFERENCE, app
from .workshop import Workshop, until

pytestmark = pytest.mark.newest_servers


async def pids_in(folder: Path) -> list[int]:
    """The processes a task has noted, once it has."""

    async def noted() -> list[int]:
        file = folder / "pid"
        return [int(pid) for pid in file.read_text().split()] if file.exists() else []

    pids: list[int] = await until(noted)
    return pids


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


async def all_gone(pids: list[int]) -> None:
    async def none_is_alive() -> bool:
        return not any(is_alive(pid) for pid in pids)

    await until(none_is_alive)


async def test_it_runs_in_a_process_that_knows_what_a_task_knows(workshop: Workshop) -> None:
    job = await workshop.client.start(
        graph(
            task("first", task_type="where", input={"n": 1}),
            task("second", "first", task_type="where", input={"n": 2}, max_attempts=7),
            task("third", "second", task_type="where_async"),
        )
    )
    async with workshop.worker(app):
        assert (await workshop.ended(job))["status"] == "complete"
    first, second, third = [
        (await workshop.task(job, name))["output"] for name in ("first", "second", "third")
    ]
    assert first["pid"] not in {os.getpid(), os.getppid()}
    assert (second["given"], second["needs"]) == ({"n": 2}, {"first": first})
    assert (second["attempt"], second["name"]) == ([1, 7], "second")
    assert {first["pid"], second["pid"], third} == {first["pid"]}, "the process is used again"
    assert not first["imported"], "it carries what tasks need, and no worker"
    await all_gone([first["pid"]])


async def test_progress_and_lines_come_from_inside(workshop: Workshop, tmp_path: Path) -> None:
    job = await workshop.start("tell", input={"path": str(tmp_path)})
    said = """SELECT progress, message FROM task_leases l JOIN job_tasks t ON t.id = l.task_id
               WHERE t.job_id = $1 AND progress = 0.5"""
    async with workshop.worker(app, worker_lease_s=600):
        row = await until(lambda: workshop.client.connection.fetchrow(said, job.id))
        assert row["message"] == "half"
        (tmp_path / "heard").touch()
        assert (await workshop.ended(job))["status"] == "complete"
    assert await workshop.lines_of(job) == ["drawing page=1 file=a.txt", "no ? ink"]


async def test_artifacts_come_from_inside(workshop: Workshop) -> None:
    job = await workshop.start("make")
    async with workshop.worker(app):
        assert (await workshop.ended(job))["status"] == "complete"
    rows = await workshop.artifacts_of(job)
    kept = {row["name"]: (workshop.vault / row["storage_path"]).read_bytes() for row in rows}
    assert kept == {"file.txt": b"from a file", "bytes.bin": b"\0\xff", "stream.bin": b"in blocks"}
    assert rows[0]["duration_seconds"] == 2.5
    assert (rows[2]["content_type"], rows[2]["fallback_for"]) == ("text/plain", "bytes.bin")


@pytest.mark.parametrize(
    ("how", "status", "error"),
    [
        ("error", "pending", "ValueError: no ?"),
        ("permanent", "failed", "never"),
        ("later", "pending", "not yet"),
        ("exit", "pending", "SystemExit: 3"),
        ("die", "pending", "task_process_died: The process of the task ended with exit code 3."),
        ("crash", "pending", "task_process_died: The process of the task was ended by SIGSEGV."),
        ("mute", "pending", "task_process_died: The process of the task ended with exit code 1."),
        ("output", "failed", "output_not_json: "),
    ],
)
async def test_it_fails_as_any_task_does_and_the_next_one_runs(
    workshop: Workshop, how: str, status: str, error: str
) -> None:
    job = await workshop.start("fail", input=how, backoff_s=1000)
    async with workshop.worker(app):
        row = await until(lambda: workshop.task(job), lambda row: row["error"])
        after = await workshop.start("where", input={})
        assert (await workshop.ended(after))["status"] == "complete"
    assert row["error"].startswith(error)
    assert (row["status"], row["attempts"]) == (status, 1)


async def test_it_can_be_snoozed(workshop: Workshop) -> None:
    job = await workshop.start("fail", input="snooze")
    async with workshop.worker(app):
        row = await until(lambda: workshop.task(job), lambda row: row["delayed"])
    now = await workshop.client.connection.fetchval("SELECT clock_timestamp()")
    assert timedelta(seconds=900) < row["run_at"] - now
    assert row["attempts"] == 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux holds a process to its memory")
async def test_one_that_needs_too_much_memory_fails_for_good(workshop: Workshop) -> None:
    modest = await workshop.start("hog", input=20)
    greedy = await workshop.start("hog", input=400)
    async with workshop.worker(app, worker_concurrency=1):
        assert (await workshop.ended(modest))["status"] == "complete"
        assert (await workshop.ended(greedy))["status"] == "failed"
        after = await workshop.start("where", input={})
        assert (await workshop.ended(after))["status"] == "complete"
    row = await workshop.task(greedy)
    assert row["error"].startswith("memory_limit_exceeded: It needs more than the 200 MB it may use.")
    assert row["attempts"] == 1


@pytest.mark.parametrize("kind", ["endless", "endless_async"])
async def test_it_is_asked_to_stop_when_its_time_is_up(workshop: Workshop, tmp_path: Path, kind: str) -> None:
    job = await workshop.start(kind, input={"path": str(tmp_path)}, max_attempts=1, timeout_s=1)
    async with workshop.worker(app):
        assert (await workshop.ended(job))["status"] == "failed"
        await until(lambda: asyncio.sleep(0, (tmp_path / "asked").exists()))
    assert (await workshop.task(job))["error"] == "The task took longer than its limit of 1 s."
    await all_gone(await pids_in(tmp_path))


async def deaf_one(workshop: Workshop, folder: Path) -> tuple[PlannedJob, list[int]]:
    """A task that will not stop, and its processes."""
    job = await workshop.start("deaf", input={"path": str(folder)})
    return job, await pids_in(folder)


async def test_a_cancelled_one_that_does_not_stop_is_killed_with_what_it_started(
    workshop: Workshop, tmp_path: Path
) -> None:
    async with workshop.worker(app):
        job, pids = await deaf_one(workshop, tmp_path)
        await workshop.client.cancel_job(job.id)
        await all_gone(pids)


async def test_one_whose_lease_was_lost_is_killed(workshop: Workshop, tmp_path: Path) -> None:
    async with workshop.worker(app, worker_concurrency=1):
        _, pids = await deaf_one(workshop, tmp_path)
        await workshop.client.let_leases_run_out()
        assert await workshop.client.reclaim() == 1
        await workshop.client.claim(1, types=["deaf"])
        await all_gone(pids)


async def test_a_worker_that_is_told_to_end_hands_it_back_and_leaves_nothing_behind(
    workshop: Workshop, tmp_path: Path
) -> None:
    async with workshop.worker(app, grace_s=0.1):
        job, pids = await deaf_one(workshop, tmp_path)
    await all_gone(pids)
    row = await workshop.task(job)
    assert (row["status"], row["attempts"]) == ("pending", 0)


async def test_a_worker_that_is_killed_leaves_nothing_behind(workshop: Workshop, tmp_path: Path) -> None:
    worker = Launched(
        ["worker", "run", REFERENCE],
        log_file=tmp_path / "worker.log",
        environment={
            "SHOAL_DATABASE_URL": workshop.database_url,
            "SHOAL_VAULT_URL": workshop.vault.as_uri(),
        },
        ready=b"ready",
    )
    await worker.start()
    try:
        await workshop.client.create("deafness", params={"path": str(tmp_path)})
        pids = await pids_in(tmp_path)
        assert all(is_alive(pid) for pid in pids)
    finally:
        worker.signal(signal.SIGKILL)
        await worker.ended()
    await all_gone(pids)
