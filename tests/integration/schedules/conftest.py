"""A ledger with schedules in it, and a scheduler that leads."""

from collections.abc import AsyncIterator

import pytest

from shoal.ledger.pool import Ledger

from .timetable import Timetable


@pytest.fixture
async def timetable(ledger: Ledger) -> AsyncIterator[Timetable]:
    async with ledger.connection() as connection:
        yield Timetable(ledger, connection)
