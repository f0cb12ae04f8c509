"""Our side of Centrifugo's server API: what arrives, what is lost, and what is said about it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import uuid4

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from shoal.beacon.centrifugo import Centrifugo, require_complete
from shoal.beacon.model import DisconnectCode
from shoal.beacon.settings import BeaconSettings
from shoal.runtime.errors import Invalid, Unavailable
from tests.support.wire import wire_to_web

from .listener import Listener, listener
from .site import CentrifugoSite, settings_for

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.fixture
def at(at_centrifugo: CentrifugoSite) -> CentrifugoSite:
    return at_centrifugo


@asynccontextmanager
async def connected(settings: BeaconSettings) -> AsyncIterator[tuple[Centrifugo, CollectorRegistry]]:
    registry = CollectorRegistry()
    beacon = Centrifugo(settings, registry)
    await beacon.start()
    try:
        yield beacon, registry
    finally:
        await beacon.stop()


def lost(registry: CollectorRegistry) -> float:
    return registry.get_sample_value("sentinel_beacon_messages_lost_total") or 0.0


@asynccontextmanager
async def a_node(at: CentrifugoSite) -> AsyncIterator[tuple[str, Listener]]:
    node = at.nodes.register()
    async with listener(at.client_url, at.node_token(node)) as one:
        await one.expect("server subscribed")
        yield node, one


async def test_messages_arrive_in_order_however_many_there_are(at: CentrifugoSite) -> None:
    async with a_node(at) as (node, one):
        assert await at.beacon.publish_many([(f"nodes:{node}", number) for number in range(450)])
        assert [await one.expect("publication") for _ in range(450)] == list(range(450))


async def test_what_is_nothing_inside_a_message_stays_there(at: CentrifugoSite) -> None:
    async with a_node(at) as (node, one):
        message = {"result": None, "list": [None, {"deep": None}], "text": "é\n\u2028"}
        assert await at.beacon.publish(f"nodes:{node}", message)
        assert await one.expect("publication") == message


async def test_one_message_that_is_refused_does_not_take_the_others_with_it(at: CentrifugoSite) -> None:
    async with a_node(at) as (node, one), connected(settings_for(at.server)) as (beacon, registry):
        batch = [(f"nodes:{node}", "before"), ("unknown:channel", "?"), (f"nodes:{node}", "after")]
        assert not await beacon.publish_many(batch)
        assert [await one.expect("publication") for _ in range(2)] == ["before", "after"]
        assert lost(registry) == 1


async def test_a_message_whose_answer_was_lost_is_repeated_and_arrives_once(at: CentrifugoSite) -> None:
    async with a_node(at) as (node, one), wire_to_web(at.server.url) as (wire, near):
        settings = msgspec.structs.replace(settings_for(at.server), centrifugo_url=near)
        async with connected(settings) as (beacon, registry):
            wire.lose_reply_about(b"the first")
            assert await beacon.publish(f"nodes:{node}", "the first")
            assert wire.reply_lost.is_set()
            assert await beacon.publish(f"nodes:{node}", "the second")
        assert [await one.expect("publication") for _ in range(2)] == ["the first", "the second"]
        assert lost(registry) == 0


async def test_a_beacon_that_is_away_loses_hints_and_breaks_nothing(at: CentrifugoSite) -> None:
    async with wire_to_web(at.server.url) as (wire, near):
        settings = msgspec.structs.replace(settings_for(at.server), centrifugo_url=near)
        async with connected(settings) as (beacon, registry):
            wire.cut()
            assert not await beacon.publish("jobs:1", "lost")
            assert lost(registry) == 1
            for ask in (
                beacon.check(),
                beacon.active("jobs"),
                beacon.presence("jobs:1"),
                beacon.disconnect("ann", DisconnectCode.FORCE_NO_RECONNECT, "out"),
            ):
                with pytest.raises(Unavailable) as refused:
                    await ask
                assert refused.value.code == "beacon_unreachable"
            wire.mend()
            await beacon.check()


async def test_a_wrong_key_is_told_apart_from_a_beacon_that_is_away(at: CentrifugoSite) -> None:
    async with connected(settings_for(at.server, api_key="wrong")) as (beacon, registry):
        with pytest.raises(Invalid) as refused:
            await beacon.check()
        assert refused.value.code == "beacon_key_refused"
        assert not await beacon.publish("jobs:1", "lost")
        assert lost(registry) == 1


async def test_the_channels_somebody_listens_to_are_known(at: CentrifugoSite) -> None:
    async with a_node(at) as (node, _), a_node(at) as (other, _):
        active = set(await at.beacon.active("nodes"))
        assert {f"nodes:{node}", f"nodes:{other}"} <= active
        assert not await at.beacon.active("chunks")
    async with asyncio.timeout(10):
        while f"nodes:{node}" in await at.beacon.active("nodes"):  # noqa: ASYNC110 - another process decides
            await asyncio.sleep(0.02)


async def test_a_user_who_is_put_out_does_not_come_back(at: CentrifugoSite) -> None:
    async with a_node(at) as (node, one), a_node(at) as (other, bystander):
        await at.beacon.disconnect(node, DisconnectCode.AUTHENTICATION_FAILED, "not welcome")
        assert await one.expect("disconnected") == 4501
        await at.beacon.publish(f"nodes:{other}", "still here")
        assert await bystander.expect("publication") == "still here"


@pytest.mark.parametrize(
    "missing", ["centrifugo_api_key", "centrifugo_token_secret", "centrifugo_proxy_secret"]
)
async def test_a_centrifugo_without_all_secrets_is_refused_at_the_start(
    at: CentrifugoSite, missing: str
) -> None:
    settings = msgspec.structs.replace(settings_for(at.server), **{missing: ""})
    with pytest.raises(Invalid) as refused:
        require_complete(settings)
    assert (refused.value.code, missing in refused.value.message) == ("beacon_secret_missing", True)


async def test_an_address_that_is_none_is_refused(at: CentrifugoSite) -> None:
    settings = msgspec.structs.replace(settings_for(at.server), centrifugo_url=f"centrifugo:{uuid4()}")
    with pytest.raises(Invalid) as refused:
        require_complete(settings)
    assert refused.value.code == "invalid_centrifugo_url"
