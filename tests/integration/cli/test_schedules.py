"""Schedules from the command line, on ``shoal up`` as people run it."""

import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from .shoal_command import Shoal, refused

DEADLINE_S = 20.0


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_a_schedule_runs_by_itself_is_paused_and_goes(shoal: Shoal) -> None:
    shoal.up("--app", "examples.digest:app")
    added = shoal.json(
        "schedule", "add", "tick", "--every", "1 second", "--event", "user.tick", "--data", '{"a": 1}'
    )
    assert (added["status"], added["frequencyUnit"], added["frequencyTime"]) == ("active", "SECONDS", 1)

    wait_for(lambda: len(shoal.json("schedule", "history", "tick")["runs"]) >= 3)

    paused = shoal.json("schedule", "pause", "tick", "--reason", "Enough.")
    assert (paused["status"], paused["pauseReason"]) == ("paused", "Enough.")
    runs = shoal.json("schedule", "history", "tick", "--limit", "1000")["runs"]
    moments = [run["fireAt"] for run in runs]
    assert len(set(moments)) == len(moments) == shoal.json("schedule", "show", "tick")["runs"]
    assert shoal.ok("schedule", "run", "tick") == "1 new runs\n"
    again = ("schedule", "run", "tick", "--at", "2026-01-01T00:00:00Z", "--json")
    assert [shoal.ok(*again), shoal.ok(*again)] == ['{"runs":1}\n', '{"runs":0}\n']
    assert shoal.json("schedule", "resume", "tick")["status"] == "active"
    assert "tick" in shoal.ok("schedule", "list")
    assert shoal.ok("schedule", "delete", "tick", "--yes") == "deleted tick\n"
    refused(shoal.run("schedule", "show", "tick"), code="schedule_not_found", exit_code=3)


def test_a_run_starts_a_job_of_its_owner_that_completes(shoal: Shoal) -> None:
    shoal.up("--app", "examples.digest:app")
    wait_for(lambda: shoal.run("schedule", "apply", "examples.digest:app").returncode == 0)

    assert shoal.ok("schedule", "run", "weekly digest") == "1 new runs\n"

    wait_for(lambda: shoal.json("schedule", "history", "weekly digest")["runs"][0]["outcome"] == "started")
    (run,) = shoal.json("schedule", "history", "weekly digest")["runs"]
    wait_for(lambda: shoal.json("job", "show", run["jobId"])["status"] == "complete")
    assert shoal.json("job", "show", run["jobId"])["result"] == "the last week"


def test_what_an_app_declares_is_applied_and_applied_again_changes_nothing(shoal: Shoal) -> None:
    shoal.up("--app", "examples.digest:app")

    wait_for(lambda: shoal.run("schedule", "apply", "examples.digest:app").returncode == 0)
    first = shoal.json("schedule", "apply", "examples.digest:app")["schedules"]
    second = shoal.json("schedule", "apply", "examples.digest:app")["schedules"]

    assert {one["name"]: one["job"]["params"] for one in first} == {
        "weekly digest": {"of": "the last week"},
        "minutely digest": {},
    }
    assert [one["id"] for one in second] == [one["id"] for one in first]
    assert [one["version"] for one in second] == [1, 1]
    by_cron = shoal.ok("schedule", "show", "weekly digest")
    assert "0 9 * * 1 on the clock of Europe/Berlin" in by_cron
    assert by_cron.count("next ") == 5
    filled = shoal.json("schedule", "backfill", "minutely digest", "--from", "2020-01-01T00:00:00Z")
    assert filled["runs"] <= 1  # it did not exist then


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["schedule", "preview", "0 0 30 2 *"], "cron_never_matches"),
        (["schedule", "preview", "0 9 * * 1", "--tz", "Mars/Olympus"], "unknown_time_zone"),
        (["schedule", "preview", "--every", "0 minutes"], "invalid_frequency"),
        (["schedule", "preview", "--every", "5 fortnights"], "invalid_frequency"),
        (["schedule", "preview"], "frequency_missing"),
        (["schedule", "preview", "* * * * *", "--start", "2026-02-30T00:00:00Z"], "invalid_request"),
        (["schedule", "apply", "examples.hello:app"], "no_schedules_declared"),
    ],
    ids=lambda one: one if isinstance(one, str) else None,
)
def test_what_cannot_be_is_refused_without_anything_that_runs(arguments: list[str], code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "shoal", *arguments], capture_output=True, text=True, check=False
    )
    refused(done, code=code, exit_code=2)


def test_the_next_mondays_at_nine_are_on_the_clock_of_the_zone() -> None:
    command = ["schedule", "preview", "0 9 * * 1", "--tz", "Europe/Berlin", "-n", "10"]
    done = subprocess.run(
        [sys.executable, "-m", "shoal", *command], capture_output=True, text=True, check=True
    )

    lines = done.stdout.splitlines()
    assert len(lines) == 10
    assert all(line.startswith("Mon ") and " 09:00:00+0" in line for line in lines)
