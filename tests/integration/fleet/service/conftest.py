"""One sentinel, as the role builds it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from shoal.brain.connection import Brain
from shoal.ledger.pool import Ledger

from .site import Site, sentinel


@pytest.fixture
async def site(
    database_url: str, valkey_url: str, ledger: Ledger, brain: Brain, tmp_path: Path
) -> AsyncIterator[Site]:
    async with sentinel(database_url, valkey_url, tmp_path, ledger=ledger, brain=brain) as site:
        yield site
