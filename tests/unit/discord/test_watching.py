"""Messages with live progress: how many, and for how long."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from shoal.discord import watching
from shoal.discord.embeds import Embed
from shoal.discord.watching import FOLLOWED_FOR_S, LET_GO, MOST_OF_ONE, Watching
from shoal.runtime.errors import NotFound
from shoal.wire.jobs import JobView, Progress

AT = datetime(2026, 1, 2, tzinfo=UTC)
ANN, BOB = 1, 2


class MovedClock:
    def __init__(self) -> None:
        self.passed_s = 0.0

    def monotonic(self) -> float:
        return self.passed_s

    def now(self) -> datetime:
        return AT + timedelta(seconds=self.passed_s)


class Answer:
    def __init__(self, *, accepted: int = 10**9) -> None:
        self.shown: list[Embed] = []
        self.accepted = accepted

    async def edit(self, embed: Embed) -> bool:
        self.shown.append(embed)
        return len(self.shown) <= self.accepted


class Job:
    """Goes on by a percent at each look."""

    def __init__(self, ends_at: int = 10**9) -> None:
        self.looks = 0
        self.ends_at = ends_at
        self.gone = False

    async def read(self) -> JobView:
        if self.gone:
            raise NotFound("job_not_found", "There is no job.")
        self.looks += 1
        return self.view("complete" if self.looks >= self.ends_at else "processing")

    def view(self, status: Any = "processing") -> JobView:
        progress = Progress(min(self.looks, 100), "drawing", self.looks, 10**9, "")
        return JobView(
            id=UUID(int=7),
            type="book",
            status=status,
            progress=progress,
            error=None,
            priority=0,
            unique_key=None,
            created_at=AT,
            started_at=AT,
            finished_at=None,
            params={},
            result=None,
            artifacts=[],
        )


@pytest.fixture(autouse=True)
def _without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "next_edit_s", lambda _: 0.0)


async def turns(count: int = 50) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_it_ends_with_the_job() -> None:
    here, answer, job = Watching(MovedClock()), Answer(), Job(ends_at=5)
    here.follow(ANN, job.view(), answer, job.read)
    await turns()
    assert [one["fields"][0]["value"] for one in answer.shown] == ["processing"] * 4 + ["complete"]
    assert here.count == 0

    here.follow(ANN, job.view("complete"), answer, job.read)
    assert here.count == 0


async def test_before_the_right_to_edit_ends_it_says_so_and_lets_go() -> None:
    clock, answer, job = MovedClock(), Answer(), Job()
    here = Watching(clock)
    here.follow(ANN, job.view(), answer, job.read)
    await turns()
    assert here.count == 1
    clock.passed_s = FOLLOWED_FOR_S
    await turns()
    assert here.count == 0
    assert answer.shown[-1]["footer"]["text"].endswith(LET_GO)


async def test_a_message_that_was_deleted_and_a_job_that_is_gone_are_let_go() -> None:
    here, answer, job = Watching(MovedClock()), Answer(accepted=2), Job()
    here.follow(ANN, job.view(), answer, job.read)
    await turns()
    assert (here.count, len(answer.shown)) == (0, 3)

    other = Answer()
    here.follow(ANN, job.view(), other, job.read)
    job.gone = True
    await turns()
    assert here.count == 0


async def test_who_asks_for_many_has_the_oldest_let_go_and_nobody_elses() -> None:
    here, job = Watching(MovedClock()), Job()
    answers = [Answer() for _ in range(MOST_OF_ONE + 2)]
    others = Answer()
    here.follow(BOB, job.view(), others, job.read)
    for answer in answers:
        here.follow(ANN, job.view(), answer, job.read)
        await turns()
    assert here.count == MOST_OF_ONE + 1
    before = [len(answer.shown) for answer in answers]
    seen = len(others.shown)
    await turns()
    after = [len(answer.shown) for answer in answers]
    assert [new > old for new, old in zip(after, before, strict=True)] == [False, False, True, True, True]
    assert len(others.shown) > seen

    await here.stop()
    assert here.count == 0
