"""What listeners of a job hear while it runs, through the official client, from either beacon."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any
from uuid import uuid4

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from shoal.beacon.centrifugo import Centrifugo
from shoal.beacon.ports import Beacon
from shoal.brain.connection import Brain
from shoal.brain.leases import Lease
from shoal.brain.settings import BrainSettings
from shoal.jobs.live import LiveProgress, Watched
from shoal.ledger.pool import Ledger
from shoal.ledger.settings import LedgerSettings
from tests.support.wire import wire_to_web

from .listener import listener
from .site import CLOCK, CentrifugoSite, Site, settings_for
from .work import work_for

pytestmark = pytest.mark.asyncio(loop_scope="session")


@asynccontextmanager
async def telling(
    at: Site, *, beacon: Beacon | None = None, lease: Lease | None = None
) -> AsyncIterator[LiveProgress]:
    part = LiveProgress(at.ledger, beacon or at.beacon, watched=at.watched, clock=CLOCK, lease=lease)
    running = asyncio.create_task(part.run())
    try:
        yield part
    finally:
        await part.stop()
        await running


def is_at(percent: int) -> Any:
    return lambda data: data["type"] == "progress" and data["percent"] == percent


async def test_a_listener_hears_how_far_a_job_is_and_what_came_of_it(at: Site) -> None:
    ann = await at.user()
    async with (
        telling(at),
        work_for(at.ledger, ann) as work,
        listener(at.client_url, at.portal_token(ann)) as one,
    ):
        told = await one.listen(work.channel)
        assert (told["type"], told["completed"], told["total"]) == ("progress", 0, 2)
        claim = await work.claim()
        await work.worker.heartbeat(claim, progress=0.5, message="half of the first")
        told = await one.until(is_at(25))
        assert (told["message"], told["status"]) == ("half of the first", "processing")
        await work.worker.complete(claim)
        told = await one.until(is_at(50))
        assert (told["completed"], told["total"]) == (1, 2)
        assert abs(told["timestamp"] - CLOCK.now().timestamp()) < 60
        await work.complete_one({"meanDps": 1.5})
        told = await one.until(lambda data: data["type"] != "progress")
        assert (told["type"], told["result"]) == ("completed", {"meanDps": 1.5})


async def test_a_job_that_does_not_complete_says_so_too(at: Site) -> None:
    ann = await at.user()
    async with telling(at), listener(at.client_url, at.portal_token(ann)) as one:
        async with work_for(at.ledger, ann) as work:
            await one.listen(work.channel)
            await work.fail("out of paper")
            told = await one.until(lambda data: data["type"] == "failed")
            assert "out of paper" in told["error"]
        async with work_for(at.ledger, ann) as work:
            await one.listen(work.channel)
            await work.worker.cancel_job(work.id)
            await one.until(lambda data: data["type"] == "cancelled")


async def test_whoever_comes_after_the_end_is_told_with_the_reply(at: Site) -> None:
    ann = await at.user()
    async with work_for(at.ledger, ann, tasks=1) as work:
        await work.complete_one([1, None])
        async with listener(at.client_url, at.portal_token(ann)) as one:
            assert (await one.listen(work.channel))["result"] == [1, None]


async def test_a_job_that_is_tried_again_is_told_again(at: Site) -> None:
    ann = await at.user()
    async with (
        telling(at),
        work_for(at.ledger, ann, tasks=1) as work,
        listener(at.client_url, at.portal_token(ann)) as one,
    ):
        await one.listen(work.channel)
        await work.fail("no")
        await one.until(lambda data: data["type"] == "failed")
        await work.worker.retry_job(work.id)
        await one.until(lambda data: data["type"] == "progress")


async def test_nothing_is_read_for_jobs_nobody_listens_to(at: Site) -> None:
    not_started = Ledger(LedgerSettings(database_url="postgresql://localhost/none"))
    watched = Watched(CLOCK)
    part = LiveProgress(not_started, at.beacon, watched=watched, clock=CLOCK)
    for channel in await at.beacon.active("jobs"):
        raise AssertionError(f"a test left {channel} behind")
    await part.work()
    watched.note(uuid4())
    with pytest.raises(RuntimeError, match="not started"):
        await part.work()


@pytest.fixture
def alone_at(at_centrifugo: CentrifugoSite) -> CentrifugoSite:
    return at_centrifugo


async def test_an_end_that_the_beacon_did_not_take_is_said_when_it_does(alone_at: CentrifugoSite) -> None:
    at = alone_at
    ann = await at.user()
    async with wire_to_web(at.server.url) as (wire, near), work_for(at.ledger, ann, tasks=1) as work:
        settings = msgspec.structs.replace(settings_for(at.server), centrifugo_url=near)
        beacon = Centrifugo(settings, CollectorRegistry())
        await beacon.start()
        async with telling(at, beacon=beacon), listener(at.client_url, at.portal_token(ann)) as one:
            await one.listen(work.channel)
            await one.until(lambda data: data["type"] == "progress")
            wire.cut()
            await work.complete_one("done")
            assert not await beacon.publish(work.channel, "unheard")
            wire.mend()
            told = await one.until(lambda data: data["type"] == "completed")
            assert told["result"] == "done"
        await beacon.stop()


async def test_of_several_sentinels_one_tells_and_another_takes_over(
    alone_at: CentrifugoSite, redis_url: str
) -> None:
    at = alone_at
    ann = await at.user()
    brain = Brain(BrainSettings(redis_url=redis_url))
    await brain.start()
    key = f"a lease of a test:{uuid4()}"
    first, second = (Lease(brain.client, key, ttl=timedelta(seconds=30)) for _ in range(2))
    async with (
        work_for(at.ledger, ann, tasks=1) as work,
        telling(at, lease=second),
        listener(at.client_url, at.portal_token(ann)) as one,
    ):
        async with telling(at, lease=first):
            await one.listen(work.channel)
            claim = await work.claim()
            for tenth in range(1, 5):
                await work.worker.heartbeat(claim, progress=tenth / 10)
                await one.until(is_at(10 * tenth))
            holders = [lease.epoch is not None for lease in (first, second)]
            assert sorted(holders) == [False, True]
        # Whichever it was: one of the two is left, and holds what the other gave back.
        await work.worker.heartbeat(claim, progress=0.9)
        await one.until(is_at(90))
        assert second.epoch is not None
    await brain.stop()
