"""Intervening in jobs from the command line and the API, on the real thing."""

import json
import textwrap

import httpx
import pytest

from .shoal_command import Shoal

APP = """
import asyncio

from shoal import App, Context, Graph

app = App()


@app.task("wait", retries=0)
async def wait(context: Context, seconds: float) -> None:
    context.log.info("waiting", seconds=seconds)
    context.progress(0.5, "half way")
    await asyncio.sleep(seconds)


@app.task("fail_once", retries=0)
def fail_once(context: Context, mark: str) -> str:
    from pathlib import Path

    if not Path(mark).exists():
        Path(mark).touch()
        raise RuntimeError("the first time it fails")
    return "done"


@app.task("after")
def after(context: Context) -> list[str]:
    return sorted(context.needs)


@app.job("control", phases={"work": 80, "end": 20})
def control(params: dict) -> Graph:
    graph = Graph()
    first = graph.add(wait, params.get("seconds", 0.0), phase="work")
    needed = [first]
    if "mark" in params:
        needed.append(graph.add(fail_once, params["mark"], phase="work"))
    graph.add(after, needs=needed, phase="end")
    return graph
"""


@pytest.fixture
def running(shoal: Shoal) -> Shoal:
    """An ``up`` with the app above, which lies in the folder the command is run in."""
    folder = shoal.data_dir.parent / "apps"
    folder.mkdir()
    (folder / "control_app.py").write_text(textwrap.dedent(APP))
    shoal.environment["PYTHONPATH"] = str(folder)
    shoal.up("--app", "control_app:app")
    return shoal


def start(shoal: Shoal, **params: object) -> str:
    job: str = shoal.json("job", "start", "control", "--params", json.dumps(params))["id"]
    return job


def states(shoal: Shoal, job: str) -> dict[str, str]:
    return {task["name"]: task["status"] for task in shoal.json("job", "tasks", job)["tasks"]}


def test_cancelling_ends_a_job_and_its_tasks_for_good(running: Shoal) -> None:
    job = start(running, seconds=600)
    while states(running, job).get("wait") != "claimed":
        pass
    cancelled = running.json("job", "cancel", job, "--reason", "changed my mind")
    assert (cancelled["status"], cancelled["error"]) == ("cancelled", "changed my mind")
    assert states(running, job) == {"plan": "complete", "wait": "cancelled", "after": "cancelled"}
    # The worker is free again at once: the next job does not wait for the ten minutes.
    assert running.json("job", "start", "control", "--watch")["status"] == "complete"
    assert running.json("job", "cancel", job)["error"] == "changed my mind"


def test_a_failed_job_can_be_tried_again(running: Shoal) -> None:
    job = start(running, mark=str(running.data_dir.parent / "mark"))
    assert running.run("job", "watch", job).returncode == 1
    assert states(running, job)["after"] == "failed"
    running.ok("job", "retry", job)
    again = running.json("job", "watch", job)
    assert (again["status"], again["result"]) == ("complete", ["fail_once", "wait"])
    done = running.run("job", "retry", job)
    assert done.returncode == 5
    assert "(nothing_to_retry)" in done.stderr


def test_logs_can_be_followed_to_the_end(running: Shoal) -> None:
    job = start(running, seconds=1)
    assert "waiting seconds=1" in running.ok("job", "logs", job, "--follow")


def test_a_repeated_start_returns_the_same_job(running: Shoal) -> None:
    url = running.json("config", "show")
    api = next(row["value"] for row in url if row["name"] == "api_url")
    key = running.json("key", "issue", "backend")["key"]
    headers = {"Authorization": f"Bearer {key}", "Idempotency-Key": "order-17"}
    owner = "11111111-1111-4111-8111-111111111111"
    request = {"type": "control", "params": {}, "userId": owner}
    with httpx.Client(base_url=api, headers=headers, trust_env=False) as client:
        first = client.post("/api/jobs/start", json=request)
        assert first.status_code == 201
        assert client.post("/api/jobs/start", json=request).json()["id"] == first.json()["id"]
        other = client.post("/api/jobs/start", json=request | {"priority": 1})
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_key_reused")


def test_a_unique_key_allows_one_living_job(running: Shoal) -> None:
    arguments = ("job", "start", "control", "--unique-key", "nightly", "--params", '{"seconds": 600}')
    first = running.json(*arguments)["id"]
    refused = running.run(*arguments)
    assert refused.returncode == 5
    assert "(job_exists)" in refused.stderr
    assert running.json(*arguments, "--on-conflict", "existing")["id"] == first
    running.ok("job", "cancel", first)
    assert running.json(*arguments)["id"] != first


def test_types_are_listed_and_held_back_and_single_tasks_steered(running: Shoal) -> None:
    types = running.json("job", "types")["types"]
    assert [(one["type"], [phase["name"] for phase in one["phases"]]) for one in types] == [
        ("control", ["work", "end"]),
        ("mesh.push", []),  # what 'shoal mesh push' starts
    ]
    paused = running.json("task", "pause", "wait", "--reason", "not today")
    assert paused["pausedBecause"] == "not today"
    limited = running.json("task", "limit", "wait", "--running", "3", "--rate", "0.5", "--burst", "2")
    assert (limited["maxRunning"], limited["ratePerS"], limited["burst"]) == (3, 0.5, 2)
    job = start(running)
    while "wait" not in states(running, job):
        pass
    (listed,) = running.json("task", "list")["types"]
    assert (listed["type"], listed["ready"], listed["running"]) == ("wait", 1, 0)
    assert "paused: not today; at most 3 at a time; 0.5 a second, 2 at once" in running.ok("task", "list")

    task = next(one["id"] for one in running.json("job", "tasks", job)["tasks"] if one["name"] == "wait")
    cancelled = running.json("task", "cancel", task, "--reason", "no")
    assert (cancelled["status"], cancelled["error"]) == ("cancelled", "no")
    assert running.json("task", "retry", task)["status"] == "pending"
    assert "name      wait (wait)" in running.ok("task", "show", task)
    assert running.json("task", "resume", "wait")["pausedBecause"] is None
    assert running.json("job", "watch", job)["status"] == "complete"


def test_the_list_is_narrowed_by_key_and_by_time(running: Shoal) -> None:
    first = running.json("job", "start", "control", "--unique-key", "first", "--priority", "3")
    second = running.json("job", "start", "control", "--run-at", "2999-01-01T00:00:00Z")

    def ids(*filters: str) -> list[str]:
        return [job["id"] for job in running.json("job", "list", *filters)["jobs"]]

    assert (first["uniqueKey"], first["priority"]) == ("first", 3)
    assert ids("--unique-key", "first") == [first["id"]]
    assert ids("--created-from", second["createdAt"]) == [second["id"]]
    assert ids("--created-before", second["createdAt"]) == [first["id"]]
    (plan,) = running.json("job", "tasks", second["id"])["tasks"]
    assert (plan["status"], plan["runAt"]) == ("pending", "2999-01-01T00:00:00Z")


def test_a_batch_is_started_whole_or_not_at_all(running: Shoal) -> None:
    batch = running.data_dir.parent / "batch.jsonl"
    batch.write_text('{"params": {"n": 1}}\n\n{"type": "control", "uniqueKey": "k"}\n{"priority": 3}\n')
    arguments = ("job", "start", "control", "--batch", str(batch), "--idempotency-key", "import")

    ids = running.json(*arguments)["ids"]

    assert len(ids) == 3
    assert running.ok(*arguments).split() == ids
    batch.write_text('{"type": "control"}\n{"type": "unheard_of"}\n')
    refused = running.run("job", "start", "--batch", str(batch))
    assert refused.returncode == 3
    assert "jobs[1]: There is no job type 'unheard_of'." in refused.stderr
    assert {job["id"] for job in running.json("job", "list")["jobs"]} == set(ids)
    assert running.run("job", "start").returncode == 2
    assert running.run("job", "start", "--batch", str(batch), "--priority", "1").returncode == 2


def test_what_failed_is_listed_and_what_ended_is_deleted(running: Shoal) -> None:
    job = start(running, mark=str(running.data_dir.parent / "mark"))
    assert running.run("job", "watch", job).returncode == 1
    (dead,) = running.json("job", "dead")["tasks"]
    assert (dead["jobId"], dead["taskName"]) == (job, "fail_once")
    assert "the first time it fails" in running.ok("job", "dead", "--reason", "attempts_used_up")
    assert running.ok("job", "purge", "--status", "failed", "--dry-run").startswith("would delete 1 jobs")
    assert "deleted 0 jobs" in running.ok("job", "purge", "--older-than", "1", "--yes")

    assert running.run("job", "purge").returncode == 1  # nobody said yes
    assert running.run("job", "purge", "--json").returncode == 2
    assert running.json("job", "show", job)["status"] == "failed"
    assert running.json("job", "purge", "--yes")["jobs"] == 1

    assert running.run("job", "show", job).returncode == 3
    assert running.json("job", "dead")["tasks"] == []
