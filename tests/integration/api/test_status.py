"""``GET /status`` as the seed has it."""

import asyncio

import httpx
import pytest

from shoal.ledger.pool import Ledger
from shoal.vault.store import Vault
from shoal.wire.status import StatusMetrics

from .serving import serve

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def reachable() -> None:
    pass


async def unreachable() -> None:
    raise ConnectionRefusedError


async def some_metrics() -> StatusMetrics:
    return StatusMetrics(active_nodes=42, active_jobs=5, chunks_per_minute=1200)


async def no_metrics() -> StatusMetrics:
    raise ConnectionRefusedError


async def test_healthy_with_everything_connected(ledger: Ledger, vault: Vault) -> None:
    checks = {
        "redis": reachable,
        "centrifugo": reachable,
        "supabase": ledger.check,
        "vault": vault.check,
    }
    async with (
        serve(ledger, vault, checks=checks, read_metrics=some_metrics) as api,
        httpx.AsyncClient(trust_env=False) as client,
    ):
        answer = await client.get(f"{api.url}/status")

    assert answer.status_code == 200
    assert answer.json() == {
        "status": "healthy",
        "redis": "connected",
        "centrifugo": "connected",
        "supabase": "connected",
        "vault": "connected",
        "metrics": {"active_nodes": 42, "active_jobs": 5, "chunks_per_minute": 1200},
    }


async def test_what_is_not_configured_does_not_degrade(ledger: Ledger, vault: Vault) -> None:
    async with (
        serve(ledger, vault, checks={"supabase": ledger.check}) as api,
        httpx.AsyncClient(trust_env=False) as client,
    ):
        answer = await client.get(f"{api.url}/status")

    assert answer.status_code == 200
    assert answer.json()["status"] == "healthy"
    assert answer.json()["redis"] == answer.json()["centrifugo"] == "disabled"


async def test_degraded_when_something_is_away(ledger: Ledger, vault: Vault) -> None:
    checks = {"redis": unreachable, "supabase": ledger.check}
    async with (
        serve(ledger, vault, checks=checks) as api,
        httpx.AsyncClient(trust_env=False) as client,
    ):
        answer = await client.get(f"{api.url}/status")
        head = await client.head(f"{api.url}/status")

    assert answer.status_code == head.status_code == 503
    assert answer.json()["status"] == "degraded"
    assert (answer.json()["redis"], answer.json()["supabase"]) == ("disconnected", "connected")


async def test_a_beacon_that_is_away_takes_no_sentinel_out(ledger: Ledger, vault: Vault) -> None:
    checks = {"centrifugo": unreachable, "supabase": ledger.check}
    async with (
        serve(ledger, vault, checks=checks) as api,
        httpx.AsyncClient(trust_env=False) as client,
    ):
        answer = await client.get(f"{api.url}/status")

    assert answer.status_code == 200
    assert (answer.json()["status"], answer.json()["centrifugo"]) == ("degraded", "disconnected")


async def test_degraded_when_the_numbers_cannot_be_read(ledger: Ledger, vault: Vault) -> None:
    async with (
        serve(ledger, vault, read_metrics=no_metrics) as api,
        httpx.AsyncClient(trust_env=False) as client,
    ):
        answer = await client.get(f"{api.url}/status")

    assert answer.status_code == 503
    assert answer.json()["metrics"]["active_jobs"] == 0


async def test_asking_often_looks_once(ledger: Ledger, vault: Vault) -> None:
    looks = 0
    ready = asyncio.Event()

    async def slow() -> None:
        nonlocal looks
        looks += 1
        await ready.wait()

    async with (
        serve(ledger, vault, checks={"redis": slow}) as api,
        httpx.AsyncClient(trust_env=False) as client,
    ):
        asking = [asyncio.create_task(client.get(f"{api.url}/status")) for _ in range(10)]
        # The answer to something else, asked later, shows that the ten are under way.
        await client.get(f"{api.url}/metrics")
        ready.set()
        answers = await asyncio.gather(*asking)

    assert looks == 1
    assert {answer.status_code for answer in answers} == {200}
