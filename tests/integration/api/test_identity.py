"""Closed by default; who is let in, and as whom."""

from datetime import timedelta
from uuid import uuid4

import httpx
import jwt
import pytest

from shoal.access.tokens import issue_token

from .serving import SECRET, Api

pytestmark = pytest.mark.asyncio(loop_scope="session")

CLOSED = ["/api/me", "/api/users-only", "/api/services-only", "/api/raise/x"]


def bearer(text: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {text}"}


@pytest.mark.parametrize("path", CLOSED)
async def test_everything_handed_in_is_closed(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(path)

    assert answer.status_code == 401
    assert answer.json()["code"] == "token_missing"
    assert answer.headers["www-authenticate"] == 'Bearer realm="shoal"'


async def test_a_user_hears_who_they_are(client: httpx.AsyncClient, api: Api) -> None:
    user = uuid4()

    answer = await client.get("/api/me", headers=api.token(user))

    assert answer.json() == {"kind": "user", "id": str(user), "name": ""}
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (issue_token("another secret of 32 bytes or more", uuid4(), timedelta(hours=1)), "token_invalid"),
        (issue_token(SECRET, uuid4(), timedelta(hours=-1)), "token_expired"),
        (issue_token(SECRET, uuid4(), timedelta(hours=1), audience="other"), "token_invalid"),
        (jwt.encode({"sub": str(uuid4()), "exp": 4e9}, "", algorithm="none"), "token_invalid"),
        (jwt.encode({"role": "anon", "exp": 4e9}, SECRET), "token_invalid"),
        ("shoal_worker_0_0", "key_invalid"),
        (f"shoal_admin_{'0' * 32}_{'0' * 64}", "key_invalid"),
        ("\xe9", "token_invalid"),
        ("a" * 20_000, "token_invalid"),
    ],
    ids=["forged", "expired", "audience", "none", "anon", "short key", "kind", "latin", "long"],
)
async def test_who_is_not_known_is_refused(client: httpx.AsyncClient, text: str, code: str) -> None:
    given = [(b"Authorization", b"Bearer " + text.encode("latin-1"))]
    answer = await client.get("/api/me", headers=given)

    assert answer.status_code == 401
    assert answer.json()["code"] == code
    assert 'error="invalid_token"' in answer.headers["www-authenticate"]
    assert text not in answer.text


async def test_two_credentials_are_refused(client: httpx.AsyncClient, api: Api) -> None:
    twice = [(name, value) for name, value in api.token().items()] * 2

    answer = await client.get("/api/me", headers=twice)

    assert answer.json()["code"] == "token_invalid"


async def test_a_key_is_let_in_until_it_is_revoked(client: httpx.AsyncClient, api: Api) -> None:
    key = await api.access.issue_key("worker", "gpu-1")

    known = await client.get("/api/me", headers=bearer(key.text))
    await api.access.revoke_key("gpu-1")
    revoked = await client.get("/api/me", headers=bearer(key.text))

    assert known.json() == {"kind": "worker", "id": str(key.id), "name": "gpu-1"}
    assert (revoked.status_code, revoked.json()["code"]) == (401, "key_revoked")


async def test_guards_tell_the_kinds_apart(client: httpx.AsyncClient, api: Api) -> None:
    service = bearer((await api.access.issue_key("service", "ci")).text)
    worker = bearer((await api.access.issue_key("worker", "guarded")).text)

    seen = {
        (path, name): (await client.get(f"/api/{path}", headers=headers)).json()
        for path in ("users-only", "services-only")
        for name, headers in (("user", api.token()), ("service", service), ("worker", worker))
    }

    allowed = {pair: answer for pair, answer in seen.items() if isinstance(answer, list)}
    refused = {pair: answer["code"] for pair, answer in seen.items() if isinstance(answer, dict)}
    assert allowed == {("users-only", "user"): ["user"], ("services-only", "service"): ["service"]}
    assert refused == {
        ("users-only", "service"): "users_only",
        ("users-only", "worker"): "users_only",
        ("services-only", "user"): "services_only",
        ("services-only", "worker"): "services_only",
    }
