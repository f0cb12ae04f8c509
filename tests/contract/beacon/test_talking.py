"""What the official clients do on a quiet day: connect, listen, publish, call, look around."""

import asyncio

import pytest

from .conftest import Invite
from .stage import Stage
from .visitors import CallFailed


async def test_a_call_is_answered_and_names_its_caller(stage: Stage, invite: Invite) -> None:
    visitor = invite(user := stage.name("user"))
    await visitor.connect()

    answer = await visitor.rpc("echo", {"of": ["any", None, 1.5, "form ✓"]})

    assert answer == {"user": user, "client": True, "data": {"of": ["any", None, 1.5, "form ✓"]}}


@pytest.mark.parametrize(
    ("method", "data", "code"),
    [
        ("unheard_of", {}, 104),
        ("refuse", {"code": 1404}, 1404),
        ("fail", {}, 100),
    ],
)
async def test_a_refused_call_fails_with_its_code_and_the_connection_stays(
    stage: Stage, invite: Invite, method: str, data: object, code: int
) -> None:
    visitor = invite(stage.name("user"))
    await visitor.connect()

    with pytest.raises(CallFailed) as failed:
        await visitor.rpc(method, data)

    assert failed.value.code == code
    assert (await visitor.rpc("echo", 1))["data"] == 1


async def test_many_calls_at_once_are_all_answered(stage: Stage, invite: Invite) -> None:
    visitor = invite(stage.name("user"))
    await visitor.connect()

    answers = await asyncio.gather(*(visitor.rpc("echo", number) for number in range(100)))

    assert [answer["data"] for answer in answers] == list(range(100))


async def test_what_is_published_arrives_whole_and_in_order(stage: Stage, invite: Invite) -> None:
    visitor, channel = invite(stage.name("user")), stage.name("jobs:")
    await visitor.connect()
    await visitor.subscribe(channel)
    messages = [{"n": number, "text": "line\nbreak \u2028 ✓"} for number in range(50)]

    await stage.publish(channel, *messages)

    assert await visitor.publications(channel, 50) == messages


async def test_who_does_not_listen_hears_nothing(stage: Stage, invite: Invite) -> None:
    one, other = invite(stage.name("user")), invite(stage.name("user"))
    first, second = stage.name("plain:"), stage.name("plain:")
    for visitor, channel in ((one, first), (other, second)):
        await visitor.connect()
        await visitor.subscribe(channel)

    await stage.publish(first, "for one")
    await stage.publish(second, "for the other")

    assert (await other.expect("publication"))["data"] == "for the other"
    assert (await one.expect("publication"))["data"] == "for one"
    assert not [event for event in (*one.events, *other.events) if event["event"] == "publication"]


async def test_the_answer_of_the_gate_reaches_the_subscriber(stage: Stage, invite: Invite) -> None:
    visitor, channel = invite(stage.name("user")), stage.name("plain:")
    await visitor.connect()

    event = await visitor.subscribe(channel)

    assert event["data"]["of"] == channel.partition(":")[2]


@pytest.mark.parametrize(
    ("channel", "code"),
    [("rooms:closed", 103), ("inbox:x", 103), ("unheard:of", 102)],
)
async def test_a_subscription_that_is_refused_ends_with_its_code(
    stage: Stage, invite: Invite, channel: str, code: int
) -> None:
    visitor = invite(stage.name("user"))
    await visitor.connect()

    await visitor.listen(channel)

    assert (await visitor.expect("unsubscribed", channel=channel))["code"] == code
    assert (await visitor.rpc("echo", 1))["data"] == 1


async def test_who_unsubscribes_hears_no_more_and_may_come_back(stage: Stage, invite: Invite) -> None:
    visitor, channel = invite(stage.name("user")), stage.name("plain:")
    await visitor.connect()
    await visitor.subscribe(channel)
    await visitor.unsubscribe(channel)
    await visitor.expect("unsubscribed", channel=channel, code=0)
    await visitor.rpc("echo")  # the server has heard of it

    await stage.publish(channel, "missed")
    await visitor.subscribe(channel)
    await stage.publish(channel, "heard")

    assert await visitor.publications(channel, 1) == ["heard"]


async def test_what_a_client_publishes_is_taken_or_refused(stage: Stage, invite: Invite) -> None:
    visitor, inbox = invite(user := stage.name("user")), stage.name("inbox:")
    await visitor.connect()

    await visitor.publish(inbox, {"result": 1})
    with pytest.raises(CallFailed, match="unwanted") as unwanted:
        await visitor.publish(inbox, "unwanted")
    with pytest.raises(CallFailed) as denied:
        await visitor.publish("jobs:1", {"forged": True})
    with pytest.raises(CallFailed) as unknown:
        await visitor.publish("unheard:of", {})

    assert [data for whom, data in stage.taken if whom.startswith(f"{user} ")] == [{"result": 1}]
    assert (unwanted.value.code, denied.value.code, unknown.value.code) == (1400, 103, 102)


async def test_who_is_there_can_be_seen_where_the_channel_shows_it(stage: Stage, invite: Invite) -> None:
    room, users = stage.name("rooms:"), sorted(stage.name("user") for _ in range(2))
    one, again, other = (invite(user) for user in (users[0], users[0], users[1]))
    await one.connect()
    await one.subscribe(room)
    for visitor in (again, other):
        await visitor.connect()
        await visitor.subscribe(room)

    assert await one.presence(room) == [users[0], *users]
    assert await one.presence_stats(room) == (3, 2)
    assert sorted((await stage.beacon.presence(room)).values()) == [users[0], *users]
    await one.expect("join", channel=room, user=users[1])
    await other.disconnect()
    await one.expect("leave", channel=room, user=users[1])
    assert await one.presence(room) == [users[0], users[0]]
    with pytest.raises(CallFailed) as unavailable:
        await one.presence("jobs:1")
    assert unavailable.value.code == 108


async def test_history_comes_in_pages_from_either_end(stage: Stage, invite: Invite) -> None:
    visitor, channel = invite(stage.name("user")), stage.name("jobs:")
    await visitor.connect()
    await stage.publish(channel, *range(1, 15))

    top = await visitor.history(channel, limit=0)
    assert (top["data"], top["offset"]) == ([], 14)
    everything = await visitor.history(channel, limit=-1)
    assert everything["data"] == list(range(5, 15))  # it keeps ten
    since = {"offset": 8, "epoch": top["epoch"]}
    assert (await visitor.history(channel, limit=3, since=since))["data"] == [9, 10, 11]
    assert (await visitor.history(channel, limit=2, since=since, reverse=True))["data"] == [7, 6]
    assert (await visitor.history(channel, limit=2, reverse=True))["data"] == [14, 13]
    with pytest.raises(CallFailed) as lost:
        await visitor.history(channel, limit=2, since={"offset": 8, "epoch": "another"})
    assert lost.value.code == 112
    with pytest.raises(CallFailed) as unavailable:
        await visitor.history("rooms:1", limit=1)
    assert unavailable.value.code == 108
    with pytest.raises(CallFailed) as denied:
        await visitor.history("short:1", limit=1)
    assert denied.value.code == 103


async def test_a_token_can_bring_channels_of_its_own(stage: Stage, invite: Invite) -> None:
    own = stage.name("jobs:")
    visitor = invite(stage.name("user"), channels=(own,))
    await visitor.connect()
    await visitor.expect("server_subscribed", channel=own)

    await stage.publish(own, "for you")

    assert await visitor.publications(own, 1, prefix="server_") == ["for you"]
    await visitor.listen(own)
    assert (await visitor.expect("unsubscribed", channel=own))["code"] == 105


async def test_rooms_learn_which_channels_are_listened_to(stage: Stage, invite: Invite) -> None:
    visitor, channel = invite(stage.name("user")), stage.name("jobs:")
    await visitor.connect()
    await visitor.subscribe(channel)

    assert channel in await stage.beacon.active("jobs")
    assert channel not in await stage.beacon.active("plain")


async def test_a_message_for_a_channel_that_nobody_opened_is_not_taken(stage: Stage) -> None:
    assert await stage.beacon.publish("unheard:of", {}) is False
    assert await stage.beacon.publish("plain:1", {}) is True
