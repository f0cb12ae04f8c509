"""What a running task says about itself."""

from pathlib import Path
from uuid import UUID

import pytest

from shoal.app.context import Context
from shoal.app.failures import LONGEST_PAUSE_S, PermanentFailure, RetryAfter, Snooze


@pytest.fixture
def context() -> Context:
    return Context(
        job_id=UUID(int=1),
        task_id=UUID(int=2),
        name="render",
        attempt=1,
        max_attempts=3,
        input={"page": 1},
        needs={},
    )


@pytest.mark.parametrize(
    ("said", "kept"), [(0.25, 0.25), (1, 1.0), (-1, 0.0), (7, 1.0), (float("inf"), 1.0), (float("nan"), 0.0)]
)
def test_progress_stays_between_nothing_and_all(context: Context, said: float, kept: float) -> None:
    context.progress(said, "on page 3")
    assert (context.fraction, context.message) == (kept, "on page 3")


def test_artifacts_wait_in_the_order_they_were_made(context: Context, tmp_path: Path) -> None:
    context.artifact("a.txt", "words ü", type="text", content_type="text/plain")
    context.artifact("b.bin", b"\0\1", type="data")
    context.artifact("c.mp3", tmp_path / "c.mp3", type="audio", duration_seconds=1.5)

    first, second, third = context.artifacts
    assert (first.name, first.source, first.content_type) == ("a.txt", "words ü".encode(), "text/plain")
    assert (second.source, second.content_type, second.type) == (b"\0\1", "application/octet-stream", "data")
    assert (third.source, third.duration_seconds) == (tmp_path / "c.mp3", 1.5)


def test_what_a_task_does_not_ask_for_is_not_made(context: Context) -> None:
    assert not context.used("workdir")
    assert not context.used("log")

    folder = context.workdir
    try:
        assert list(folder.iterdir()) == []
        assert context.workdir == folder
        assert context.used("workdir")
    finally:
        folder.rmdir()


def test_failures_say_what_they_mean() -> None:
    assert RetryAfter(2.5).seconds == 2.5
    assert "2.5" in str(RetryAfter(2.5))
    assert str(RetryAfter(1, "the printer is busy")) == "the printer is busy"
    assert str(PermanentFailure("no such page")) == "no such page"


@pytest.mark.parametrize("failure", [RetryAfter, Snooze])
@pytest.mark.parametrize(
    ("asked", "kept"),
    [(0.5, 0.5), (-1, 0.0), (float("nan"), 0.0), (float("inf"), LONGEST_PAUSE_S), (1e300, LONGEST_PAUSE_S)],
)
def test_a_pause_is_one_that_can_be_kept(
    failure: type[RetryAfter] | type[Snooze], asked: float, kept: float
) -> None:
    assert failure(asked).seconds == kept
