"""A worker runs what it holds, and stops what it holds no more."""

import asyncio
import threading

import pytest

from shoal import App, Context
from shoal.ledger.connection import connect
from shoal.worker import heartbeats

from .workshop import Workshop, happened, until

pytestmark = pytest.mark.newest_servers

CUT_HEARTBEATS = """SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                     WHERE application_name LIKE 'shoal heartbeats %'"""
NO_HEARTBEATS_OPEN = """SELECT NOT EXISTS (SELECT FROM pg_stat_activity
                                            WHERE application_name LIKE 'shoal heartbeats %')"""


class Endless:
    """Tasks that go on until they are told to stop, and then do what they would have done."""

    def __init__(self) -> None:
        self.app = App()
        self.loop = asyncio.get_running_loop()
        self.begun = asyncio.Event()
        self.stopped = asyncio.Event()
        self.may_end = threading.Event()

        @self.app.task("sync")
        def sync(context: Context) -> str:
            self.loop.call_soon_threadsafe(self.begun.set)
            while not (context.cancelled or self.may_end.is_set()):
                self.may_end.wait(0.01)
            context.artifact("late.txt", "too late", type="text")
            self.loop.call_soon_threadsafe(self.stopped.set)
            return f"attempt {context.attempt}"

        @self.app.task("async")
        async def run(context: Context) -> None:
            self.begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.stopped.set()


@pytest.fixture
async def endless() -> Endless:
    return Endless()


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_a_task_whose_lease_was_lost_is_stopped(
    workshop: Workshop, endless: Endless, kind: str
) -> None:
    job = await workshop.start(kind)
    async with workshop.worker(endless.app, worker_concurrency=1):  # it has no place for it again
        await happened(endless.begun)
        await workshop.client.let_leases_run_out()
        assert await workshop.client.reclaim() == 1
        (other,) = await workshop.client.claim(1, types=[kind])
        await happened(endless.stopped)
        assert await workshop.client.complete(other, output="the other's") == ["completed"]
    assert (await workshop.task(job))["output"] == "the other's"
    assert await workshop.artifacts_of(job) == []


async def test_a_report_that_comes_too_late_changes_nothing(
    workshop: Workshop, endless: Endless, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker was paused for longer than its lease and does not know it yet."""
    monkeypatch.setattr(heartbeats, "LOOK_EVERY_S", 1000.0)
    job = await workshop.start("sync")
    async with workshop.worker(endless.app, worker_concurrency=1):
        await happened(endless.begun)
        await workshop.client.let_leases_run_out()
        assert await workshop.client.reclaim() == 1
        (other,) = await workshop.client.claim(1, types=["sync"])
        endless.may_end.set()
        await happened(endless.stopped)
        after = await workshop.start("sync")
        assert (await workshop.ended(after))["status"] == "complete"
        assert (await workshop.task(job))["claim_token"] == other.token
        assert await workshop.client.complete(other, output="the other's") == ["completed"]
    assert (await workshop.task(job))["output"] == "the other's"
    assert await workshop.artifacts_of(job) == []
    assert [row["name"] for row in await workshop.artifacts_of(after)] == ["late.txt"]


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("what", ["job", "task"])
async def test_a_cancel_reaches_the_task_that_runs(
    workshop: Workshop, endless: Endless, kind: str, what: str
) -> None:
    job = await workshop.start(kind)
    async with workshop.worker(endless.app, worker_lease_s=600):
        await happened(endless.begun)
        if what == "job":
            await workshop.client.cancel_job(job.id)
        else:
            await workshop.client.cancel_task(job.tasks[kind])
        await happened(endless.stopped)
    assert (await workshop.task(job))["status"] == "cancelled"
    assert await workshop.artifacts_of(job) == []


async def test_heartbeats_go_on_while_a_task_blocks_the_event_loop(workshop: Workshop) -> None:
    """The loop of the worker is that of the test as well: the task itself waits for the heartbeats."""
    app = App()
    asked = threading.Event()
    seen: list[object] = []

    @app.task("block")
    async def block(context: Context) -> int:
        for _ in range(3):
            asked.clear()
            asked.wait(20)
        return len(seen)

    def watch() -> None:
        asyncio.run(watch_heartbeats())

    async def watch_heartbeats() -> None:
        connection = await connect(workshop.database_url, application="test watch")
        while len(seen) < 3:
            beat = await connection.fetchval("SELECT max(heartbeat_at) FROM task_leases")
            if beat is not None and beat not in seen:
                seen.append(beat)
                asked.set()
            await asyncio.sleep(0.01)
        await connection.close()

    job = await workshop.start("block")
    watching = threading.Thread(target=watch)
    watching.start()
    async with workshop.worker(app):
        assert (await workshop.ended(job))["status"] == "complete"
    watching.join(10)
    row = await workshop.task(job)
    assert (row["output"], row["attempts"]) == (3, 1)


async def test_a_worker_that_cannot_send_heartbeats_for_a_while_sends_them_again(
    workshop: Workshop, endless: Endless
) -> None:
    job = await workshop.start("sync")
    async with workshop.worker(endless.app):
        first = await until(lambda: workshop.heartbeats_of(job))
        assert await workshop.client.connection.fetchval(CUT_HEARTBEATS) == 1
        second = await until(lambda: workshop.heartbeats_of(job), lambda beat: beat > first)
        # Not the connection, but the call fails: as when it meets a deadlock.
        await workshop.client.connection.execute("ALTER TABLE task_leases RENAME TO leases_away")
        await until(lambda: workshop.client.connection.fetchval(NO_HEARTBEATS_OPEN))
        await workshop.client.connection.execute("ALTER TABLE leases_away RENAME TO task_leases")
        await until(lambda: workshop.heartbeats_of(job), lambda beat: beat > second)
        endless.may_end.set()
        assert (await workshop.ended(job))["status"] == "complete"
