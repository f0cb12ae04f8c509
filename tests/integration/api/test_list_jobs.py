"""Lists: filters, cursors that lose and repeat nothing, and whose jobs are in them."""

from typing import Any
from uuid import uuid4

import pytest

from .job_desk import JobDesk

pytestmark = pytest.mark.asyncio(loop_scope="session")


def ids(page: dict[str, Any]) -> list[str]:
    return [job["id"] for job in page["jobs"]]


async def test_the_newest_come_first_and_a_filter_leaves_out_the_others(desk: JobDesk) -> None:
    cancelled, queued = (await desk.start())["id"], (await desk.start())["id"]
    await desk.ask("POST", f"/api/jobs/{cancelled}/cancel")

    assert ids(await desk.read("/api/jobs")) == [queued, cancelled]
    assert ids(await desk.read("/api/jobs", status="cancelled")) == [cancelled]
    assert ids(await desk.read("/api/jobs", status="queued", type=desk.job_type)) == [queued]
    assert ids(await desk.read("/api/jobs", type="another")) == []


async def test_jobs_are_found_by_their_key_and_by_when_they_were_made(desk: JobDesk) -> None:
    first, second = await desk.start(uniqueKey="first"), await desk.start(uniqueKey="second")
    between = second["createdAt"]

    assert ids(await desk.read("/api/jobs", uniqueKey="first")) == [first["id"]]
    assert ids(await desk.read("/api/jobs", createdFrom=between)) == [second["id"]]
    assert ids(await desk.read("/api/jobs", createdBefore=between)) == [first["id"]]
    assert ids(await desk.read("/api/jobs", createdFrom=between, uniqueKey="first")) == []


async def test_pages_follow_each_other_also_while_new_jobs_come(desk: JobDesk) -> None:
    started = [(await desk.start())["id"] for _ in range(7)]

    page = await desk.read("/api/jobs", limit=3)
    found = ids(page)
    late = (await desk.start())["id"]
    while page["next"]:
        page = await desk.read("/api/jobs", limit=3, cursor=page["next"])
        found += ids(page)

    assert found == started[::-1]
    assert late not in found


async def test_a_full_last_page_promises_no_other(desk: JobDesk) -> None:
    for _ in range(2):
        await desk.start()
    assert (await desk.read("/api/jobs", limit=2))["next"] is None


async def test_users_see_only_their_own(desk: JobDesk) -> None:
    job = (await desk.start())["id"]
    stranger = uuid4()

    listed = await desk.ask("GET", "/api/jobs", user=stranger)

    assert ids(listed.json()) == []
    for method, rest in [
        ("GET", ""),
        ("GET", "/tasks"),
        ("GET", "/logs"),
        ("POST", "/cancel"),
        ("POST", "/retry"),
    ]:
        refused = await desk.refusal(method, f"/api/jobs/{job}{rest}", user=stranger)
        assert refused == (404, "job_not_found")
    assert (await desk.read(f"/api/jobs/{job}"))["status"] == "queued"


async def test_a_service_sees_the_jobs_of_all(desk: JobDesk) -> None:
    job = (await desk.start())["id"]
    listed = await desk.ask(
        "GET", "/api/jobs", params={"type": desk.job_type}, headers=await desk.key("service")
    )
    assert ids(listed.json()) == [job]


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"status": "done"}, "invalid_request"),
        ({"limit": "0"}, "invalid_request"),
        ({"limit": "1001"}, "invalid_request"),
        ({"limit": "many"}, "invalid_request"),
        ({"type": "x" * 64}, "invalid_request"),
        ({"cursor": "x" * 501}, "invalid_request"),
        ({"uniqueKey": "x" * 256}, "invalid_request"),
        ({"createdFrom": "yesterday"}, "invalid_moment"),
        ({"createdFrom": "1e-05"}, "invalid_moment"),
        ({"createdFrom": ""}, "invalid_moment"),
        ({"createdFrom": "2030-01-31T09:00:00"}, "invalid_moment"),
        ({"createdBefore": "0000-01-01T00:00:00Z"}, "invalid_moment"),
        ({"createdFrom": "9999-12-31T23:59:59-14:00"}, "invalid_moment"),
        ({"createdBefore": "0001-01-01T00:00:00+14:00"}, "invalid_moment"),
        ({"cursor": "bm90IGEgY3Vyc29y"}, "invalid_cursor"),
        ({"cursor": "%"}, "invalid_cursor"),
        ({"cursor": "W10="}, "invalid_cursor"),
        ({"cursor": "é"}, "invalid_cursor"),
        ({"type": "\0"}, "text_not_storable"),
    ],
)
async def test_a_wrong_filter_gets_its_error(desk: JobDesk, params: dict[str, str], code: str) -> None:
    assert await desk.refusal("GET", "/api/jobs", params=params) == (400, code)


@pytest.mark.parametrize("rest", ["", "/tasks", "/logs"])
async def test_what_is_not_the_id_of_a_job_finds_nothing(desk: JobDesk, rest: str) -> None:
    assert await desk.refusal("GET", f"/api/jobs/{uuid4()}{rest}") == (404, "job_not_found")
    assert await desk.refusal("GET", f"/api/jobs/seventeen{rest}") == (404, "not_found")
