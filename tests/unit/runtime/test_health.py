"""Health: who can be reached now, asked side by side."""

import asyncio

import pytest

from shoal.runtime import health
from shoal.runtime.errors import Unavailable
from shoal.runtime.health import check_all


async def reachable() -> None:
    pass


async def refused() -> None:
    raise ConnectionRefusedError


async def explained() -> None:
    raise Unavailable("redis_unreachable", "It does not answer.")


async def silent() -> None:
    await asyncio.Event().wait()


async def test_each_is_connected_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "TIMEOUT_S", 0.05)
    checks = {"a": reachable, "b": refused, "c": explained, "d": silent, "e": reachable}

    assert await check_all(checks) == {
        "a": "connected",
        "b": "disconnected",
        "c": "disconnected",
        "d": "disconnected",
        "e": "connected",
    }


async def test_nothing_to_check_is_nothing_wrong() -> None:
    assert await check_all({}) == {}


async def test_they_are_asked_side_by_side() -> None:
    """Each waits for the other, which in turn would take for ever."""
    first, second = asyncio.Event(), asyncio.Event()

    async def one() -> None:
        first.set()
        await second.wait()

    async def other() -> None:
        second.set()
        await first.wait()

    assert await check_all({"one": one, "other": other}) == {"one": "connected", "other": "connected"}


async def test_asking_can_be_given_up() -> None:
    asking = asyncio.create_task(check_all({"d": silent}))
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
