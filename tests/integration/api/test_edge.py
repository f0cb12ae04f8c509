"""What every answer carries, and what is counted."""

import httpx
import pytest
import structlog
from prometheus_client import CollectorRegistry

from shoal.ledger.pool import Ledger
from shoal.vault.store import Vault

from .serving import Api, serve

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.parametrize("path", ["/status", "/nope", "/api/me", "/api/docs", "/files/x?y"])
async def test_every_answer_carries_the_security_headers(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(path)

    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "server" not in answer.headers
    assert "access-control-allow-origin" not in answer.headers


async def test_a_harmless_request_id_is_kept_and_logged(client: httpx.AsyncClient) -> None:
    with structlog.testing.capture_logs(processors=[structlog.contextvars.merge_contextvars]) as logged:
        answer = await client.get("/nope", headers={"X-Request-Id": "abc-1.2_Z"})

    assert answer.headers["x-request-id"] == "abc-1.2_Z"
    [line] = [line for line in logged if line["event"] == "request"]
    assert (line["request_id"], line["path"], line["status"]) == ("abc-1.2_Z", "/nope", 404)


@pytest.mark.parametrize("given", ["a b", "a" * 65, "", "{}", '"', "a;b"])
async def test_another_request_id_is_replaced(client: httpx.AsyncClient, given: str) -> None:
    answer = await client.get("/nope", headers={"X-Request-Id": given})

    assert answer.headers["x-request-id"] != given
    assert len(answer.headers["x-request-id"]) == 32


async def test_requests_are_counted_by_route_and_never_by_address(
    client: httpx.AsyncClient, api: Api, registry: CollectorRegistry
) -> None:
    def counted(method: str, route: str, status: str) -> float:
        labels = {"method": method, "route": route, "status": status}
        return registry.get_sample_value("sentinel_http_requests_total", labels) or 0

    expected = {
        ("GET", "/api/raise/{kind}", "404"): 5,
        ("GET", "unmatched", "404"): 5,
        ("other", "unmatched", "404"): 1,
    }
    before = {labels: counted(*labels) for labels in expected}

    for number in range(5):
        await client.get("/api/raise/NotFound", headers=api.token())
        await client.get(f"/wp-admin/{number}")
    await client.request("PROPFIND", "/x")
    text = (await client.get("/metrics")).text

    assert {labels: counted(*labels) - before[labels] for labels in expected} == expected
    assert 'sentinel_http_request_seconds_bucket{le="0.5",method="GET",route="unmatched"}' in text
    assert "wp-admin" not in text


async def test_metrics_are_in_prometheus_form(client: httpx.AsyncClient) -> None:
    answer = await client.get("/metrics")

    assert answer.headers["content-type"].startswith("text/plain; version=")
    assert answer.headers["content-type"].count("charset") == 1


async def test_only_named_origins_may_call_from_a_page(ledger: Ledger, vault: Vault) -> None:
    ours, theirs = "https://app.example.org", "https://evil.example.org"
    async with (
        serve(ledger, vault, origins=(ours,)) as api,
        httpx.AsyncClient(base_url=api.url, trust_env=False) as client,
    ):

        async def preflight(origin: str) -> httpx.Response:
            asked = {"Origin": origin, "Access-Control-Request-Method": "GET"}
            return await client.options("/api/me", headers=asked)

        good, bad = await preflight(ours), await preflight(theirs)
        simple = await client.get("/api/me", headers={"Origin": theirs})

    assert good.headers["access-control-allow-origin"] == ours
    assert "access-control-allow-credentials" not in good.headers
    assert "access-control-allow-origin" not in bad.headers
    assert "access-control-allow-origin" not in simple.headers
