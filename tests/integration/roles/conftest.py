"""A field for each test; the processes it left are killed at its end."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from shoal.ledger.connection import connect
from tests.integration.jobs.invariants import broken
from tests.integration.jobs.ledger_client import LedgerClient
from tests.scenarios.processes import kill_all

from .field import Field


@pytest.fixture
async def field(database_url: str, tmp_path: Path) -> AsyncIterator[Field]:
    connection = await connect(database_url, application="test")
    field = Field(LedgerClient(connection), database_url=database_url, folder=tmp_path)
    try:
        yield field
        assert await broken(connection) == []
    finally:
        for launched in field.launched:
            if launched.is_alive:
                await launched.kill_group()
        kill_all(tmp_path)
        await connection.close()
