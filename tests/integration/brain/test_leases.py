"""A lease has one holder at a time, and every new holder a larger epoch."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from shoal.brain.keys import BACKGROUND_LEADER
from shoal.brain.leases import Lease

from .valkey_server import ValkeyServer

LONG = timedelta(hours=1)
SHORT = timedelta(milliseconds=30)


class HandMovedClock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.seconds, UTC)

    def monotonic(self) -> float:
        return self.seconds


async def _hold_when_free(lease: Lease) -> int:
    async with asyncio.timeout(10):
        while True:
            if (epoch := await lease.hold()) is not None:
                return epoch
            await asyncio.sleep(0.005)


async def test_one_of_many_holds_it(client: Redis) -> None:
    contenders = [Lease(client, BACKGROUND_LEADER, ttl=LONG) for _ in range(20)]
    epochs = await asyncio.gather(*(one.hold() for one in contenders))
    assert len([epoch for epoch in epochs if epoch is not None]) == 1
    assert len([one for one in contenders if one.epoch is not None]) == 1


async def test_holding_on_keeps_the_epoch_and_extends_the_time(client: Redis) -> None:
    lease = Lease(client, BACKGROUND_LEADER, ttl=timedelta(minutes=1))
    first = await lease.hold()
    before = int(await client.hget(BACKGROUND_LEADER, "until_ms") or 0)
    await client.hset(BACKGROUND_LEADER, "until_ms", before - 30_000)
    assert await lease.hold() == first
    assert int(await client.hget(BACKGROUND_LEADER, "until_ms") or 0) >= before


async def test_a_new_holder_gets_a_larger_epoch(client: Redis) -> None:
    first, second = (Lease(client, BACKGROUND_LEADER, ttl=SHORT) for _ in range(2))
    one = await _hold_when_free(first)
    two = await _hold_when_free(second)
    three = await _hold_when_free(first)
    assert one < two < three


async def test_the_same_holder_that_let_it_run_out_gets_a_larger_epoch(client: Redis) -> None:
    lease = Lease(client, BACKGROUND_LEADER, ttl=LONG)
    first = await lease.hold()
    await client.hset(BACKGROUND_LEADER, "until_ms", 1)
    second = await lease.hold()
    assert first is not None
    assert second is not None
    assert second > first


async def test_the_epoch_grows_even_when_the_server_forgot_everything(
    valkey: ValkeyServer, client: Redis
) -> None:
    first = await Lease(client, BACKGROUND_LEADER, ttl=LONG).hold()
    await valkey.restart()
    second = await Lease(client, BACKGROUND_LEADER, ttl=LONG).hold()
    assert first is not None
    assert second is not None
    assert second > first


async def test_released_it_is_free_at_once_and_only_its_holder_can_release_it(
    client: Redis,
) -> None:
    holder, other = (Lease(client, BACKGROUND_LEADER, ttl=LONG) for _ in range(2))
    first = await holder.hold()
    await other.release()
    assert await other.hold() is None, "a stranger's release changes nothing"
    await holder.release()
    await holder.release()
    assert holder.epoch is None
    second = await other.hold()
    assert first is not None
    assert second is not None
    assert second > first
    await holder.release()
    assert await holder.hold() is None, "a late release does not end the next holder's lease"


async def test_a_paused_holder_knows_by_its_own_clock_that_its_time_is_over(
    client: Redis,
) -> None:
    clock = HandMovedClock()
    lease = Lease(client, BACKGROUND_LEADER, ttl=timedelta(seconds=30), clock=clock)
    assert await lease.hold() is not None
    clock.seconds = 29.9
    assert lease.epoch is not None
    clock.seconds = 30
    assert lease.epoch is None


async def test_what_was_held_stays_held_while_the_server_is_away(valkey: ValkeyServer, client: Redis) -> None:
    clock = HandMovedClock()
    lease = Lease(client, BACKGROUND_LEADER, ttl=timedelta(seconds=30), clock=clock)
    epoch = await lease.hold()
    await valkey.stop()
    with pytest.raises(RedisConnectionError):
        await lease.hold()
    assert lease.epoch == epoch
    clock.seconds = 30
    assert lease.epoch is None
