"""A workshop on the newest PostgreSQL: what a worker does says nothing about SQL."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from shoal.ledger.connection import connect
from tests.integration.jobs.invariants import broken
from tests.integration.jobs.ledger_client import LedgerClient
from tests.integration.worker.workshop import Workshop

HERE = Path(__file__).parent


@pytest.fixture
async def workshop(database_url: str, tmp_path: Path) -> AsyncIterator[Workshop]:
    """When the test is over, every job is as it must be."""
    connection = await connect(database_url, application="test workshop")
    try:
        yield Workshop(LedgerClient(connection), database_url=database_url, folder=tmp_path)
        assert await broken(connection) == []
    finally:
        await connection.close()
