"""Starting many jobs in one request: all of them or none."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest

from .job_desk import JobDesk

pytestmark = pytest.mark.asyncio(loop_scope="session")

START = "/api/jobs/start-batch"


async def test_ten_thousand_jobs_are_started_in_the_order_given(desk: JobDesk) -> None:
    jobs = [{"type": desk.job_type, "params": {"n": n}} for n in range(10_000)]

    answer = await desk.ask("POST", START, json={"jobs": jobs})

    assert answer.status_code == 201
    ids = answer.json()["ids"]
    rows = await desk.worker.connection.fetch("SELECT id, params FROM jobs WHERE user_id = $1", desk.user)
    numbers = {str(row["id"]): row["params"]["n"] for row in rows}
    assert [numbers[job] for job in ids] == list(range(10_000))


async def test_each_job_has_its_own_priority_key_and_moment(desk: JobDesk) -> None:
    jobs = [
        {"type": desk.job_type, "priority": 5, "uniqueKey": "a"},
        {"type": desk.job_type, "runAt": "2999-01-01T00:00:00+02:00"},
    ]
    first, second = (await desk.ask("POST", START, json={"jobs": jobs})).json()["ids"]

    assert (await desk.read(f"/api/jobs/{first}"))["priority"] == 5
    assert (await desk.read(f"/api/jobs/{first}"))["uniqueKey"] == "a"
    (plan,) = (await desk.read(f"/api/jobs/{second}/tasks"))["tasks"]
    assert plan["runAt"] == "2998-12-31T22:00:00Z"


async def test_one_key_makes_a_batch_repeatable(desk: JobDesk) -> None:
    request = {"jobs": [{"type": desk.job_type}] * 3}
    key = {"Idempotency-Key": "import"}

    answers = await asyncio.gather(*(desk.ask("POST", START, json=request, headers=key) for _ in range(4)))

    assert {answer.status_code for answer in answers} == {201}
    (ids,) = {tuple(answer.json()["ids"]) for answer in answers}
    assert len(set(ids)) == 3
    assert len((await desk.read("/api/jobs"))["jobs"]) == 3
    other = {"jobs": [{"type": desk.job_type}] * 2}
    refused = await desk.refusal("POST", START, json=other, headers=key)
    assert refused == (409, "idempotency_key_reused")


async def test_living_keys_are_refused_or_answered_with_their_jobs(desk: JobDesk) -> None:
    living = (await desk.start(uniqueKey="k"))["id"]
    jobs = [{"type": desk.job_type}, {"type": desk.job_type, "uniqueKey": "k"}]

    assert await desk.refusal("POST", START, json={"jobs": jobs}) == (409, "job_exists")
    answer = await desk.ask("POST", START, json={"jobs": jobs, "onConflict": "existing"})
    assert answer.json()["ids"][1] == living


@pytest.mark.parametrize(
    ("wrong", "status", "code"),
    [
        ({"type": "unheard_of"}, 404, "unknown_job_type"),
        ({"params": {"numbers": [0] * 25_000}}, 413, "job_params_too_large"),
        ({"priority": 101}, 400, "invalid_request"),
        ({"runAt": "9999-12-31T23:59:59-14:00"}, 400, "invalid_moment"),
        ({"colour": "red"}, 400, "invalid_request"),
        ({"userId": str(uuid4())}, 400, "invalid_request"),
    ],
)
async def test_one_wrong_job_is_named_and_nothing_is_started(
    desk: JobDesk, wrong: dict[str, Any], status: int, code: str
) -> None:
    jobs = [{"type": desk.job_type}] * 2 + [{"type": desk.job_type, **wrong}] + [{"type": desk.job_type}]

    answer = await desk.ask("POST", START, json={"jobs": jobs})

    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert "jobs[2]" in answer.json()["detail"]
    assert (await desk.read("/api/jobs"))["jobs"] == []


@pytest.mark.parametrize("count", [0, 10_001])
async def test_a_batch_has_from_1_to_10_000_jobs(desk: JobDesk, count: int) -> None:
    request = {"jobs": [{"type": desk.job_type}] * count}
    assert await desk.refusal("POST", START, json=request) == (400, "invalid_request")


async def test_only_batches_may_be_larger_than_other_bodies(desk: JobDesk) -> None:
    large = {"type": desk.job_type, "params": {"text": "a" * 60_000}}
    fits, over = {"jobs": [large] * 20}, {"jobs": [large] * 80}

    assert (await desk.ask("POST", START, json=fits)).status_code == 201
    assert await desk.refusal("POST", START, json=over) == (413, "body_too_large")
    assert await desk.refusal("POST", "/api/jobs/start", json=fits) == (413, "body_too_large")


async def test_a_batch_is_for_its_user_alone(desk: JobDesk) -> None:
    foreign = {"jobs": [{"type": desk.job_type}], "userId": str(uuid4())}
    assert await desk.refusal("POST", START, json=foreign) == (403, "job_owner_foreign")
    service = await desk.key("service")
    answer = await desk.ask("POST", START, json={**foreign, "userId": str(desk.user)}, headers=service)
    assert [job["id"] for job in (await desk.read("/api/jobs"))["jobs"]] == answer.json()["ids"]
