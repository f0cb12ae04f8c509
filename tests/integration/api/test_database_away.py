"""The database goes away under a running API, and comes back."""

import httpx
import pytest

from shoal.ledger.pool import Ledger
from shoal.ledger.settings import LedgerSettings
from shoal.vault.store import Vault
from tests.support.postgres import PostgresServer

from .serving import serve

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.newest_servers
async def test_while_the_database_is_away_callers_hear_to_come_again(
    postgres_to_stop: PostgresServer, vault: Vault
) -> None:
    async with postgres_to_stop.migrated_database() as name:
        await go_away_and_come_back(postgres_to_stop, postgres_to_stop.url(name), vault)


async def go_away_and_come_back(server: PostgresServer, url: str, vault: Vault) -> None:
    ledger = Ledger(LedgerSettings(database_url=url, database_pool_size=2))
    await ledger.start()
    async with serve(ledger, vault) as api, httpx.AsyncClient(base_url=api.url, trust_env=False) as client:
        key = await api.access.issue_key("service", "ci")

        async def ask() -> httpx.Response:
            return await client.get("/api/me", headers={"Authorization": f"Bearer {key.text}"})

        assert (await ask()).status_code == 200
        await server.stop()
        for _ in range(3):
            away = await ask()
            assert (away.status_code, away.json()["code"]) == (503, "database_unreachable")
            assert away.headers["retry-after"]
        status = await client.get("/status")
        assert (status.status_code, status.json()["supabase"]) == (503, "disconnected")

        await server.start()
        assert (await ask()).status_code == 200
        assert (await client.get("/status")).status_code == 200
    await ledger.stop()
