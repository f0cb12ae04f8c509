"""What failed for good, and deleting jobs that have ended."""

from typing import Any
from uuid import uuid4

import pytest

from .job_desk import JobDesk

pytestmark = pytest.mark.asyncio(loop_scope="session")

DEAD = "/api/dead-letters"
PURGE = "/api/jobs/purge"


async def failed_job(desk: JobDesk, *names: str, error: str = "no ink", **given: Any) -> str:
    job = await desk.start(**given)
    await desk.plan(*names)
    await desk.fail(error)
    return str(job["id"])


async def complete_job(desk: JobDesk) -> str:
    job = await desk.start()
    await desk.plan("one")
    await desk.complete("done", artifact=f"{uuid4()}")
    return str(job["id"])


async def purge(desk: JobDesk, **request: Any) -> dict[str, Any]:
    answer = await desk.ask("POST", PURGE, json=request)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def jobs_of(desk: JobDesk) -> set[str]:
    return {job["id"] for job in (await desk.read("/api/jobs"))["jobs"]}


async def test_a_task_that_failed_for_good_is_listed_until_it_is_tried_again(desk: JobDesk) -> None:
    job = await failed_job(desk, "one")
    await complete_job(desk)
    (dead,) = (await desk.read(DEAD))["tasks"]
    assert dead["jobId"] == job
    assert (dead["jobType"], dead["jobStatus"]) == (desk.job_type, "failed")
    assert (dead["taskName"], dead["taskType"]) == ("one", desk.task_type)
    assert (dead["reason"], dead["attempts"], dead["maxAttempts"]) == ("permanent", 1, 3)
    assert dead["error"] == "no ink"

    await desk.ask("POST", f"/api/jobs/{job}/retry")

    assert (await desk.read(DEAD))["tasks"] == []


async def test_it_is_read_page_by_page_and_filtered(desk: JobDesk) -> None:
    await failed_job(desk, "one", "two", "three")
    seen, cursor = [], None
    while True:
        page = await desk.read(DEAD, limit=2, **({"cursor": cursor} if cursor else {}))
        seen += [one["taskName"] for one in page["tasks"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert sorted(seen) == ["one", "three", "two"]
    for given, count in (
        ({"type": desk.job_type}, 3),
        ({"type": "other"}, 0),
        ({"taskType": desk.task_type}, 3),
        ({"taskType": "other"}, 0),
        ({"reason": "permanent"}, 3),
        ({"reason": "attempts_used_up"}, 0),
    ):
        assert len((await desk.read(DEAD, **given))["tasks"]) == count
    assert await desk.refusal("GET", f"{DEAD}?reason=bad") == (400, "invalid_request")
    assert await desk.refusal("GET", f"{DEAD}?cursor=bad") == (400, "invalid_cursor")


async def test_users_see_their_own_failures_and_a_service_those_of_all(desk: JobDesk) -> None:
    job = await failed_job(desk, "one")
    assert (await desk.ask("GET", DEAD, user=uuid4())).json()["tasks"] == []
    service = await desk.key("service")
    listed = await desk.ask("GET", f"{DEAD}?type={desk.job_type}", headers=service)
    assert [one["jobId"] for one in listed.json()["tasks"]] == [job]
    assert (await desk.ask("GET", DEAD, headers=await desk.key("worker"))).status_code == 403


async def test_purging_deletes_what_ended_and_says_how_much(desk: JobDesk) -> None:
    failed = await failed_job(desk, "one")
    complete = await complete_job(desk)
    alive = str((await desk.start())["id"])
    everything = {"jobs": 2, "artifacts": 1, "bytes": 1, "more": False}

    assert await purge(desk, dryRun=True) == everything
    assert await jobs_of(desk) == {failed, complete, alive}
    assert await purge(desk, statuses=["failed"], type=desk.job_type) == {**everything, "jobs": 1} | {
        "artifacts": 0,
        "bytes": 0,
    }
    assert await jobs_of(desk) == {complete, alive}
    assert (await purge(desk, type="other"))["jobs"] == 0
    assert (await purge(desk, finishedBefore="2020-01-01T00:00:00Z"))["jobs"] == 0
    assert (await purge(desk, finishedBefore="9999-01-01T00:00:00Z"))["jobs"] == 1
    assert await jobs_of(desk) == {alive}
    assert await desk.refusal("POST", f"/api/jobs/{failed}/retry") == (404, "job_not_found")


async def test_a_large_purge_comes_in_batches(desk: JobDesk) -> None:
    for _ in range(2):
        await failed_job(desk, *(f"t{number}" for number in range(99)))
    rows = "UPDATE jobs SET tasks_total = 1500 WHERE user_id = $1"
    await desk.worker.connection.execute(rows, desk.user)
    first, second = await purge(desk), await purge(desk)
    assert [(one["jobs"], one["more"]) for one in (first, second)] == [(1, True), (1, False)]


async def test_nobody_purges_what_is_not_theirs_or_has_not_ended(desk: JobDesk) -> None:
    job = await failed_job(desk, "one")
    stranger = uuid4()
    assert (await desk.ask("POST", PURGE, json={}, user=stranger)).json()["jobs"] == 0
    foreign = {"userId": str(desk.user)}
    assert await desk.refusal("POST", PURGE, json=foreign, user=stranger) == (403, "job_owner_foreign")
    wrong_ones: list[dict[str, Any]] = [
        {"statuses": ["processing"]},
        {"statuses": []},
        {"what": 1},
        {"finishedBefore": "soon"},
    ]
    for wrong in wrong_ones:
        assert await desk.refusal("POST", PURGE, json=wrong) == (400, "invalid_request")
    assert await desk.refusal("POST", PURGE, json={}, headers=await desk.key("worker")) == (
        403,
        "role_not_allowed",
    )
    assert await jobs_of(desk) == {job}


async def test_a_service_purges_for_a_user(desk: JobDesk) -> None:
    await failed_job(desk, "one")
    answer = await desk.ask("POST", PURGE, json={"userId": str(desk.user)}, headers=await desk.key("service"))
    assert answer.json()["jobs"] == 1
    assert await jobs_of(desk) == set()
