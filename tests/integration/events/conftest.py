"""Connections to a database of its own, each for somebody who tells a sink."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import pytest

from shoal.ledger.connection import connect

from .outbox import Teller

OpenTeller = Callable[..., Awaitable[Teller]]


@pytest.fixture
async def open_teller(database_url: str) -> AsyncIterator[OpenTeller]:
    async with AsyncExitStack() as stack:

        async def open_one(sink: str = "all") -> Teller:
            connection = await connect(database_url, application=f"test {sink}")
            stack.push_async_callback(connection.close)
            return Teller(connection, sink)

        yield open_one


@pytest.fixture
async def ann(open_teller: OpenTeller) -> Teller:
    return await (await open_teller()).add()


@pytest.fixture
async def bob(open_teller: OpenTeller, ann: Teller) -> Teller:
    """Somebody else who tells the same sink."""
    return await open_teller(ann.sink)
