"""Who may register and get a token: those who sign, once for each request, now."""

import asyncio
import base64
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from shoal.brain.connection import Brain
from shoal.ledger.pool import Ledger
from shoal.runtime.clock import SystemClock
from shoal.runtime.signatures import SignedRequest, hash_body, string_to_sign

from .site import FieldNode, Site, sentinel

pytestmark = pytest.mark.newest_servers


class OffClock(SystemClock):
    def __init__(self, seconds: float) -> None:
        self._off = timedelta(seconds=seconds)

    def now(self) -> datetime:
        return super().now() + self._off


def code_of(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


async def test_the_same_key_is_the_same_node(site: Site) -> None:
    node = FieldNode(site)
    first = await node.register(name="laptop")
    again = await node.register(name="other")
    assert first == again
    assert first["claimCode"]

    owner = await site.user()
    await site.ask(
        owner, "POST", "/api/nodes/claim", {"claimCode": first["claimCode"].lower(), "name": "mine"}
    )
    assert (await node.register(name="thief"))["claimCode"] is None
    (found,) = (await site.ask(owner, "GET", "/api/nodes"))["nodes"]
    assert (found["name"], found["publicKey"]) == ("mine", node.identity.public_key.hex())


async def test_a_key_that_never_registered_gets_no_token(site: Site) -> None:
    assert code_of(await FieldNode(site).knock("POST", "/nodes/token")) == (401, "node_unknown")


@pytest.mark.parametrize("seconds", [-70, 70])
async def test_a_request_from_another_time_is_refused(site: Site, seconds: float) -> None:
    node = FieldNode(site, clock=OffClock(seconds))
    assert code_of(await node.knock("POST", "/nodes/register", b"{}")) == (401, "signature_expired")


@pytest.mark.parametrize("seconds", [-3, 50])
async def test_clocks_may_differ_a_little(site: Site, seconds: float) -> None:
    await asyncio.sleep(max(0.0, -seconds))  # the brain of this test has just been emptied
    assert (await FieldNode(site, clock=OffClock(seconds)).register())["id"]


async def test_a_request_passes_once(site: Site) -> None:
    node = FieldNode(site)
    await node.register()
    signed = dict(node.identity.sign("POST", f"{site.url}/nodes/token"))
    first = await node.knock("POST", "/nodes/token", headers=signed)
    again = await node.knock("POST", "/nodes/token", headers=signed)
    shouted = {**signed, "X-Shoal-Nonce": signed["X-Shoal-Nonce"].upper()}

    assert first.status_code == 200
    assert code_of(again) == (401, "signature_used")
    assert (await node.knock("POST", "/nodes/token", headers=shouted)).status_code == 401


async def test_a_brain_that_was_emptied_refuses_what_was_signed_before(site: Site) -> None:
    node = FieldNode(site)
    await node.register()
    signed = dict(node.identity.sign("POST", f"{site.url}/nodes/token"))
    assert (await node.knock("POST", "/nodes/token", headers=signed)).status_code == 200
    client: Any = site.brain.client
    await client.flushall()

    assert code_of(await node.knock("POST", "/nodes/token", headers=signed)) == (503, "nonces_forgotten")
    assert (await node.knock("POST", "/nodes/token")).status_code == 200


@pytest.mark.parametrize("changed", ["path", "method", "body", "host", "query", "key", "timestamp", "nonce"])
async def test_a_signature_holds_for_nothing_else(site: Site, changed: str) -> None:
    node, stranger = FieldNode(site), FieldNode(site)
    await node.register()
    path, body = "/nodes/register", b'{"name":"a"}'
    signed: dict[str, Any] = dict(node.identity.sign("POST", f"{site.url}{path}", body))
    match changed:
        case "path":
            path, body = "/nodes/token", b""
        case "method":
            signed |= dict(node.identity.sign("PUT", f"{site.url}{path}", body))
        case "body":
            body = b'{"name":"b"}'
        case "host":
            signed |= dict(node.identity.sign("POST", f"http://elsewhere:1{path}", body))
        case "query":
            path += "?a=1"
        case "key":
            signed["X-Shoal-Key"] = stranger.identity.public_key.hex()
        case "timestamp":
            signed["X-Shoal-Timestamp"] = str(int(time.time() * 1000) + 1)
        case _:
            signed["X-Shoal-Nonce"] = str(uuid4())

    answer = await node.knock("POST", path, body, headers=signed)
    assert code_of(answer) == (401, "signature_wrong")


def signed_body(node: FieldNode, path: str, *, timestamp: int | None = None) -> dict[str, Any]:
    """The seed's way: version 1, in the body."""
    at, nonce = timestamp or int(time.time() * 1000), str(uuid4())
    request = SignedRequest("POST", "", path, "", str(at), nonce, hash_body(b""))
    request = SignedRequest("POST", "any", path, "", str(at), nonce, hash_body(b""))
    signature = node.key.sign(string_to_sign(request, 1))
    return {
        "pubkey": base64.b64encode(node.identity.public_key).decode(),
        "signature": base64.b64encode(signature).decode(),
        "timestamp": at,
        "nonce": nonce,
    }


async def test_the_signature_may_stand_in_the_body(site: Site) -> None:
    node = FieldNode(site)
    body = signed_body(node, "/nodes/register")
    registered = await site.http.post(f"{site.url}/nodes/register", json=body)
    token = await site.http.post(f"{site.url}/nodes/token", json=signed_body(node, "/nodes/token"))
    again = await site.http.post(f"{site.url}/nodes/register", json=body)

    assert registered.json()["claimCode"]
    assert set(token.json()) >= {"jwt", "expires_at"}
    assert time.time() + 800 < token.json()["expires_at"] < time.time() + 1000
    assert code_of(again) == (401, "signature_used")


async def test_nothing_may_stand_beside_a_signature_in_the_body(site: Site) -> None:
    """It would not be covered."""
    body = {**signed_body(FieldNode(site), "/nodes/register"), "name": "smuggled"}
    answer = await site.http.post(f"{site.url}/nodes/register", json=body)
    assert code_of(answer) == (401, "signature_missing")


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b"nonsense", b'{"pubkey": 7}'])
async def test_what_is_not_signed_is_refused(site: Site, body: bytes) -> None:
    for path in ("/nodes/register", "/nodes/token"):
        assert code_of(await site.http.post(site.url + path, content=body)) == (401, "signature_missing")
    assert code_of(await site.http.get(f"{site.url}/config/{'0' * 64}")) == (401, "signature_missing")


async def test_an_address_registers_ten_nodes_a_minute(
    database_url: str, valkey_url: str, ledger: Ledger, brain: Brain, tmp_path: Path
) -> None:
    header = "X-Forwarded-For"
    async with sentinel(
        database_url, valkey_url, tmp_path, ledger=ledger, brain=brain, node_address_header=header
    ) as site:

        async def register(address: str) -> httpx.Response:
            node = FieldNode(site)
            signed = dict(node.identity.sign("POST", f"{site.url}/nodes/register", b"{}"))
            headers = {**signed, header: address}
            return await node.knock("POST", "/nodes/register", b"{}", headers=headers)

        # What the client claims stands before what the balancer adds.
        said = [(await register(f"10.0.0.{number}, 192.0.2.7")).status_code for number in range(11)]
        assert said == [200] * 10 + [429]
        assert code_of(await register("192.0.2.7")) == (429, "too_many_connections")
        assert (await register("192.0.2.7")).headers["Retry-After"]
        assert (await register("192.0.2.8")).status_code == 200
        assert (await register("127.0.0.1")).status_code == 200


async def test_a_body_that_is_too_large_is_not_read(site: Site) -> None:
    answer = await FieldNode(site).knock("POST", "/nodes/register", b" " * 20_000)
    assert code_of(answer) == (413, "body_too_large")
