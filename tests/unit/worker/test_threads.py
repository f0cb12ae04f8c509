"""Calls in threads: as many at a time as there are places, whatever becomes of some of them."""

import asyncio
import threading
from collections.abc import Callable
from contextvars import ContextVar

import pytest

from shoal.worker.threads import Threads

DEADLINE_S = 20.0


class Meter:
    """How many of its calls run at the same time; they end when they are let go."""

    def __init__(self) -> None:
        self.running = 0
        self.most = 0
        self.begun = threading.Semaphore(0)
        self.let_go = threading.Event()
        self._lock = threading.Lock()

    def call(self) -> None:
        with self._lock:
            self.running += 1
            self.most = max(self.most, self.running)
        self.begun.release()
        self.let_go.wait(DEADLINE_S)
        with self._lock:
            self.running -= 1

    async def has_begun(self, count: int) -> None:
        for _ in range(count):
            assert await asyncio.to_thread(self.begun.acquire, timeout=DEADLINE_S)


async def test_the_result_or_the_error_comes_back() -> None:
    threads = Threads(2)
    assert await threads.run(lambda a, b: a + b, [1, 2]) == 3
    with pytest.raises(ZeroDivisionError):
        await threads.run(lambda: 1 // 0, [])
    with pytest.raises(SystemExit):
        await threads.run(exit_process, [])


def exit_process() -> None:
    raise SystemExit(3)


async def test_a_call_sees_the_context_of_its_caller() -> None:
    name: ContextVar[str] = ContextVar("name")
    name.set("Ada")
    assert await Threads(1).run(name.get, []) == "Ada"


async def test_calls_wait_in_line_for_a_free_thread() -> None:
    threads, meter = Threads(3), Meter()
    calls = [asyncio.create_task(threads.run(meter.call, [])) for _ in range(10)]
    await meter.has_begun(3)
    meter.let_go.set()
    await asyncio.gather(*calls)
    assert meter.most == 3


async def test_threads_are_used_again() -> None:
    threads = Threads(4)
    names = {await threads.run(threading.get_ident, []) for _ in range(20)}
    assert len(names) == 1


async def test_one_that_is_given_up_leaves_its_place_to_another() -> None:
    threads, stuck = Threads(1), Meter()
    call = asyncio.create_task(threads.run(stuck.call, []))
    await stuck.has_begun(1)
    behind = asyncio.create_task(threads.run(lambda: "done", []))
    call.cancel()
    async with asyncio.timeout(DEADLINE_S):
        assert await behind == "done"
    stuck.let_go.set()
    async with asyncio.timeout(DEADLINE_S):
        await both_are_back(threads)

    meter = Meter()
    calls = [asyncio.create_task(threads.run(meter.call, [])) for _ in range(4)]
    await meter.has_begun(1)
    meter.let_go.set()
    await asyncio.gather(*calls)


async def both_are_back(threads: Threads) -> None:
    """The thread that was given up works again: two calls can be under way."""
    met = threading.Barrier(2)
    while True:
        pair = [asyncio.create_task(threads.run(meets(met), [])) for _ in range(2)]
        if all(await asyncio.gather(*pair)):
            return
        met.reset()


def meets(barrier: threading.Barrier) -> Callable[[], bool]:
    def meet() -> bool:
        try:
            barrier.wait(0.5)
        except threading.BrokenBarrierError:
            return False
        return True

    return meet


async def test_one_that_is_cancelled_in_the_line_never_runs() -> None:
    threads, meter = Threads(1), Meter()
    ran: list[int] = []
    first = asyncio.create_task(threads.run(meter.call, []))
    await meter.has_begun(1)
    calls = [asyncio.create_task(threads.run(ran.append, [number])) for number in range(3)]
    await asyncio.sleep(0)  # they stand in line now
    calls[1].cancel()
    meter.let_go.set()
    await asyncio.gather(first, *calls, return_exceptions=True)
    assert ran == [0, 2]


async def test_no_result_is_lost_however_many_end_at_once() -> None:
    threads = Threads(8)
    async with asyncio.timeout(DEADLINE_S):
        results = await asyncio.gather(*(threads.run(int, [number]) for number in range(5000)))
    assert results == list(range(5000))
