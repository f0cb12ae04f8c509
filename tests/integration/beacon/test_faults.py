"""What is killed while jobs are watched, and that whoever watches hears the end. All processes are real."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest

from shoal.ledger.pool import Ledger

from .field import Field, field
from .listener import DEADLINE_S, Listener, listener
from .work import work_for

pytestmark = pytest.mark.newest_servers

SLOW_S = 40.0
"""A lease that ends, a client that comes back: on a busy machine."""


@pytest.fixture
async def one_of_each(tmp_path: Path, database_url: str, redis_url: str) -> AsyncIterator[Field]:
    async with field(tmp_path, database_url=database_url, redis_url=redis_url) as built:
        assert built.centrifugo is not None
        await built.centrifugo.start()
        await built.sentinels[0].start()
        await built.is_open()
        yield built


@pytest.fixture
async def two_sentinels(tmp_path: Path, database_url: str, redis_url: str) -> AsyncIterator[Field]:
    async with field(tmp_path, database_url=database_url, redis_url=redis_url, sentinels=2) as built:
        assert built.centrifugo is not None
        await built.centrifugo.start()
        yield built


@pytest.fixture
async def hub_alone(tmp_path: Path, database_url: str, redis_url: str) -> AsyncIterator[Field]:
    async with field(
        tmp_path, database_url=database_url, redis_url=redis_url, with_centrifugo=False
    ) as built:
        await built.sentinels[0].start()
        await built.is_open()
        yield built


async def state_after_return(one: Listener, percent: int) -> None:
    """It subscribes again by itself, and is told where the job is now."""
    async with asyncio.timeout(SLOW_S):
        while True:
            kind, what = await one.events.get()
            if kind in {"subscribed", "publication"} and what.get("percent") == percent:
                return


async def until_ended(one: Listener) -> dict[str, object]:
    async with asyncio.timeout(SLOW_S):
        while True:
            kind, what = await one.events.get()
            if kind in {"subscribed", "publication"} and what["type"] != "progress":
                return dict(what)


async def test_a_centrifugo_that_dies_while_jobs_are_watched_costs_nobody_anything(
    one_of_each: Field, ledger: Ledger
) -> None:
    here, ann = one_of_each, uuid4()
    assert here.centrifugo is not None
    url, token = await here.beacon_token(ann)
    async with work_for(ledger, ann, tasks=4) as work, listener(url, token) as one:
        watching = await here.watch(ann, work.id)
        try:
            async with asyncio.timeout(SLOW_S):
                await one.listen(work.channel)
                await work.complete_one()
                await one.until(lambda data: data["percent"] == 25)
                await watching.until("25%")

                here.centrifugo.kill()
                assert (await here.ask(ann, "GET", "/status"))["centrifugo"] == "disconnected"
                await work.complete_one()
                await watching.until("50%")  # it looks by itself now
                assert (await here.ask(ann, "GET", f"/api/jobs/{work.id}"))["status"] == "processing"

                await here.centrifugo.start()
                await state_after_return(one, 50)
                assert (await here.ask(ann, "GET", "/status"))["centrifugo"] == "connected"
                await work.complete_one()
                await one.until(lambda data: data["percent"] == 75)
                await work.complete_one("the end")
                assert (await until_ended(one))["result"] == "the end"
                assert await watching.exit_code() == 0
        finally:
            watching.kill()


async def test_another_sentinel_goes_on_where_one_was_killed(two_sentinels: Field, ledger: Ledger) -> None:
    here, ann, bob = two_sentinels, uuid4(), uuid4()
    first, second = here.sentinels
    await first.start()
    await here.is_open()
    url, anns = await here.beacon_token(ann)
    _, bobs = await here.beacon_token(bob)
    async with (
        work_for(ledger, ann, tasks=20) as work,
        work_for(ledger, bob, tasks=20) as anothers,
        work_for(ledger, ann, tasks=1) as later,
        listener(url, anns) as one,
        listener(url, bobs) as other,
    ):
        await one.listen(work.channel)
        await other.listen(anothers.channel)
        await one.until(lambda data: data["percent"] == 0)  # the first one tells: it has the lease
        await second.start()
        for number in range(20):
            if number == 10:
                await first.kill_group()
            await work.complete_one(f"anns {number}")
            await anothers.complete_one(f"bobs {number}")
        assert (await until_ended(one))["result"] == "anns 19"
        assert (await until_ended(other))["result"] == "bobs 19"

        # Who may listen is now asked of the other one, and its answers are the same.
        await here.is_open()
        with pytest.raises(PermissionError):
            await one.listen(anothers.channel)
        await one.listen(later.channel)
        await later.complete_one("done as well")
        assert (await until_ended(one))["result"] == "done as well"


async def test_a_hub_that_dies_takes_no_job_with_it(hub_alone: Field, ledger: Ledger) -> None:
    here, ann = hub_alone, uuid4()
    (sentinel,) = here.sentinels
    url, token = await here.beacon_token(ann)
    async with work_for(ledger, ann) as work, listener(url, token) as one:
        watching = await here.watch(ann, work.id)
        try:
            await one.listen(work.channel)
            await watching.until("0%")
            await sentinel.kill_group()
            await work.complete_one()
            await sentinel.start()
            await state_after_return(one, 50)
            await work.complete_one("done")
            assert (await until_ended(one))["result"] == "done"
            async with asyncio.timeout(DEADLINE_S):
                assert await watching.exit_code() == 0
        finally:
            watching.kill()
