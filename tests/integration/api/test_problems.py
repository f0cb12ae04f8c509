"""Every error is a problem with a stable code, and tells nothing it should not."""

import httpx
import pytest
import structlog

from .serving import Api

pytestmark = pytest.mark.asyncio(loop_scope="session")


def problem(response: httpx.Response) -> dict[str, object]:
    assert response.headers["content-type"] == "application/problem+json"
    found: dict[str, object] = response.json()
    assert found.keys() == {"type", "title", "status", "code", "detail", "hint", "instance"}
    assert found["status"] == response.status_code
    assert found["type"] == f"urn:shoal:problem:{found['code']}"
    return found


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("Invalid", 400),
        ("Forbidden", 403),
        ("NotFound", 404),
        ("Conflict", 409),
        ("TooLarge", 413),
        ("Unavailable", 503),
    ],
)
async def test_each_kind_of_error_has_its_status_and_keeps_its_words(
    client: httpx.AsyncClient, api: Api, kind: str, status: int
) -> None:
    answer = await client.get(f"/api/raise/{kind}", headers=api.token())

    assert answer.status_code == status
    found = problem(answer)
    assert (found["code"], found["detail"]) == ("some_code", "What was wrong.")
    assert (found["hint"], found["instance"]) == ("What to do.", f"/api/raise/{kind}")
    assert ("retry-after" in answer.headers) == (status == 503)


async def test_an_unexpected_error_tells_an_incident_and_nothing_else(
    client: httpx.AsyncClient, api: Api
) -> None:
    with structlog.testing.capture_logs() as logged:
        answer = await client.get("/api/raise/other", headers=api.token())

    assert answer.status_code == 500
    found = problem(answer)
    assert found["code"] == "internal_error"
    assert "secret" not in answer.text
    assert "RuntimeError" not in answer.text
    [line] = [line for line in logged if line["event"] == "request failed"]
    assert found["instance"] == f"urn:shoal:incident:{line['incident']}"
    assert "a secret inside" in str(line["exc_info"])


@pytest.mark.parametrize("path", ["/", "/nope", "/api", "/api/nope", "/api/openapi.json/x", "/files"])
async def test_an_unknown_address_is_a_problem(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(path)
    if path == "/api":  # the readable page
        assert answer.status_code == 200
        return

    assert answer.status_code == 404
    assert problem(answer)["code"] == "not_found"


async def test_a_wrong_method_says_which_are_right(client: httpx.AsyncClient) -> None:
    answer = await client.delete("/api/me")

    assert answer.status_code == 405
    assert problem(answer)["code"] == "method_not_allowed"
    assert "GET" in answer.headers["allow"]


async def test_a_field_of_the_wrong_kind_is_named(client: httpx.AsyncClient, api: Api) -> None:
    for body, named in (
        ({"name": 7}, "name"),
        ({"name": "a", "count": "many"}, "count"),
        ({"count": 1}, "name"),
        ({"name": "a", "colour": "red"}, "colour"),
        ([], "the body"),
    ):
        answer = await client.post("/api/orders", headers=api.token(), json=body)

        assert answer.status_code == 400
        found = problem(answer)
        assert found["code"] == "invalid_request"
        assert named in str(found["detail"])


async def test_a_missing_body_and_a_wrong_parameter_are_named(client: httpx.AsyncClient, api: Api) -> None:
    missing = await client.post("/api/orders", headers=api.token())
    wrong = await client.get(
        f"/api/orders/{'0' * 8}-{'-'.join(['0' * 4] * 3)}-{'0' * 12}?limit=x", headers=api.token()
    )

    assert problem(missing)["detail"] == "the body: it is missing"
    assert str(problem(wrong)["detail"]).startswith("limit: ")


async def test_a_database_that_went_away_is_unavailable_not_an_incident(
    client: httpx.AsyncClient, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(_: object) -> None:
        raise ConnectionRefusedError("port 5432")

    monkeypatch.setattr(api.access, "authenticate", refuse)
    answer = await client.get("/api/me")

    assert answer.status_code == 503
    assert problem(answer)["code"] == "database_unreachable"
    assert "5432" not in answer.text
