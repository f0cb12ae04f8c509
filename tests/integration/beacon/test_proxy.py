"""The proxy endpoints as whoever reaches them over HTTP sees them. Only Centrifugo may ask."""

from typing import Any
from uuid import uuid4

import httpx
import pytest

from .site import SECRETS, CentrifugoSite

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.fixture
def at(at_centrifugo: CentrifugoSite) -> CentrifugoSite:
    return at_centrifugo


HEADER = "X-Centrifugo-Proxy-Secret"
PATHS = ("connect", "subscribe", "publish", "refresh", "rpc")


async def ask(at: CentrifugoSite, path: str, body: Any, **headers: str) -> httpx.Response:
    shown = headers or {HEADER: SECRETS.centrifugo_proxy_secret}
    async with httpx.AsyncClient(trust_env=False) as client:
        return await client.post(f"{at.api.url}/proxy/{path}", json=body, headers=shown)


def asked(user: str, kind: str = "portal", **more: Any) -> dict[str, Any]:
    common = {"client": "c1", "transport": "websocket", "protocol": "json", "encoding": "json"}
    return {**common, "user": user, "meta": {"kind": kind}, **more}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("shown", ["", "wrong", SECRETS.centrifugo_proxy_secret[:-1], "é"])
async def test_whoever_does_not_show_the_secret_learns_nothing(
    at: CentrifugoSite, path: str, shown: str
) -> None:
    secret = SECRETS.centrifugo_proxy_secret.encode()
    for headers in ({HEADER.encode(): shown.encode()}, {b"X-Centrifugo-Secret": secret}):
        async with httpx.AsyncClient(trust_env=False) as client:
            answer = await client.post(f"{at.api.url}/proxy/{path}", json={"broken": 1}, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (403, "proxy_secret_wrong")


@pytest.mark.parametrize("path", PATHS)
async def test_a_question_that_cannot_be_read_is_no(at: CentrifugoSite, path: str) -> None:
    bodies: list[Any] = [{}, [], {"client": 1}]
    for body in bodies:
        answer = await ask(at, path, body)
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")


@pytest.mark.parametrize("kind", ["", "portal", "node", "service", "root"])
async def test_nothing_is_allowed_that_nobody_decided(at: CentrifugoSite, kind: str) -> None:
    for user in ("", str(uuid4()), "online"):
        for path, more in (
            ("subscribe", {"channel": "jobs:x"}),
            ("subscribe", {"channel": ""}),
            ("subscribe", {"channel": "nodes:online"}),
            ("publish", {"channel": "chunks:complete", "data": {}}),
            ("rpc", {"method": "getOnlineNodes"}),
        ):
            given = (await ask(at, path, asked(user, kind, **more))).json()
            assert given == {"disconnect": {"code": 4501, "reason": "not welcome"}}, (path, user)
        given = (await ask(at, "refresh", asked(user, kind))).json()
        assert given == {"result": {"expired": True}}


async def test_a_peer_without_meta_stays_outside(at: CentrifugoSite) -> None:
    user = str(await at.user())
    without: list[dict[str, Any]] = [{}, {"meta": None}, {"meta": {}}]
    for meta in without:
        body = {"client": "c1", "user": user, "channel": "nodes:online", **meta}
        assert "disconnect" in (await ask(at, "subscribe", body)).json()


async def test_a_known_user_is_allowed_and_refused_in_centrifugos_words(at: CentrifugoSite) -> None:
    user = str(await at.user())
    allowed = (await ask(at, "subscribe", asked(user, channel="nodes:online", b64data="", x=1))).json()
    assert allowed["result"]["data"]["nodes"] == await at.nodes.online()
    denied = (await ask(at, "subscribe", asked(user, channel=f"jobs:{uuid4()}"))).json()
    assert denied == {"error": {"code": 103, "message": "permission denied"}}
    unknown = (await ask(at, "rpc", asked(user, method="nothing"))).json()
    assert unknown == {"error": {"code": 104, "message": "method not found"}}


async def test_a_result_is_taken_and_not_passed_on_to_a_history(at: CentrifugoSite) -> None:
    node = at.nodes.register()
    meta = dict(at.tokens.verify(at.node_token(node)).meta)
    body = {**asked(node, channel="chunks:complete", data={"n": 1}), "meta": meta}
    assert (await ask(at, "publish", body)).json() == {"result": {"skip_history": True}}
    assert at.nodes.handed_in[-1] == (node, {"n": 1})


async def test_connecting_through_the_proxy_says_who_it_is_and_until_when(at: CentrifugoSite) -> None:
    node = at.nodes.register()
    given = (await ask(at, "connect", {"client": "c1", "data": {"token": at.node_token(node)}})).json()
    result = given["result"]
    identity = at.tokens.verify(at.node_token(node))
    assert (result["user"], result["channels"], result["meta"]) == (
        node,
        [f"nodes:{node}"],
        dict(identity.meta),
    )
    renewed = (await ask(at, "refresh", {"client": "c1", "user": node, "meta": result["meta"]})).json()
    assert renewed["result"]["expire_at"] >= result["expire_at"]


async def test_connecting_through_the_proxy_without_a_good_token_is_the_end(at: CentrifugoSite) -> None:
    node = at.nodes.register()
    token = at.node_token(node)
    del at.nodes.known[node]
    for data, code in (
        (None, 3500),
        ({}, 3500),
        ({"token": 1}, 3500),
        ({"token": "x"}, 3500),
        ({"token": token}, 4501),
    ):
        given = (await ask(at, "connect", {"client": "c1", "data": data})).json()
        assert given["disconnect"]["code"] == code, data
        assert "result" not in given
