"""Schedules through the front door."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from .job_desk import JobDesk

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.newest_servers]

EVENT = {"type": "user.report.due", "data": {"a": 1}}


def asked(**given: Any) -> dict[str, Any]:
    return {"name": f"s {uuid4().hex}", "cron": "0 9 * * 1", "zone": "Europe/Berlin", "event": EVENT, **given}


async def add(desk: JobDesk, **given: Any) -> dict[str, Any]:
    answer = await desk.ask("POST", "/api/schedules", json=asked(**given))
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


async def test_a_schedule_is_added_and_read_with_its_next_run(desk: JobDesk) -> None:
    added = await add(desk, startAt="2030-01-01T00:00:00Z", jitterS=0)

    assert await desk.read(f"/api/schedules/{added['id']}") == added
    assert (added["status"], added["cron"], added["zone"]) == ("active", "0 9 * * 1", "Europe/Berlin")
    assert added["nextRunAt"] == "2030-01-07T08:00:00Z"
    assert added["event"] == {**EVENT, "topic": "user"}
    assert added["job"] is None


async def test_one_that_starts_jobs_says_which(desk: JobDesk) -> None:
    added = await add(desk, event=None, job={"type": desk.job_type, "params": {"n": 1}}, overlap="queue")

    assert added["job"] == {"type": desk.job_type, "params": {"n": 1}, "priority": 0}
    assert (added["event"], added["overlap"]) == (None, "queue")


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"cron": None}, "frequency_missing"),
        ({"frequencyUnit": "DAYS"}, "frequency_ambiguous"),
        ({"cron": None, "frequencyUnit": "DAYS", "frequencyTime": 0}, "invalid_frequency"),
        ({"cron": None, "frequencyUnit": "DAYS", "frequencyTime": -3}, "invalid_frequency"),
        ({"cron": None, "frequencyUnit": "YEARS", "frequencyTime": 101}, "invalid_frequency"),
        ({"cron": None, "frequencyUnit": "FORTNIGHTS"}, "invalid_request"),
        ({"cron": "every monday"}, "invalid_cron"),
        ({"cron": "0 0 30 2 *"}, "cron_never_matches"),
        ({"zone": "Mars/Olympus"}, "unknown_time_zone"),
        ({"endAt": "2020-01-01T00:00:00Z"}, "schedule_ends_before_start"),
        ({"startAt": "2020-01-01T00:00:00Z", "endAt": "2020-06-01T00:00:00Z"}, "schedule_never_runs"),
        ({"startAt": "9999-12-31T23:59:59Z"}, "schedule_out_of_range"),
        ({"startAt": "2026-02-30T00:00:00Z"}, "invalid_request"),
        ({"startAt": "2026-02-01T00:00:00"}, "invalid_request"),
        ({"event": None}, "schedule_does_nothing"),
        ({"job": {"type": "x"}}, "schedule_does_two_things"),
        ({"event": None, "job": {"type": "nobody.made.it"}}, "unknown_job_type"),
        ({"overlap": "skip"}, "overlap_needs_job"),
        ({"event": {"type": "job.completed"}}, "invalid_request"),
        ({"event": {"type": "job.start"}}, "invalid_request"),
        ({"event": {"type": "user.x", "data": {"a": "\u0000"}}}, "invalid_json"),
        ({"name": ""}, "invalid_request"),
        ({"maxRuns": 0}, "invalid_request"),
        ({"jitterS": -1}, "invalid_request"),
        ({"missedLimit": 100000}, "invalid_request"),
        ({"userId": str(uuid4())}, "schedule_owner_foreign"),
        ({"hostId": str(uuid4())}, "invalid_request"),
        ({"nextRunTs": "2026-01-01T00:00:00Z"}, "invalid_request"),
    ],
    ids=lambda one: one if isinstance(one, str) else None,
)
async def test_what_cannot_be_is_refused_with_its_code(
    desk: JobDesk, given: dict[str, Any], code: str
) -> None:
    body = {name: value for name, value in asked(**given).items() if value is not None}

    status, found = await desk.refusal("POST", "/api/schedules", json=body)

    assert (found, 400 <= status < 500) == (code, True)


async def test_data_that_only_looks_like_a_nul_is_kept(desk: JobDesk) -> None:
    added = await add(desk, event={"type": "user.x", "data": {"a": "\\u0000"}})

    assert added["event"]["data"] == {"a": "\\u0000"}


async def test_a_name_is_taken_once_unless_it_replaces(desk: JobDesk) -> None:
    first = await add(desk, name="weekly")
    again = asked(name="weekly", cron="30 9 * * 1")

    assert await desk.refusal("POST", "/api/schedules", json=again) == (409, "schedule_exists")
    replaced = await add(desk, **again, onConflict="replace")
    same = await add(desk, **again, onConflict="replace")

    assert (replaced["id"], replaced["cron"], replaced["version"]) == (first["id"], "30 9 * * 1", 2)
    assert same == replaced  # nothing changed, so nothing happened


async def test_it_is_paused_with_a_reason_and_resumed(desk: JobDesk) -> None:
    path = f"/api/schedules/{(await add(desk))['id']}"

    paused = await desk.ask("POST", f"{path}/pause", json={"reason": "The printer is away."})
    read = await desk.read(path)
    resumed = await desk.ask("POST", f"{path}/resume")

    assert paused.json() == read
    assert (read["status"], read["pauseReason"], read["nextRunAt"]) == (
        "paused",
        "The printer is away.",
        None,
    )
    assert (resumed.json()["status"], resumed.json()["pauseReason"]) == ("active", None)
    assert resumed.json()["nextRunAt"] is not None


async def test_it_runs_when_asked_once_for_each_moment(desk: JobDesk) -> None:
    path = f"/api/schedules/{(await add(desk))['id']}"
    moment = {"at": "2026-01-05T08:00:00Z"}

    runs = [
        (await desk.ask("POST", f"{path}/run", json=body)).json()["runs"] for body in (None, moment, moment)
    ]

    assert runs == [1, 1, 0]
    page = await desk.read(f"{path}/runs")
    assert [run["kind"] for run in page["runs"]] == ["manual", "manual"]
    assert page["runs"][1]["fireAt"] == moment["at"]
    assert page["next"] is None


async def test_a_stretch_of_time_is_filled_once(desk: JobDesk) -> None:
    path = f"/api/schedules/{(await add(desk, startAt='2026-01-01T00:00:00Z'))['id']}"
    stretch = {"first": "2026-01-01T00:00:00Z", "last": "2026-02-01T00:00:00Z"}

    runs = [(await desk.ask("POST", f"{path}/backfill", json=stretch)).json()["runs"] for _ in range(2)]

    assert runs == [4, 0]  # the Mondays of January
    first = await desk.read(f"{path}/runs", limit=3)
    rest = await desk.read(f"{path}/runs", limit=3, cursor=first["next"])
    assert [run["fireAt"][:10] for run in [*first["runs"], *rest["runs"]]] == [
        "2026-01-26",
        "2026-01-19",
        "2026-01-12",
        "2026-01-05",
    ]
    backwards = {"first": stretch["last"], "last": stretch["first"]}
    assert await desk.refusal("POST", f"{path}/backfill", json=backwards) == (400, "invalid_backfill")
    secondly = f"/api/schedules/{(await add(desk, cron='* * * * *', startAt='2026-01-01T00:00:00Z'))['id']}"
    assert await desk.refusal("POST", f"{secondly}/backfill", json=stretch) == (400, "backfill_too_long")


async def test_what_is_deleted_is_gone(desk: JobDesk) -> None:
    path = f"/api/schedules/{(await add(desk))['id']}"

    assert (await desk.ask("DELETE", path)).status_code == 204

    for method, suffix in (
        ("GET", ""),
        ("GET", "/runs"),
        ("DELETE", ""),
        ("POST", "/resume"),
        ("POST", "/run"),
    ):
        assert await desk.refusal(method, f"{path}{suffix}") == (404, "schedule_not_found")


async def test_nobody_sees_or_touches_what_belongs_to_another(desk: JobDesk) -> None:
    path = f"/api/schedules/{(await add(desk))['id']}"
    stranger = uuid4()

    for method, suffix in (
        ("GET", ""),
        ("GET", "/runs"),
        ("GET", "/upcoming"),
        ("DELETE", ""),
        ("POST", "/pause"),
    ):
        found = await desk.refusal(method, f"{path}{suffix}", user=stranger)
        assert found == (404, "schedule_not_found")
    listed = await desk.ask("GET", "/api/schedules", user=stranger)
    assert listed.json() == {"schedules": [], "next": None}
    worker = await desk.ask("GET", "/api/schedules", headers=await desk.key("worker"))
    assert worker.status_code == 403


async def test_a_service_adds_them_for_a_user(desk: JobDesk) -> None:
    headers = await desk.key("service")
    nobody = await desk.ask("POST", "/api/schedules", headers=headers, json=asked())
    added = await desk.ask("POST", "/api/schedules", headers=headers, json=asked(userId=str(desk.user)))

    assert nobody.json()["code"] == "schedule_owner_missing"
    assert (await desk.read(f"/api/schedules/{added.json()['id']}"))["name"] == added.json()["name"]


async def test_they_are_listed_by_name_in_pages(desk: JobDesk) -> None:
    user = uuid4()
    for name in ("c", "a", "b"):
        await desk.ask("POST", "/api/schedules", user=user, json=asked(name=name))

    first = (await desk.ask("GET", "/api/schedules", user=user, params={"limit": 2})).json()
    rest = (await desk.ask("GET", "/api/schedules", user=user, params={"cursor": first["next"]})).json()

    assert [one["name"] for one in [*first["schedules"], *rest["schedules"]]] == ["a", "b", "c"]
    by_name = (await desk.ask("GET", "/api/schedules", user=user, params={"name": "b"})).json()
    assert [one["name"] for one in by_name["schedules"]] == ["b"]
    paused = (await desk.ask("GET", "/api/schedules", user=user, params={"status": "paused"})).json()
    assert paused["schedules"] == []


async def test_what_would_run_is_shown_with_the_offset_of_its_zone(desk: JobDesk) -> None:
    recurs = {"cron": "30 2 * * *", "zone": "Europe/Berlin", "after": "2026-03-28T12:00:00Z", "count": 3}

    answer = await desk.ask("POST", "/api/schedules/preview", json=recurs)

    assert answer.json()["occurrences"] == [
        "2026-03-29T03:00:00+02:00",  # there is no half past two on that day
        "2026-03-30T02:30:00+02:00",
        "2026-03-31T02:30:00+02:00",
    ]
    added = await add(desk, cron="0 0 1 1 *", zone="UTC")
    upcoming = await desk.read(f"/api/schedules/{added['id']}/upcoming", count=2)
    years = [datetime.fromisoformat(one).year for one in upcoming["occurrences"]]
    assert years[1] == years[0] + 1
    assert datetime.fromisoformat(upcoming["occurrences"][0]) > datetime.now(UTC) - timedelta(days=1)
