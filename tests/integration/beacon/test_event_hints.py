"""Events as hints: a user hears their own, on either beacon."""

import asyncio

import pytest
from prometheus_client import CollectorRegistry

from shoal.events.hints import Hints
from shoal.events.measures import RelayCounts
from shoal.events.relay import Relay
from shoal.ledger.pool import Ledger

from .listener import listener
from .site import Site

pytestmark = pytest.mark.asyncio(loop_scope="session")

EMIT = "SELECT emit_event('user.told', $1, '', $2)"


async def test_a_user_hears_their_own_events(at: Site, shared_ledger: Ledger) -> None:
    ann, bob = await at.user(), await at.user()
    async with shared_ledger.connection() as connection:
        await connection.execute("SELECT shoal.add_sink('beacon', 'beacon', '{user.*}')")
        relay = Relay(
            shared_ledger,
            woken=asyncio.Event(),
            open_channel=lambda sink: Hints(at.beacon) if sink.kind == "beacon" else None,
            counts=RelayCounts(CollectorRegistry()),
        )
        running = asyncio.create_task(relay.run())
        try:
            async with listener(at.client_url, at.portal_token(ann)) as one:
                await one.listen(f"events:{ann}")
                await connection.fetchval(EMIT, {"whose": "his"}, bob)
                event = await connection.fetchval(EMIT, {"whose": "hers"}, ann)
                told = await one.until(lambda data: data["type"] == "user.told")
            assert (told["id"], told["payload"]) == (str(event), {"whose": "hers"})
        finally:
            await relay.stop()
            await running
            await connection.execute("SELECT remove_event_sink('beacon')")
