"""What Prometheus is told of the hub."""

from prometheus_client import CollectorRegistry

from shoal.beacon.hub.hub import Hub
from shoal.beacon.hub.measures import HubMeasures

from .raw import RawClient
from .stage import Stage, hub_stage


def numbers(stage: Stage) -> list[float | None]:
    assert isinstance(stage.beacon, Hub)
    registry = CollectorRegistry()
    registry.register(HubMeasures(stage.beacon))
    names = ("connections", "subscriptions", "messages_total")
    return [registry.get_sample_value(f"sentinel_hub_{name}") for name in names]


async def test_clients_their_channels_and_messages_are_counted() -> None:
    async with hub_stage() as stage:
        one, other = [await RawClient.open(stage.client_url) for _ in range(2)]
        for client in (one, other):
            await client.connect(stage.token("user"))
            await client.say({"id": 2, "subscribe": {"channel": "plain:1"}})
            assert "subscribe" in await client.hear()
        await one.say({"id": 3, "subscribe": {"channel": "plain:2"}})
        assert "subscribe" in await one.hear()
        await stage.publish("plain:1", "a", "b")
        assert numbers(stage) == [2, 3, 2]

        await one.say({})  # a pong that nobody asked for
        await one.ended()
        assert numbers(stage) == [1, 1, 2]
        await other.close()
