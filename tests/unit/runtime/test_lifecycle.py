"""The life cycle: in order up, in reverse down, and a failure takes everything with it."""

import asyncio
import os
import signal
from collections.abc import Sequence

import pytest

from shoal.runtime import lifecycle
from shoal.runtime.lifecycle import Part, run_parts

DEADLINE_S = 20


class Told(Part):
    """A part that writes down what happens to it, and does what the test says."""

    def __init__(self, name: str, story: list[str]) -> None:
        self.name = name
        self.story = story
        self.ending = asyncio.Event()
        self.ended = asyncio.Event()

    def tell(self, what: str) -> None:
        self.story.append(f"{self.name} {what}")

    async def start(self) -> None:
        self.tell("starts")

    async def run(self) -> None:
        try:
            await self.ending.wait()
        except asyncio.CancelledError:
            self.tell("is cancelled")
            raise
        self.tell("ends")
        self.ended.set()

    async def stop(self) -> None:
        self.tell("is stopped")
        self.ending.set()


class FailsToStart(Told):
    async def start(self) -> None:
        self.tell("fails")
        raise ConnectionRefusedError("not today")


class Fails(Told):
    """Its run fails when ``ending`` is set; with ``at_once``, by itself."""

    at_once = True

    async def run(self) -> None:
        if not self.at_once:
            await self.ending.wait()
        self.tell("fails")
        raise LookupError(self.name)


class FailsToStop(Told):
    async def stop(self) -> None:
        self.tell("fails to stop")
        raise LookupError(self.name)


class Deaf(Told):
    """It does not end when it is stopped."""

    async def stop(self) -> None:
        self.tell("is stopped")


class Stubborn(Told):
    """It does not even end when it is cancelled, until the test lets it."""

    async def run(self) -> None:
        while not self.ending.is_set():
            try:
                await self.ending.wait()
            except asyncio.CancelledError:
                self.tell("is cancelled")

    async def stop(self) -> None:
        self.tell("is stopped")


@pytest.fixture
def story() -> list[str]:
    return []


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle, "LEAST_GRACE_S", 0.05)


async def run_until_started(parts: Sequence[Part], *, grace_s: float = DEADLINE_S) -> None:
    """Start the parts and ask for the end as soon as all of them run."""
    ending = asyncio.Event()
    async with asyncio.timeout(DEADLINE_S):
        await run_parts(parts, grace_s=grace_s, until=ending, on_started=ending.set)


async def test_parts_start_in_order_and_stop_in_reverse_each_before_the_next(story: list[str]) -> None:
    await run_until_started([Told("a", story), Told("b", story), Told("c", story)])

    up = ["a starts", "b starts", "c starts"]
    down = ["c is stopped", "c ends", "b is stopped", "b ends", "a is stopped", "a ends"]
    assert story == up + down


async def test_everything_is_ready_when_the_start_is_told(story: list[str]) -> None:
    ending = asyncio.Event()

    def on_started() -> None:
        story.append("started")
        ending.set()

    await run_parts([Told("a", story), Told("b", story)], grace_s=1, until=ending, on_started=on_started)

    assert story[:3] == ["a starts", "b starts", "started"]


async def test_no_parts_at_all_wait_for_the_end() -> None:
    await run_until_started([])


async def test_a_part_that_cannot_start_stops_those_before_it(story: list[str]) -> None:
    parts = [Told("a", story), Told("b", story), FailsToStart("c", story), Told("d", story)]
    with pytest.raises(ConnectionRefusedError, match="not today"):
        await run_until_started(parts)

    assert story == [
        "a starts",
        "b starts",
        "c fails",
        "c is stopped",  # it may have opened something before it failed
        "b is stopped",
        "b ends",
        "a is stopped",
        "a ends",
    ]


async def test_a_run_that_fails_ends_everything_with_that_error(story: list[str]) -> None:
    parts: list[Part] = [Told("a", story), Fails("b", story), Told("c", story)]
    async with asyncio.timeout(DEADLINE_S):
        with pytest.raises(LookupError, match="b"):
            await run_parts(parts, grace_s=DEADLINE_S)

    assert [line for line in story if line.endswith("stopped")] == [
        "c is stopped",
        "b is stopped",
        "a is stopped",
    ]
    assert {"c ends", "a ends"} <= set(story)


async def test_of_several_failures_the_first_is_told(story: list[str]) -> None:
    """What fails while everything stops is what the first failure brought about."""
    later = Fails("a", story)
    later.at_once = False
    async with asyncio.timeout(DEADLINE_S):
        with pytest.raises(LookupError, match="b"):
            await run_parts([later, Fails("b", story)], grace_s=DEADLINE_S)
    assert story[-1] == "a fails"


async def test_a_failure_while_stopping_is_told(story: list[str]) -> None:
    part = Fails("a", story)
    part.at_once = False
    with pytest.raises(LookupError, match="a"):
        await run_until_started([part])


async def test_a_run_that_just_returns_ends_nothing(story: list[str]) -> None:
    brief, lasting = Told("brief", story), Told("lasting", story)
    brief.ending.set()
    ending = asyncio.Event()
    running = asyncio.create_task(run_parts([brief, lasting], grace_s=DEADLINE_S, until=ending))
    async with asyncio.timeout(DEADLINE_S):
        await brief.ended.wait()
    assert not running.done()
    ending.set()
    await running
    assert "lasting ends" in story


async def test_what_does_not_end_within_the_grace_period_is_cancelled(story: list[str]) -> None:
    await run_until_started([Told("a", story), Deaf("b", story)], grace_s=0)

    assert story == ["a starts", "b starts", "b is stopped", "b is cancelled", "a is stopped", "a ends"]


async def test_a_part_that_comes_late_still_gets_a_moment(story: list[str]) -> None:
    """The grace period is everybody's; the one that used it up does not take it from the next."""
    await run_until_started([Told("late", story), Deaf("greedy", story)], grace_s=0.01)

    assert story[-2:] == ["late is stopped", "late ends"]


async def test_what_cannot_even_be_cancelled_does_not_hold_up_the_others(story: list[str]) -> None:
    stubborn = Stubborn("b", story)
    try:
        await run_until_started([Told("a", story), stubborn], grace_s=0)
    finally:
        stubborn.ending.set()

    assert story == ["a starts", "b starts", "b is stopped", "b is cancelled", "a is stopped", "a ends"]


async def test_a_part_that_fails_to_stop_does_not_keep_the_others_from_it(story: list[str]) -> None:
    await run_until_started([Told("a", story), FailsToStop("b", story)])

    assert story[-2:] == ["a is stopped", "a ends"]
    assert "b" not in {task.get_name() for task in asyncio.all_tasks()}


async def test_asking_for_the_end_while_parts_start_ends_it_after_the_one_that_starts(
    story: list[str],
) -> None:
    ending = asyncio.Event()

    class Asks(Told):
        async def start(self) -> None:
            await super().start()
            ending.set()

    await run_parts([Asks("a", story), Told("b", story)], grace_s=1, until=ending, on_started=pytest.fail)

    assert story == ["a starts", "a is stopped", "a ends"]


async def test_being_cancelled_stops_the_parts(story: list[str]) -> None:
    started = asyncio.Event()
    running = asyncio.create_task(run_parts([Told("a", story)], grace_s=DEADLINE_S, on_started=started.set))
    await started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert story == ["a starts", "a is stopped", "a ends"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_asks_for_an_orderly_end(story: list[str], number: signal.Signals) -> None:
    async with asyncio.timeout(DEADLINE_S):
        await run_parts(
            [Told("a", story)], grace_s=DEADLINE_S, on_started=lambda: os.kill(os.getpid(), number)
        )

    assert story == ["a starts", "a is stopped", "a ends"]
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    assert signal.getsignal(signal.SIGINT) == signal.default_int_handler


async def test_a_part_needs_to_be_nothing_in_particular() -> None:
    part = Part()
    await part.stop()
    await run_until_started([part])
    await part.stop()
