"""Types of jobs, and types of tasks with what holds them back."""

from typing import Any
from uuid import uuid4

import pytest

from .job_desk import OPERATOR, JobDesk

pytestmark = pytest.mark.asyncio(loop_scope="session")

TYPES = "/api/task-types"


async def control(desk: JobDesk, verb: str, **body: Any) -> dict[str, Any]:
    answer = await desk.ask("POST", f"{TYPES}/{desk.task_type}/{verb}", json=body, user=OPERATOR)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def test_types_of_jobs_are_listed_by_name_with_what_they_take(desk: JobDesk) -> None:
    page = await desk.read("/api/job-types", limit=1)
    listed: list[dict[str, Any]] = page["types"]
    while page["next"]:
        page = await desk.read("/api/job-types", limit=1, cursor=page["next"])
        listed += page["types"]

    names = [one["type"] for one in listed]
    assert names == sorted(names)
    (mine,) = [one for one in listed if one["type"] == desk.job_type]
    assert (mine["version"], mine["paramsSchema"]) == ("1", {})
    assert mine["phases"] == [{"name": "drawing", "ends": 80}, {"name": "binding", "ends": 100}]
    refused = await desk.refusal("GET", "/api/job-types", params={"cursor": "x"})
    assert refused == (400, "invalid_cursor")


async def test_a_limited_type_starts_no_more_than_it_may(desk: JobDesk) -> None:
    await desk.start()
    await desk.plan("a", "b", "c")

    limited = await control(desk, "limit", maxRunning=2)
    claims = await desk.worker.claim(9, types=[desk.task_type])
    seen = await control(desk, "limit", maxRunning=2)
    ended = await control(desk, "limit")
    rest = await desk.worker.claim(9, types=[desk.task_type])

    assert (limited["ready"], limited["maxRunning"], limited["ratePerS"]) == (3, 2, None)
    assert (len(claims), seen["ready"], seen["running"]) == (2, 1, 2)
    assert (ended["maxRunning"], len(rest)) == (None, 1)


async def test_a_rate_is_kept_with_its_burst(desk: JobDesk) -> None:
    await desk.start()
    await desk.plan("a", "b", "c")

    limited = await control(desk, "limit", ratePerS=0.001, burst=2)

    assert (limited["ratePerS"], limited["burst"]) == (0.001, 2)
    assert len(await desk.worker.claim(9, types=[desk.task_type])) == 2


async def test_a_paused_type_waits_until_it_is_resumed(desk: JobDesk) -> None:
    await desk.start()
    await desk.plan("a")

    paused = await control(desk, "pause", reason="the printer is open")
    assert paused["pausedBecause"] == "the printer is open"
    assert await desk.worker.claim(9, types=[desk.task_type]) == []
    listed = await desk.ask("GET", TYPES, user=OPERATOR)
    assert paused in listed.json()["types"]

    assert (await control(desk, "resume"))["pausedBecause"] is None
    assert len(await desk.worker.claim(9, types=[desk.task_type])) == 1
    assert (await control(desk, "pause"))["pausedBecause"] == "Paused."
    await control(desk, "resume")


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", TYPES), *(("POST", f"{TYPES}/x/{verb}") for verb in ("limit", "pause", "resume"))],
)
async def test_only_services_and_operators_see_and_steer_types_of_tasks(
    desk: JobDesk, method: str, path: str
) -> None:
    assert await desk.refusal(method, path, json={}) == (403, "operators_only")
    worker = await desk.key("worker")
    assert await desk.refusal(method, path, json={}, headers=worker) == (403, "operators_only")
    answer = await desk.ask(method, path, json={}, headers=await desk.key("service"))
    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("verb", "body"),
    [
        ("limit", {"maxRunning": 0}),
        ("limit", {"maxRunning": 10**10}),
        ("limit", {"ratePerS": 0}),
        ("limit", {"ratePerS": 1e300}),
        ("limit", {"ratePerS": 1, "burst": 0}),
        ("limit", {"most": 1}),
        ("pause", {"reason": ""}),
        ("pause", {"reason": "x" * 1001}),
    ],
)
async def test_a_wrong_limit_is_refused(desk: JobDesk, verb: str, body: dict[str, Any]) -> None:
    refused = await desk.refusal("POST", f"{TYPES}/x/{verb}", json=body, user=OPERATOR)
    assert refused == (400, "invalid_request")
    refused = await desk.refusal("POST", f"{TYPES}/{'x' * 128}/{verb}", json={}, user=OPERATOR)
    assert refused == (400, "invalid_request")


async def test_one_task_is_read_cancelled_and_tried_again(desk: JobDesk) -> None:
    job = (await desk.start())["id"]
    tasks = await desk.plan("a", "b")
    path = f"/api/tasks/{tasks['a']}"

    cancelled = await desk.ask("POST", f"{path}/cancel", json={"reason": "not this one"})
    assert (cancelled.status_code, cancelled.json()["status"]) == (200, "cancelled")
    assert cancelled.json() == await desk.read(path)
    assert (cancelled.json()["jobId"], cancelled.json()["error"]) == (job, "not this one")
    assert await desk.refusal("POST", f"/api/tasks/{tasks['b']}/retry") == (409, "nothing_to_retry")

    again = await desk.ask("POST", f"{path}/retry")
    assert (again.status_code, again.json()["status"]) == (200, "pending")
    await desk.complete()
    assert (await desk.read(f"/api/jobs/{job}"))["status"] == "complete"


async def test_a_task_of_somebody_else_is_not_found(desk: JobDesk) -> None:
    await desk.start()
    path = f"/api/tasks/{(await desk.plan('a'))['a']}"

    for method, rest in (("GET", ""), ("POST", "/cancel"), ("POST", "/retry")):
        assert await desk.refusal(method, path + rest, user=uuid4()) == (404, "task_not_found")
    assert (await desk.read(path))["status"] == "pending"
