"""Silent workers are found where only workers run; of many workers one looks at a time."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from shoal.ledger.listener import Listener
from shoal.ledger.pool import Ledger
from shoal.ledger.settings import LedgerSettings
from shoal.roles.worker_watchdog import CHANNEL, WorkerWatchdog
from shoal.runtime.lifecycle import Part
from tests.integration.jobs.ledger_client import graph, task

from .field import Field, so, until

pytestmark = pytest.mark.newest_servers

EVERY_S = 0.5
LONG_S = 3600.0


@asynccontextmanager
async def watching(url: str, *, every_s: float) -> AsyncIterator[WorkerWatchdog]:
    """A watchdog, as one process has it."""
    settings = LedgerSettings(database_url=url, database_pool_size=1)
    ledger, listener = Ledger(settings), Listener(settings)
    watchdog = WorkerWatchdog(ledger, watched=listener.subscribe(CHANNEL), every_s=every_s)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(running(ledger))
        await stack.enter_async_context(running(listener))
        await listener.connected.wait()
        await stack.enter_async_context(running(watchdog))
        yield watchdog


@asynccontextmanager
async def running(part: Part) -> AsyncIterator[None]:
    await part.start()
    task = asyncio.create_task(part.run())
    yield
    await part.stop()
    await task


async def stale_task(field: Field) -> None:
    await field.ledger.start(graph(task("a", backoff_s=0)))
    claim = await field.ledger.claim_one()
    await field.ledger.let_leases_run_out(claim)


async def is_taken_back(field: Field) -> bool:
    count = "SELECT count(*) = 0 FROM job_tasks WHERE status = 'claimed'"
    return bool(await field.ledger.connection.fetchval(count))


async def say_that_somebody_looked(field: Field) -> None:
    await field.ledger.connection.execute(f"NOTIFY {CHANNEL}")


async def test_it_takes_back_when_nobody_else_looks(field: Field, database_url: str) -> None:
    await stale_task(field)
    async with watching(database_url, every_s=EVERY_S):
        await until(lambda: is_taken_back(field))


async def test_it_does_not_look_while_somebody_else_does(field: Field, database_url: str) -> None:
    await stale_task(field)
    loop = asyncio.get_running_loop()
    async with watching(database_url, every_s=EVERY_S):
        over = loop.time() + 4 * EVERY_S
        while loop.time() < over:
            await say_that_somebody_looked(field)
            await asyncio.sleep(EVERY_S / 20)
            assert not await is_taken_back(field)
        await until(lambda: is_taken_back(field))


async def test_whoever_looks_says_so(field: Field, database_url: str) -> None:
    heard = asyncio.Event()
    await field.ledger.connection.add_listener(CHANNEL, lambda *_: heard.set())
    async with watching(database_url, every_s=EVERY_S), asyncio.timeout(20):
        await heard.wait()
    await field.ledger.connection.reset()


async def test_it_stops_at_once_however_long_it_would_wait(field: Field, database_url: str) -> None:
    async with asyncio.timeout(20), watching(database_url, every_s=LONG_S):
        pass


async def test_when_the_only_watcher_is_killed_another_takes_over(field: Field) -> None:
    """There is no sentinel anywhere near."""
    watcher = await field.worker(worker_lease_s=3)
    job = await field.job("patient")
    await so(field.starts)
    other = await field.worker(worker_lease_s=3)

    watcher.signal(signal.SIGKILL)

    await so(lambda: len(field.starts()) == 2)
    assert field.starts()["0.2"] == other.pid
    field.let_go()
    assert await field.ended(job.id) == "complete"
