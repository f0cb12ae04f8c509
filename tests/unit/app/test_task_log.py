"""The lines of a task wait for the worker, the newest of too many."""

from datetime import UTC, datetime, timedelta

import pytest
from structlog.testing import capture_logs

from shoal.app.task_log import MOST_LINES_WAITING, TaskLog


@pytest.fixture
def log() -> TaskLog:
    return TaskLog(job_id="j", task_id="t")


@pytest.mark.parametrize("level", ["debug", "info", "warning", "error"])
def test_a_line_waits_with_its_level_its_time_and_its_fields(log: TaskLog, level: str) -> None:
    with capture_logs() as written:
        getattr(log, level)("rendered", pages=3, name="a b")

    (line,) = log.take()
    assert (line.level, line.text) == (level, "rendered pages=3 name=a b")
    assert timedelta(0) <= datetime.now(UTC) - line.at < timedelta(minutes=1)
    assert written == [
        {
            "event": "rendered",
            "log_level": level,
            "pages": 3,
            "name": "a b",
            "job_id": "j",
            "task_id": "t",
        }
    ]


def test_lines_are_taken_once_and_in_order(log: TaskLog) -> None:
    with capture_logs():
        for number in range(3):
            log.info("line", number=number)
        assert [line.text for line in log.take()] == ["line number=0", "line number=1", "line number=2"]
        assert log.take() == []
        log.info("later")
    assert [line.text for line in log.take()] == ["later"]


def test_of_too_many_lines_the_newest_are_kept(log: TaskLog) -> None:
    with capture_logs():
        for number in range(MOST_LINES_WAITING + 2):
            log.debug(str(number))
    lines = log.take()
    assert len(lines) == MOST_LINES_WAITING
    assert (lines[0].text, lines[-1].text) == ("2", str(MOST_LINES_WAITING + 1))


def test_lines_that_were_given_back_come_before_those_written_since(log: TaskLog) -> None:
    log.info("one")
    log.info("two")
    taken = log.take()
    log.info("three")
    log.give_back(taken)
    assert [line.text for line in log.take()] == ["one", "two", "three"]


def test_what_is_given_back_pushes_nothing_newer_out(log: TaskLog) -> None:
    log.info("old")
    log.info("less old")
    taken = log.take()
    for number in range(MOST_LINES_WAITING - 1):
        log.info(str(number))
    log.give_back(taken)
    texts = [line.text for line in log.take()]
    assert texts == ["less old", *map(str, range(MOST_LINES_WAITING - 1))]
