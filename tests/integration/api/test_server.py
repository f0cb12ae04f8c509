"""The server's life: it binds, tells where, drains and lets go."""

import asyncio
import contextlib
import signal
import socket

import httpx
import pytest
from litestar.types import Receive, Scope, Send

from shoal.api.server import HttpServer
from shoal.api.settings import ApiSettings
from shoal.runtime.errors import Conflict, Invalid
from shoal.runtime.lifecycle import run_parts

from .serving import Api

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def hello(_: Scope, __: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"hello", "more_body": False})


def server(host: str = "127.0.0.1", port: int = 0, *, drain_s: float = 5) -> HttpServer:
    return HttpServer(hello, ApiSettings(api_host=host, api_port=port), drain_s=drain_s)


def port_of(one: HttpServer) -> int:
    return int(one.url.rsplit(":", 1)[1])


async def test_it_runs_in_the_life_cycle_and_leaves_the_signals_alone() -> None:
    part, ending, started = server(), asyncio.Event(), asyncio.Event()
    before = signal.getsignal(signal.SIGTERM)
    life = asyncio.create_task(run_parts([part], grace_s=5, until=ending, on_started=started.set))
    await started.wait()

    async with httpx.AsyncClient(trust_env=False) as client:
        answer = await client.get(part.url)
    ending.set()
    await life

    assert answer.text == "hello"
    assert signal.getsignal(signal.SIGTERM) == before
    with pytest.raises(OSError, match="Connect call failed"):
        await asyncio.open_connection("127.0.0.1", port_of(part))


async def test_a_busy_port_is_named_with_what_to_do() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]

        with pytest.raises(Conflict) as busy:
            await server(port=port).start()

    assert busy.value.code == "port_busy"
    assert f"127.0.0.1:{port}" in busy.value.message
    assert "SHOAL_API_PORT" in busy.value.hint


@pytest.mark.parametrize("host", ["203.0.113.7", "no such host", "a" * 300])
async def test_an_address_that_is_not_ours_is_refused(host: str) -> None:
    with pytest.raises(Invalid) as refused:
        await server(host).start()

    assert refused.value.code == "address_unusable"


async def test_a_port_is_free_again_at_once() -> None:
    first = server()
    await first.start()
    port = port_of(first)
    await first.stop()

    second = server(port=port)
    await second.start()
    await second.stop()
    await second.stop()


async def test_all_addresses_are_told_as_one_that_can_be_opened() -> None:
    part = server("0.0.0.0")  # noqa: S104 - for a moment, and what the test is about
    await part.start()
    running = asyncio.create_task(part.run())

    async with httpx.AsyncClient(trust_env=False) as client:
        assert (await client.get(part.url)).text == "hello"

    await part.stop()
    await running


async def test_a_request_under_way_ends_before_the_server_does() -> None:
    entered, may_answer = asyncio.Event(), asyncio.Event()

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        entered.set()
        await may_answer.wait()
        await hello(scope, receive, send)

    part = HttpServer(slow, ApiSettings(api_port=0), drain_s=5)
    await part.start()
    running = asyncio.create_task(part.run())
    async with httpx.AsyncClient(trust_env=False) as client:
        asking = asyncio.create_task(client.get(part.url))
        await entered.wait()
        await part.stop()
        await _until_refused(port_of(part))
        may_answer.set()

        assert (await asking).text == "hello"
    await running


async def test_a_request_without_end_does_not_hold_the_server_up() -> None:
    entered = asyncio.Event()

    async def endless(scope: Scope, receive: Receive, send: Send) -> None:
        entered.set()
        await asyncio.Event().wait()

    part = HttpServer(endless, ApiSettings(api_port=0), drain_s=1)
    await part.start()
    running = asyncio.create_task(part.run())
    async with httpx.AsyncClient(trust_env=False) as client:
        asking = asyncio.create_task(client.get(part.url))
        await entered.wait()
        await part.stop()
        async with asyncio.timeout(5):
            await running
        with contextlib.suppress(httpx.HTTPError):
            assert (await asking).status_code >= 500


ENOUGH = 64 * 1024 + 1


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\nhost: x\r\nx: ".ljust(ENOUGH, b"a"),
        b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * (ENOUGH // 6),
        b"GET /".ljust(ENOUGH, b"a"),
    ],
    ids=["one long header", "many headers", "a long address"],
)
async def test_a_head_without_end_is_refused(api: Api, head: bytes) -> None:
    answer = await api.raw(*(head[at : at + 16384] for at in range(0, len(head), 16384)))

    assert answer.startswith(b"HTTP/1.1 431 ")


async def test_a_connection_that_goes_on_and_on_is_cut(api: Api) -> None:
    answer = await api.raw(b"GET / HTTP/1.1\r\nx: ", *[b"a" * 65536] * 64)

    assert answer.startswith(b"HTTP/1.1 431 ") or not answer  # a reset may overtake the answer


async def test_an_ordinary_head_on_a_used_connection_is_not_counted_twice(api: Api) -> None:
    padding = {"X-Padding": "a" * 30_000, **api.token()}
    async with httpx.AsyncClient(base_url=api.url, trust_env=False) as client:
        for _ in range(5):
            assert (await client.get("/api/me", headers=padding)).status_code == 200


async def test_what_is_not_http_is_refused(api: Api) -> None:
    answer = await api.raw(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n")

    assert answer.startswith(b"HTTP/1.1 400 ")


async def _until_refused(port: int) -> None:
    async with asyncio.timeout(5):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                return
            writer.close()
            await asyncio.sleep(0.01)
