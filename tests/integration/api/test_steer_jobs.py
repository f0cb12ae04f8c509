"""Cancelling and trying again, and what there is to see of a job's tasks."""

from typing import Any
from uuid import UUID, uuid4

import pytest

from shoal.runtime.cursors import encode_cursor

from .job_desk import JobDesk

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_cancelling_ends_a_job_with_the_reason_given(desk: JobDesk) -> None:
    job = f"/api/jobs/{(await desk.start())['id']}"

    cancelled = await desk.ask("POST", f"{job}/cancel", json={"reason": "wrong photos"})
    again = await desk.ask("POST", f"{job}/cancel", json={"reason": "another reason"})

    assert cancelled.status_code == 200
    assert (cancelled.json()["status"], cancelled.json()["error"]) == ("cancelled", "wrong photos")
    assert again.json() == cancelled.json()
    assert await desk.worker.claim(1, types=[f"plan:{desk.job_type}"]) == []


async def test_a_reason_may_be_left_out_and_has_its_limit(desk: JobDesk) -> None:
    job = f"/api/jobs/{(await desk.start())['id']}"
    assert await desk.refusal("POST", f"{job}/cancel", json={"reason": "x" * 1001}) == (
        400,
        "invalid_request",
    )
    assert await desk.refusal("POST", f"{job}/cancel", json={"why": "x"}) == (400, "invalid_request")
    assert (await desk.ask("POST", f"{job}/cancel")).json()["error"] == "Cancelled."


async def test_a_failed_job_is_tried_again_and_one_without_failures_is_not(desk: JobDesk) -> None:
    job = f"/api/jobs/{(await desk.start())['id']}"
    assert await desk.refusal("POST", f"{job}/retry") == (409, "nothing_to_retry")
    await desk.plan("one")
    await desk.fail("no ink")
    assert (await desk.read(job))["error"] == "no ink"

    again = await desk.ask("POST", f"{job}/retry")

    assert (again.status_code, again.json()["status"], again.json()["error"]) == (200, "processing", None)
    await desk.complete("done")
    assert (await desk.read(job))["status"] == "complete"


async def test_a_job_is_not_tried_again_beside_another_with_its_key(desk: JobDesk) -> None:
    ended = (await desk.start(uniqueKey="k"))["id"]
    await desk.ask("POST", f"/api/jobs/{ended}/cancel")
    await desk.start(uniqueKey="k")
    assert await desk.refusal("POST", f"/api/jobs/{ended}/retry") == (409, "job_exists")


async def test_tasks_are_listed_in_order_page_by_page(desk: JobDesk) -> None:
    job = f"/api/jobs/{(await desk.start())['id']}"
    await desk.plan("a", "b", "c")
    await desk.fail("no ink")

    first = await desk.read(f"{job}/tasks", limit=3)
    second = await desk.read(f"{job}/tasks", limit=3, cursor=first["next"])

    tasks: list[dict[str, Any]] = first["tasks"] + second["tasks"]
    assert [task["name"] for task in tasks] == ["plan", "a", "b", "c"]
    assert second["next"] is None
    assert (tasks[0]["status"], tasks[0]["progress"]) == ("complete", 1.0)
    assert (tasks[1]["status"], tasks[1]["error"], tasks[1]["attempts"]) == ("failed", "no ink", 1)
    assert await desk.refusal("GET", f"{job}/tasks", params={"cursor": "x"}) == (400, "invalid_cursor")


async def test_lines_are_read_on_from_where_the_last_answer_ended(desk: JobDesk) -> None:
    job = f"/api/jobs/{(await desk.start())['id']}"
    await desk.plan("a")
    (claim,) = await desk.worker.claim(1, types=[desk.task_type])
    await desk.worker.add_logs([(claim, "first"), (claim, "second")])

    first = await desk.read(f"{job}/logs", limit=1)
    rest = await desk.read(f"{job}/logs", cursor=first["next"])
    none = await desk.read(f"{job}/logs", cursor=rest["next"])
    await desk.worker.add_logs([(claim, "third")])
    new = await desk.read(f"{job}/logs", cursor=none["next"])

    lines = [[line["line"] for line in page["lines"]] for page in (first, rest, none, new)]
    assert lines == [["first"], ["second"], [], ["third"]]
    assert first["lines"][0]["taskId"] == str(claim.task_id)
    assert await desk.refusal("GET", f"{job}/logs", params={"cursor": "x"}) == (400, "invalid_cursor")


async def test_files_are_seen_once_the_attempt_that_made_them_has_ended_well(desk: JobDesk) -> None:
    job = f"/api/jobs/{(await desk.start())['id']}"
    await desk.plan("a")
    (claim,) = await desk.worker.claim(1, types=[desk.task_type])
    await desk.worker.add_artifact(claim, "of the first attempt")
    assert (await desk.read(job))["artifacts"] == []
    await desk.worker.fail(claim, retry_after_s=0)
    await desk.worker.let_delays_pass()
    await desk.complete(artifact="kept")

    (artifact,) = (await desk.read(job))["artifacts"]
    assert artifact["name"] == "kept"


async def test_of_many_files_a_job_shows_the_first_thousand_and_pages_have_the_others(desk: JobDesk) -> None:
    job = f"/api/jobs/{(await desk.start())['id']}"
    await desk.plan("a")
    (claim,) = await desk.worker.claim(1, types=[desk.task_type])
    await desk.worker.connection.execute(
        """INSERT INTO job_artifacts (task_id, name, artifact_type, storage_path)
           SELECT $1, n::text, 'text', 'many/' || n FROM generate_series(1, 1003) AS n""",
        claim.task_id,
    )
    await desk.worker.complete(claim)

    shown = await desk.read(job)
    rest = await desk.read(f"{job}/artifacts", cursor=shown["artifactsNext"])
    pages = [await desk.read(f"{job}/artifacts", limit=1000)]
    pages.append(await desk.read(f"{job}/artifacts", limit=1000, cursor=pages[0]["next"]))

    def names(*parts: dict[str, Any]) -> list[str]:
        return [one["name"] for part in parts for one in part["artifacts"]]

    assert sorted(names(shown, rest), key=int) == [str(n) for n in range(1, 1004)]
    assert (len(shown["artifacts"]), len(rest["artifacts"]), rest["next"]) == (1000, 3, None)
    assert names(*pages) == names(shown, rest)
    assert await desk.refusal("GET", f"{job}/artifacts", params={"cursor": "x"}) == (400, "invalid_cursor")
    unknown = f"/api/jobs/{uuid4()}/artifacts"
    assert await desk.refusal("GET", unknown) == (404, "job_not_found")


@pytest.mark.parametrize(
    ("what", "position"),
    [
        ("tasks", (2**70, UUID(int=1))),
        ("logs", (2**70,)),
        ("artifacts", (1, "0001-01-01T00:00:00+14:00", UUID(int=1))),
    ],
)
async def test_a_cursor_that_no_database_could_be_asked_for_is_refused(
    desk: JobDesk, what: str, position: tuple[object, ...]
) -> None:
    job = f"/api/jobs/{(await desk.start())['id']}"
    forged = {"cursor": encode_cursor(position)}
    assert await desk.refusal("GET", f"{job}/{what}", params=forged) == (400, "invalid_cursor")


async def test_a_job_stays_readable_whatever_its_artifacts_are_called(desk: JobDesk) -> None:
    """The rows of artifacts are also written by clients of our own SQL."""
    job = f"/api/jobs/{(await desk.start())['id']}"
    await desk.plan("a")
    (claim,) = await desk.worker.claim(1, types=[desk.task_type])
    for number, (name, kind) in enumerate([("a/b.txt", "text/plain"), ("\t", "what?"), ("", "")]):
        await desk.worker.connection.execute(
            """INSERT INTO job_artifacts (task_id, name, artifact_type, storage_path, content_type)
               VALUES ($1, $2, 'text', $3, $4)""",
            claim.task_id, name, f"odd/{number}", kind,
        )  # fmt: skip
    await desk.worker.complete(claim)

    artifacts = (await desk.read(job))["artifacts"]

    assert [artifact["name"] for artifact in artifacts] == ["a/b.txt", "\t", ""]
    assert all(artifact["url"].startswith("http") for artifact in artifacts)
