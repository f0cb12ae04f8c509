"""The official client, as far as a test needs it: connect, listen, and wait for what is noticed."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from centrifuge import (  # type: ignore[import-untyped]  # it has annotations and no py.typed
    Client,
    ClientEventHandler,
    SubscriptionEventHandler,
)

DEADLINE_S = 15.0

GetToken = Callable[[], Awaitable[str]]


@dataclass
class Listener:
    client: Client
    events: "asyncio.Queue[tuple[str, Any]]" = field(default_factory=asyncio.Queue)

    async def expect(self, kind: str) -> Any:
        """What the next event of this kind says; events before it are forgotten."""
        async with asyncio.timeout(DEADLINE_S):
            while True:
                found, what = await self.events.get()
                if found == kind:
                    return what

    async def until(self, is_it: Callable[[Any], bool]) -> Any:
        """The data of the next publication that is the one looked for."""
        async with asyncio.timeout(DEADLINE_S):
            while True:
                data = await self.expect("publication")
                if is_it(data):
                    return data

    async def listen(self, channel: str) -> Any:
        """The data that came with the permission; or raises what the server refused with."""
        subscription = self.client.new_subscription(channel, events=_OfChannel(self))
        await subscription.subscribe()
        kind, what = "", None
        async with asyncio.timeout(DEADLINE_S):
            while kind not in {"subscribed", "unsubscribed"}:
                kind, what = await self.events.get()
        if kind == "unsubscribed":
            raise PermissionError(what)
        return what


@asynccontextmanager
async def listener(
    url: str, token: str = "", *, get_token: GetToken | None = None, data: Any = None
) -> AsyncIterator[Listener]:
    given: dict[str, Any] = {"proxy": None, "min_reconnect_delay": 0.05, "max_reconnect_delay": 0.3}
    client = Client(url, token=token, get_token=get_token, data=data, **given)
    mine = Listener(client)
    client.events = _OfClient(mine)
    await client.connect()
    try:
        yield mine
    finally:
        await client.disconnect()


class _OfClient(ClientEventHandler):  # type: ignore[misc]  # of a library without types
    def __init__(self, mine: Listener) -> None:
        self._events = mine.events

    async def on_connected(self, ctx: Any) -> None:
        await self._events.put(("connected", ctx.client))

    async def on_connecting(self, ctx: Any) -> None:
        await self._events.put(("connecting", ctx.code))

    async def on_disconnected(self, ctx: Any) -> None:
        await self._events.put(("disconnected", ctx.code))

    async def on_subscribed(self, ctx: Any) -> None:
        await self._events.put(("server subscribed", ctx.channel))

    async def on_publication(self, ctx: Any) -> None:
        await self._events.put(("publication", ctx.pub.data))


class _OfChannel(SubscriptionEventHandler):  # type: ignore[misc]
    def __init__(self, mine: Listener) -> None:
        self._events = mine.events

    async def on_subscribed(self, ctx: Any) -> None:
        await self._events.put(("subscribed", ctx.data))

    async def on_unsubscribed(self, ctx: Any) -> None:
        await self._events.put(("unsubscribed", ctx.code))

    async def on_publication(self, ctx: Any) -> None:
        await self._events.put(("publication", ctx.pub.data))
