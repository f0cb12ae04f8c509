"""What a process writes to stderr: one form for our lines and for those of the libraries we use."""

import json
import os
import pty
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

# Logs are configured for a whole process, so each test has one.
BEGINNING = """
import asyncio, logging, sys
import structlog
from shoal.runtime.logs import LogSettings, bound, configure_logs
log = structlog.get_logger("shoal.sample")
"""


def run(program: str, **settings: str) -> list[str]:
    arguments = ", ".join(f"{name}={value!r}" for name, value in settings.items())
    ran = subprocess.run(
        [sys.executable, "-c", f"{BEGINNING}\nconfigure_logs(LogSettings({arguments}))\n{program}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout == ""
    return ran.stderr.splitlines()


def run_json(program: str, **settings: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run(program, log_format="json", **settings)]


def test_a_line_is_one_object_with_time_level_logger_and_what_was_said() -> None:
    (line,) = run_json("log.info('task done', count=3, note='a\\nb')")

    assert (line["message"], line["level"], line["logger"]) == ("task done", "info", "shoal.sample")
    assert (line["count"], line["note"]) == (3, "a\nb")
    written = datetime.fromisoformat(line["timestamp"])
    assert timedelta(0) <= datetime.now(UTC) - written < timedelta(minutes=1)


def test_without_a_terminal_lines_are_json() -> None:
    (line,) = run("log.info('hello')")
    assert json.loads(line)["message"] == "hello"


def test_a_library_writes_in_the_same_form() -> None:
    (line,) = run_json("logging.getLogger('library').warning('%s of %d', 'one', 2, extra={'more': 1})")

    assert (line["message"], line["level"], line["logger"]) == ("one of 2", "warning", "library")
    assert line["more"] == 1
    assert "timestamp" in line


def test_ids_that_are_bound_stand_on_every_line_below_also_on_those_of_libraries() -> None:
    lines = run_json(
        """
def work():
    log.info("ours")
    logging.getLogger("library").info("theirs")

with bound(job_id="j1"):
    with bound(task_id="t1"):
        work()
    log.info("between")
log.info("after")
"""
    )
    ids = [(line["message"], line.get("job_id"), line.get("task_id")) for line in lines]
    assert ids == [
        ("ours", "j1", "t1"),
        ("theirs", "j1", "t1"),
        ("between", "j1", None),
        ("after", None, None),
    ]


def test_ids_follow_into_threads_and_not_into_other_tasks() -> None:
    lines = run_json(
        """
async def work(name, bound_first, gate):
    with bound(task_id=name):
        bound_first.set()
        await gate.wait()
        await asyncio.to_thread(log.info, name)

async def main():
    gates = [asyncio.Event() for _ in range(3)]
    async with asyncio.TaskGroup() as group:
        group.create_task(work("one", gates[0], gates[1]))
        await gates[0].wait()
        group.create_task(work("two", gates[1], gates[0]))

asyncio.run(main())
"""
    )
    assert {(line["message"], line["task_id"]) for line in lines} == {("one", "one"), ("two", "two")}


def test_an_error_brings_its_traceback_on_the_same_line() -> None:
    lines = run_json(
        """
for one in (log, logging.getLogger("library")):
    try:
        1 / 0
    except ZeroDivisionError:
        one.exception("failed")
"""
    )
    assert [line["level"] for line in lines] == ["error", "error"]
    for line in lines:
        assert "ZeroDivisionError" in line["exception"]


def test_what_json_does_not_know_is_written_as_text() -> None:
    (line,) = run_json(
        "import decimal, pathlib, uuid\n"
        "log.info('x', path=pathlib.Path('a/b'), id=uuid.UUID(int=1), odd=object, price=decimal.Decimal(2))"
    )
    assert line["path"] == "a/b"
    assert line["id"] == "00000000-0000-0000-0000-000000000001"
    assert "object" in line["odd"]
    assert line["price"] == "2"


@pytest.mark.parametrize(
    ("level", "written"),
    [
        ("debug", ["debug", "info", "warning", "error"]),
        ("info", ["info", "warning", "error"]),
        ("warning", ["warning", "error"]),
        ("error", ["error"]),
    ],
)
def test_what_is_less_serious_is_left_out(level: str, written: list[str]) -> None:
    program = "for one in ('debug', 'info', 'warning', 'error'): getattr(log, one)(one)\n"
    library = program.replace("(log,", "(logging.getLogger('library'),")
    lines = run_json(program + library, log_level=level)
    assert [line["message"] for line in lines] == written * 2


def test_chatty_libraries_are_heard_from_warnings_on() -> None:
    lines = run_json(
        "for name in ('httpx', 'asyncio'):\n"
        "    logging.getLogger(name).info('chat')\n"
        "    logging.getLogger(name).warning('trouble')",
        log_level="debug",
    )
    assert [(line["logger"], line["message"]) for line in lines] == [
        ("httpx", "trouble"),
        ("asyncio", "trouble"),
    ]


def test_configuring_again_does_not_double_lines() -> None:
    assert len(run_json("configure_logs(LogSettings(log_format='json'))\nlog.info('once')")) == 1


def test_a_logger_made_before_the_configuration_obeys_it() -> None:
    """``log = structlog.get_logger(__name__)`` stands at the top of our modules."""
    (line,) = run_json("log.debug('no')\nlog.info('yes')")
    assert line["message"] == "yes"


def test_on_a_terminal_lines_are_for_people() -> None:
    ours, theirs = pty.openpty()
    program = f"{BEGINNING}\nconfigure_logs(LogSettings())\nlog.info('task done', count=3)"
    subprocess.run([sys.executable, "-c", program], stderr=theirs, check=True)
    os.close(theirs)
    shown = os.read(ours, 65536).decode()
    os.close(ours)

    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert plain != shown  # it has colours
    assert "task done" in plain
    assert "count=3" in plain
    with pytest.raises(json.JSONDecodeError):
        json.loads(plain)


def test_pretty_into_a_file_has_no_colours() -> None:
    (line,) = run("log.info('task done')", log_format="pretty")
    assert "task done" in line
    assert "\x1b" not in line
