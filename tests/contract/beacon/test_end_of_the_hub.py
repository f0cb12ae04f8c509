"""What happens to clients when the process of the hub ends in order."""

from .raw import RawClient
from .stage import hub_stage

SHUTDOWN = 3001


async def test_clients_are_told_to_come_back() -> None:
    async with hub_stage() as stage:
        connected, silent = [await RawClient.open(stage.client_url) for _ in range(2)]
        await connected.connect(stage.token("user"))

    assert await connected.ended() == SHUTDOWN
    assert await silent.ended() == SHUTDOWN


async def test_a_call_that_is_under_way_is_still_decided() -> None:
    async with hub_stage() as stage:
        client = await RawClient.open(stage.client_url)
        await client.connect(stage.token("user"))
        await client.say({"id": 2, "publish": {"channel": "inbox:slow", "data": 1}})
        await stage.arrived.wait()

    assert stage.taken == [("user slow", 1)]
