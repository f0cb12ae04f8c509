"""The double, and a client of discord.py at it that does nothing but listen."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import discord
import pytest

from shoal.discord.connection import find_gateway, intents, point_at
from tests.support.discord_double.double import Discord, running


class Listener(discord.AutoShardedClient):
    """Keeps the names of what it hears, in order."""

    def __init__(self, wanted: discord.Intents, heartbeat_timeout_s: float) -> None:
        super().__init__(
            intents=wanted,
            member_cache_flags=discord.MemberCacheFlags.none(),
            chunk_guilds_at_startup=False,
            guild_ready_timeout=0.2,
            max_messages=None,
            heartbeat_timeout=heartbeat_timeout_s,
        )
        self.heard: list[tuple[str, Any]] = []
        self._news = asyncio.Condition()

    def dispatch(self, event: str, /, *given: Any, **named: Any) -> None:
        super().dispatch(event, *given, **named)
        if not event.startswith("socket"):
            self.heard.append((event, given))
            asyncio.get_running_loop().create_task(self._tell())

    async def _tell(self) -> None:
        async with self._news:
            self._news.notify_all()

    async def hears(self, event: str, times: int = 1, *, within_s: float = 15.0) -> None:
        async with asyncio.timeout(within_s), self._news:
            await self._news.wait_for(lambda: [name for name, _ in self.heard].count(event) >= times)


@pytest.fixture
async def there() -> AsyncIterator[Discord]:
    async with running() as there:
        point_at(there.url)
        yield there


@asynccontextmanager
async def listening(
    there: Discord, wanted: discord.Intents | None = None, *, heartbeat_timeout_s: float = 60.0
) -> AsyncIterator[Listener]:
    listener = Listener(wanted or intents(), heartbeat_timeout_s)
    await listener.login(there.token)
    await find_gateway(listener, there.url)
    connected = asyncio.create_task(listener.connect())
    try:
        yield listener
    finally:
        await listener.close()
        await asyncio.gather(connected, return_exceptions=True)
