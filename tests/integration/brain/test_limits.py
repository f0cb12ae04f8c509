"""Rate limits hold in every window, on the server's clock."""

import asyncio

import pytest
from redis.asyncio import Redis

from shoal.brain import keys
from shoal.brain.limits import RateLimit, admit

HOUR_MS = 3_600_000


async def _age(client: Redis, subject: str, limit: RateLimit, by_ms: int) -> None:
    """Let the calls that passed lie ``by_ms`` further back, as if that time had gone by."""
    key = keys.rate_limit(limit.action, subject, limit.window_ms)
    moments = [int(moment) for moment in await client.lrange(key, 0, -1)]
    await client.delete(key)
    await client.rpush(key, *(moment - by_ms * 1000 for moment in moments))


async def test_as_many_as_the_limit_pass_and_the_next_is_told_when(client: Redis) -> None:
    limit = RateLimit(action="publish", limit=3, window_ms=HOUR_MS)
    for _ in range(3):
        assert (await admit(client, limit, "node-1")).allowed
    refused = await admit(client, limit, "node-1")
    assert not refused.allowed
    assert HOUR_MS / 1000 - 60 < refused.retry_after_s <= HOUR_MS / 1000
    assert (await admit(client, limit, "node-2")).allowed, "subjects do not share a limit"


async def test_no_window_wherever_it_starts_lets_more_pass(client: Redis) -> None:
    limit = RateLimit(action="publish", limit=4, window_ms=HOUR_MS)
    # Two early ones and two just before what would be the edge of a fixed window.
    for wait_ms in (0, 0, HOUR_MS - 1000, 0):
        if wait_ms:
            await _age(client, "n", limit, wait_ms)
        assert (await admit(client, limit, "n")).allowed
    await _age(client, "n", limit, 2000)
    # The two early ones have left the window, the two late ones have not.
    admissions = [(await admit(client, limit, "n")).allowed for _ in range(4)]
    assert admissions == [True, True, False, False]


async def test_refusals_do_not_count(client: Redis) -> None:
    limit = RateLimit(action="publish", limit=1, window_ms=HOUR_MS)
    assert (await admit(client, limit, "n")).allowed
    for _ in range(20):
        assert not (await admit(client, limit, "n")).allowed
    await _age(client, "n", limit, HOUR_MS)
    assert (await admit(client, limit, "n")).allowed


async def test_waiting_as_long_as_told_is_enough(client: Redis) -> None:
    limit = RateLimit(action="publish", limit=2, window_ms=50)
    async with asyncio.timeout(10):
        for _ in range(6):
            while not (admission := await admit(client, limit, "n")).allowed:
                assert 0 < admission.retry_after_s <= 0.05
                await asyncio.sleep(admission.retry_after_s)


async def test_many_at_once_share_one_limit(client: Redis) -> None:
    limit = RateLimit(action="publish", limit=10, window_ms=HOUR_MS)
    admissions = await asyncio.gather(*(admit(client, limit, "n") for _ in range(100)))
    assert sum(admission.allowed for admission in admissions) == 10


async def test_a_clock_that_went_back_locks_nobody_out_for_longer_than_a_window(
    client: Redis,
) -> None:
    limit = RateLimit(action="publish", limit=1, window_ms=1000)
    await admit(client, limit, "n")
    await _age(client, "n", limit, -HOUR_MS)
    assert (await admit(client, limit, "n")).retry_after_s <= 1


async def test_what_is_kept_is_bounded_and_ends_with_the_window(client: Redis) -> None:
    limit = RateLimit(action="publish", limit=3, window_ms=HOUR_MS)
    key = keys.rate_limit("publish", "n", HOUR_MS)
    for _ in range(5):
        await _admit_aged(client, limit)
    assert await client.llen(key) <= 3
    assert 0 < await client.pttl(key) <= HOUR_MS


async def _admit_aged(client: Redis, limit: RateLimit) -> None:
    if await client.exists(keys.rate_limit(limit.action, "n", limit.window_ms)):
        await _age(client, "n", limit, HOUR_MS)
    assert (await admit(client, limit, "n")).allowed


@pytest.mark.parametrize(("action", "limit", "window_ms"), [("a", 0, 1), ("a", 1, 0), ("a:b", 1, 1)])
def test_a_limit_that_means_nothing_is_refused(action: str, limit: int, window_ms: int) -> None:
    with pytest.raises(ValueError, match=r"rate limit|colon"):
        RateLimit(action=action, limit=limit, window_ms=window_ms)
