"""Batches are what was waiting: one call at a time, and each item gets its own answer."""

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.runtime.batches import Batches

DEADLINE_S = 20


class Sender:
    """It writes down each batch and holds it until the test lets it go on."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.at_once = 0
        self.most_at_once = 0
        self.called = asyncio.Event()
        self.may_go_on = asyncio.Event()

    async def __call__(self, items: Sequence[int]) -> Sequence[int]:
        self.batches.append(list(items))
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        self.called.set()
        await self.may_go_on.wait()
        self.at_once -= 1
        if any(item < 0 for item in items):
            raise LookupError(f"in {list(items)}")
        return [item * 2 for item in items]


@pytest.fixture
def sender() -> Sender:
    return Sender()


def submit_all(batches: Batches[int, int], *items: int) -> list[asyncio.Task[int]]:
    return [asyncio.create_task(batches.submit(item)) for item in items]


async def held(sender: Sender, batches: Batches[int, int], *items: int) -> list[asyncio.Task[int]]:
    """Submit items, and return once the sender holds the first batch of them."""
    sender.called.clear()
    tasks = submit_all(batches, *items)
    async with asyncio.timeout(DEADLINE_S):
        await sender.called.wait()
    return tasks


async def answers_of(tasks: Sequence[asyncio.Task[int]]) -> list[int | BaseException]:
    async with asyncio.timeout(DEADLINE_S):
        return await asyncio.gather(*tasks, return_exceptions=True)


async def test_alone_an_item_goes_at_once(sender: Sender) -> None:
    sender.may_go_on.set()
    batches = Batches(sender, limit=10)
    assert [await batches.submit(item) for item in (1, 2, 3)] == [2, 4, 6]
    assert sender.batches == [[1], [2], [3]]


async def test_what_comes_in_meanwhile_goes_together_next(sender: Sender) -> None:
    batches = Batches(sender, limit=10)
    first = await held(sender, batches, 1)
    rest = submit_all(batches, 2, 3, 4)
    await asyncio.sleep(0)
    sender.may_go_on.set()

    assert await answers_of(first + rest) == [2, 4, 6, 8]
    assert sender.batches == [[1], [2, 3, 4]]


async def test_what_comes_in_one_turn_goes_together(sender: Sender) -> None:
    sender.may_go_on.set()
    batches = Batches(sender, limit=10)
    assert await answers_of(submit_all(batches, 1, 2, 3)) == [2, 4, 6]
    assert sender.batches == [[1, 2, 3]]


async def test_a_batch_is_never_over_the_limit(sender: Sender) -> None:
    sender.may_go_on.set()
    batches = Batches(sender, limit=3)
    assert await answers_of(submit_all(batches, *range(8))) == [0, 2, 4, 6, 8, 10, 12, 14]
    assert [len(batch) for batch in sender.batches] == [3, 3, 2]


async def test_one_call_at_a_time(sender: Sender) -> None:
    batches = Batches(sender, limit=1)
    tasks = await held(sender, batches, 1, 2, 3)
    sender.may_go_on.set()
    await answers_of(tasks)
    assert sender.most_at_once == 1


@given(st.lists(st.integers(0, 1000), max_size=40), st.integers(1, 7))
def test_nothing_is_lost_doubled_or_mixed_up(items: list[int], limit: int) -> None:
    async def scenario() -> None:
        sender = Sender()
        sender.may_go_on.set()
        answers = await answers_of(submit_all(Batches(sender, limit=limit), *items))
        assert answers == [item * 2 for item in items]
        assert [item for batch in sender.batches for item in batch] == items

    asyncio.run(scenario())


async def test_an_error_reaches_all_of_that_batch_and_nobody_else(sender: Sender) -> None:
    batches = Batches(sender, limit=2)
    tasks = await held(sender, batches, 1, 2, 3, -4, 5)
    sender.may_go_on.set()

    one, two, three, four, five = await answers_of(tasks)

    assert (one, two, five) == (2, 4, 10)
    assert isinstance(three, LookupError)
    assert isinstance(four, LookupError)
    assert await batches.submit(6) == 12


async def test_one_who_gives_up_waiting_hurts_nobody(sender: Sender) -> None:
    batches = Batches(sender, limit=10)
    first = await held(sender, batches, 1, 2)
    waiting = submit_all(batches, 3, 4)
    await asyncio.sleep(0)
    for gone in (first[0], waiting[0]):
        gone.cancel()
    sender.may_go_on.set()

    assert await answers_of([first[1], waiting[1]]) == [4, 8]
    for gone in (first[0], waiting[0]):
        with pytest.raises(asyncio.CancelledError):
            await gone
    assert await batches.submit(5) == 10


@pytest.mark.parametrize("answers", [[], [1], [1, 2, 3]])
async def test_a_sender_that_answers_too_few_or_too_many_fails_its_callers(answers: list[int]) -> None:
    async def wrong(_: Sequence[int]) -> Sequence[int]:
        return answers

    batches: Batches[int, int] = Batches(wrong, limit=10)
    for answer in await answers_of(submit_all(batches, 1, 2)):
        assert isinstance(answer, ValueError)
