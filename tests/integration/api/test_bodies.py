"""Bodies are limited, and JSON is read strictly."""

import json

import httpx
import pytest

from .serving import Api

pytestmark = pytest.mark.asyncio(loop_scope="session")

LIMIT = 65536
JSON = {"Content-Type": "application/json"}


async def code_of(client: httpx.AsyncClient, api: Api, body: bytes) -> tuple[int, str]:
    answer = await client.post("/api/orders", content=body, headers={**api.token(), **JSON})
    return answer.status_code, answer.json().get("code", "")


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"{'name': 1}",
        b'{"name": "a"} x',
        b'{"name": "a", "note": NaN}',
        b'{"name": "a", "note": -Infinity}',
        b'{"name": "a", "name": "b"}',
        b'{"name": "a", "note": {"x": 1, "x": 1}}',
        b'{"name": "a\\u0000"}',
        b'{"name": "a", "note": [{"\\u0000": 1}]}',
        b'{"name": "\\ud800"}',
        b'{"name": "\xff"}',
        b'\xef\xbb\xbf{"name": "a"}',
        b'{"name": "a", "note": ' + b"[" * 20_000 + b"]" * 20_000 + b"}",
        b'{"name": "a", "note": ' + b"9" * 5_000 + b"}",
        b"\x00",
    ],
    ids=lambda body: repr(body[:40]),
)
async def test_what_is_not_strict_json_is_refused(client: httpx.AsyncClient, api: Api, body: bytes) -> None:
    assert await code_of(client, api, body) == (400, "invalid_json")


async def test_an_escaped_backslash_is_not_taken_for_a_nul(client: httpx.AsyncClient, api: Api) -> None:
    assert await code_of(client, api, b'{"name": "a\\\\u0000"}') == (201, "")


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "", "x"])
async def test_another_type_of_body_is_refused(client: httpx.AsyncClient, api: Api, kind: str) -> None:
    answer = await client.post(
        "/api/orders",
        content=b'{"name": "a"}',
        headers={**api.token(), "Content-Type": kind},
    )

    assert answer.status_code == 415
    assert answer.json()["code"] == "media_type_not_supported"


async def test_a_body_up_to_the_limit_is_taken(client: httpx.AsyncClient, api: Api) -> None:
    body = json.dumps({"name": ""}).encode()
    full = json.dumps({"name": "a" * (LIMIT - len(body))}).encode()
    assert len(full) == LIMIT

    assert (await code_of(client, api, full))[0] == 201
    assert await code_of(client, api, full + b" ") == (413, "body_too_large")


async def test_a_body_without_a_length_is_held_to_the_limit(api: Api) -> None:
    head = (
        b"POST /api/orders HTTP/1.1\r\nhost: x\r\nconnection: close\r\n"
        b"content-type: application/json\r\ntransfer-encoding: chunked\r\n"
        b"authorization: " + api.token()["Authorization"].encode() + b"\r\n\r\n"
    )
    chunk = b"1000\r\n" + b" " * 4096 + b"\r\n"

    # No last chunk: it is refused while it comes.
    answer = await api.raw(head, *[chunk] * 17)

    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b'"code":"body_too_large"' in answer


async def test_a_stranger_is_refused_before_the_body_is_read(api: Api) -> None:
    answer = await api.raw(
        b"POST /api/orders HTTP/1.1\r\nhost: x\r\nconnection: close\r\n"
        b"content-type: application/json\r\ncontent-length: 60000\r\n\r\n"
    )

    assert answer.startswith(b"HTTP/1.1 401 ")
