"""The database goes away under a running API, and comes back."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import pytest

from shoal.ledger.pool import Ledger
from shoal.ledger.settings import LedgerSettings
from shoal.vault.store import Vault

from .conftest import PostgresServer
from .serving import serve

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.fixture
def own_postgres() -> Iterator[Any]:
    with TemporaryDirectory(prefix="shoal-") as folder:
        server = PostgresServer(Path(folder))
        server.create()
        server.start()
        yield server
        server.stop()


@pytest.mark.xfail(
    reason="Ledger.connection does not explain() a failed reconnect: over a Unix socket it is a bare "
    "FileNotFoundError, which nobody can tell from a defect. Passes once it does."
)
async def test_while_the_database_is_away_callers_hear_to_come_again(own_postgres: Any, vault: Vault) -> None:
    ledger = Ledger(LedgerSettings(database_url=own_postgres.url("shoal"), database_pool_size=2))
    await ledger.start()
    async with serve(ledger, vault) as api, httpx.AsyncClient(base_url=api.url, trust_env=False) as client:
        key = await api.access.issue_key("service", "ci")

        async def ask() -> httpx.Response:
            return await client.get("/api/me", headers={"Authorization": f"Bearer {key.text}"})

        assert (await ask()).status_code == 200
        own_postgres.stop()
        for _ in range(3):
            away = await ask()
            assert (away.status_code, away.json()["code"]) == (503, "database_unreachable")
            assert away.headers["retry-after"]
        status = await client.get("/status")
        assert (status.status_code, status.json()["supabase"]) == (503, "disconnected")

        await own_postgres.restart()
        assert (await ask()).status_code == 200
        assert (await client.get("/status")).status_code == 200
    await ledger.stop()
