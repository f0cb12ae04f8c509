"""Starting a job and reading it, and every way in which a start is refused."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest

from .job_desk import JobDesk

pytestmark = pytest.mark.asyncio(loop_scope="session")

START = "/api/jobs/start"
SOME_JOB = "/api/jobs/00000000-0000-4000-8000-000000000000"


async def test_a_job_from_its_start_to_its_files(desk: JobDesk) -> None:
    """The two requests of the first clients: start, then ask until it has ended."""
    answer = await desk.ask("POST", START, json={"type": desk.job_type, "params": {"systems": ["vedic"]}})
    started = answer.json()
    job = f"/api/jobs/{started['id']}"
    assert answer.status_code == 201
    assert started["status"] == "queued"
    assert started["progress"] == {
        "percent": 0,
        "phase": "queued",
        "docsComplete": 0,
        "docsTotal": 1,
        "message": "",
    }

    await desk.plan("one", "two")
    (first,) = await desk.worker.claim(1, types=[desk.task_type])
    await desk.worker.heartbeat(first, progress=0.5, message="half of it")
    seen = await desk.read(job)
    assert (seen["status"], seen["params"]) == ("processing", {"systems": ["vedic"]})
    assert seen["progress"] == {
        "percent": 20,
        "phase": "drawing",
        "docsComplete": 0,
        "docsTotal": 2,
        "message": "half of it",
    }

    await desk.worker.complete(first, output="first")
    await desk.complete("second", artifact="chapter1.txt")
    ended = await desk.read(job)
    assert (ended["status"], ended["progress"]["percent"], ended["error"]) == ("complete", 100, None)
    (artifact,) = ended["artifacts"]
    assert artifact["url"].startswith("http://files.invalid/files/")
    assert (artifact["type"], artifact["size"], artifact["contentType"]) == ("text", 1, "text/plain")
    assert ended["startedAt"] <= ended["finishedAt"]


async def test_a_start_takes_priority_a_moment_and_a_key(desk: JobDesk) -> None:
    later = datetime.now(UTC) + timedelta(hours=1)

    job = await desk.start(priority=7, runAt=later.isoformat(), uniqueKey="k")

    row = await desk.worker.job(job["id"])
    assert (row["priority"], row["unique_key"], row["user_id"]) == (7, "k", desk.user)
    assert await desk.worker.claim(1, types=[f"plan:{desk.job_type}"]) == []
    (plan,) = (await desk.read(f"/api/jobs/{job['id']}/tasks"))["tasks"]
    assert datetime.fromisoformat(plan["runAt"]) == later


async def test_a_second_job_with_a_living_key_is_refused_or_is_the_first(desk: JobDesk) -> None:
    first = await desk.start(uniqueKey="nightly")
    again = {"type": desk.job_type, "uniqueKey": "nightly"}

    assert await desk.refusal("POST", START, json=again) == (409, "job_exists")
    assert (await desk.start(uniqueKey="nightly", onConflict="existing"))["id"] == first["id"]
    assert (await desk.start(uniqueKey="weekly"))["id"] != first["id"]


async def test_a_key_is_taken_only_for_its_user(desk: JobDesk) -> None:
    mine = await desk.start(uniqueKey="nightly")
    asked = {"type": desk.job_type, "uniqueKey": "nightly", "onConflict": "existing"}

    theirs = await desk.ask("POST", START, json=asked, user=uuid4())

    assert theirs.status_code == 201
    assert theirs.json()["id"] != mine["id"]


async def test_an_idempotency_key_starts_one_job_however_often_it_is_sent(desk: JobDesk) -> None:
    request = {"type": desk.job_type, "params": {"order": 17}}
    key = {"Idempotency-Key": "order-17"}

    answers = await asyncio.gather(*(desk.ask("POST", START, json=request, headers=key) for _ in range(8)))

    assert {answer.status_code for answer in answers} == {201}
    (job,) = {answer.json()["id"] for answer in answers}
    await desk.ask("POST", f"/api/jobs/{job}/cancel")
    after_its_end = await desk.ask("POST", START, json=request, headers=key)
    assert (after_its_end.json()["id"], after_its_end.json()["status"]) == (job, "cancelled")
    of_another_user = await desk.ask("POST", START, json=request, headers=key, user=uuid4())
    assert of_another_user.json()["id"] != job
    other = {**request, "params": {"order": 18}}
    refused = await desk.refusal("POST", START, json=other, headers=key)
    assert refused == (409, "idempotency_key_reused")


async def test_a_refused_start_leaves_its_idempotency_key_free(desk: JobDesk) -> None:
    key = {"Idempotency-Key": "once"}
    unknown = {"type": "unheard_of"}

    assert await desk.refusal("POST", START, json=unknown, headers=key) == (404, "unknown_job_type")
    started = await desk.ask("POST", START, json={"type": desk.job_type}, headers=key)
    assert started.status_code == 201


async def test_a_service_starts_jobs_for_the_user_it_names(desk: JobDesk) -> None:
    service = await desk.key("service")

    nameless = await desk.refusal("POST", START, json={"type": desk.job_type}, headers=service)
    named = await desk.ask(
        "POST", START, json={"type": desk.job_type, "userId": str(desk.user)}, headers=service
    )

    assert nameless == (400, "job_owner_missing")
    assert (await desk.read(f"/api/jobs/{named.json()['id']}"))["status"] == "queued"


async def test_a_user_starts_jobs_for_nobody_else(desk: JobDesk) -> None:
    request = {"type": desk.job_type, "userId": str(uuid4())}
    assert await desk.refusal("POST", START, json=request) == (403, "job_owner_foreign")


@pytest.mark.parametrize(
    ("given", "status", "code"),
    [
        ({"type": "unheard_of"}, 404, "unknown_job_type"),
        ({"type": "Robert'); DROP TABLE jobs; --"}, 404, "unknown_job_type"),
        ({"type": "x" * 64}, 400, "invalid_request"),
        ({"type": 7}, 400, "invalid_request"),
        ({"type": None}, 400, "invalid_request"),
        ({"params": []}, 400, "invalid_request"),
        ({"params": None}, 400, "invalid_request"),
        ({"params": {"numbers": [0] * 25_000}}, 413, "job_params_too_large"),
        ({"params": {"text": "a" * 200_000}}, 413, "body_too_large"),
        ({"priority": 101}, 400, "invalid_request"),
        ({"priority": 1.5}, 400, "invalid_request"),
        ({"priority": 10**30}, 400, "invalid_request"),
        ({"uniqueKey": ""}, 400, "invalid_request"),
        ({"uniqueKey": "k" * 256}, 400, "invalid_request"),
        ({"onConflict": "replace"}, 400, "invalid_request"),
        ({"runAt": "tomorrow"}, 400, "invalid_request"),
        ({"runAt": "2030-01-31T09:00:00"}, 400, "invalid_request"),
        ({"runAt": "infinity"}, 400, "invalid_request"),
        ({"runAt": "9999-12-31T23:59:59-14:00"}, 400, "invalid_moment"),
        ({"userId": "me"}, 400, "invalid_request"),
        ({"colour": "red"}, 400, "invalid_request"),
        ({"unique_key": "k"}, 400, "invalid_request"),
    ],
)
async def test_a_wrong_start_gets_its_error_and_starts_nothing(
    desk: JobDesk, given: dict[str, Any], status: int, code: str
) -> None:
    request = {"type": desk.job_type, **given}
    assert await desk.refusal("POST", START, json=request) == (status, code)
    assert (await desk.read("/api/jobs"))["jobs"] == []


@pytest.mark.parametrize("body", [b"", b"null", b"[]", b'"job"', b"{}"])
async def test_a_start_is_an_object_with_a_type(desk: JobDesk, body: bytes) -> None:
    answer = await desk.ask("POST", START, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert answer.json()["code"] in {"invalid_request", "invalid_json"}


@pytest.mark.parametrize("key", ["", "k" * 256])
async def test_an_idempotency_key_has_1_to_255_characters(desk: JobDesk, key: str) -> None:
    asked = desk.refusal("POST", START, json={"type": desk.job_type}, headers={"Idempotency-Key": key})
    assert await asked == (400, "invalid_request")


async def test_what_is_wrong_is_named(desk: JobDesk) -> None:
    answer = await desk.ask("POST", START, json={"type": desk.job_type, "priority": 1000})
    assert "priority" in answer.json()["detail"]


async def test_a_worker_starts_no_jobs(desk: JobDesk) -> None:
    worker = await desk.key("worker")
    refused = await desk.refusal("POST", START, json={"type": desk.job_type}, headers=worker)
    assert refused == (403, "role_not_allowed")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/jobs/start"),
        ("GET", "/api/jobs"),
        ("GET", SOME_JOB),
        ("POST", f"{SOME_JOB}/cancel"),
        ("POST", f"{SOME_JOB}/retry"),
        ("GET", f"{SOME_JOB}/tasks"),
        ("GET", f"{SOME_JOB}/logs"),
    ],
)
async def test_who_is_nobody_gets_nothing(client: httpx.AsyncClient, method: str, path: str) -> None:
    answer = await client.request(method, path)
    assert (answer.status_code, answer.json()["code"]) == (401, "token_missing")
