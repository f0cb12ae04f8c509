"""Blocking work is over before anybody hears of its cancellation."""

import asyncio
import threading

import pytest

from shoal.vault.threads import in_thread


async def test_it_returns_and_raises_what_the_work_does() -> None:
    assert await in_thread(max, 1, 2) == 2
    with pytest.raises(ZeroDivisionError):
        await in_thread(divmod, 1, 0)


@pytest.mark.parametrize("fails", [False, True])
async def test_a_cancelled_caller_waits_until_the_thread_is_through(*, fails: bool) -> None:
    begun, go_on = threading.Event(), threading.Event()
    ended = False

    def work() -> None:
        nonlocal ended
        begun.set()
        go_on.wait(10)
        ended = True
        if fails:
            raise OSError("gives way to the cancellation")

    task = asyncio.create_task(in_thread(work))
    await asyncio.to_thread(begun.wait, 10)
    for _ in range(2):
        task.cancel()
        await asyncio.wait({task}, timeout=0.02)
        assert not task.done(), "the thread is still at work"
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended
