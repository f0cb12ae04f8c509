"""Connections end, tokens expire; clients come back by themselves and know whether they missed anything."""

import asyncio

import pytest

from shoal.beacon.model import DisconnectCode

from .conftest import Invite
from .stage import Stage
from .visitors import CallFailed, Visitor


async def cut(stage: Stage, visitor: Visitor, user: str) -> None:
    await stage.beacon.disconnect(user, DisconnectCode.FORCE_RECONNECT, "force reconnect")
    await visitor.expect("connecting")


async def test_what_was_published_meanwhile_is_told_on_return(stage: Stage, invite: Invite) -> None:
    visitor, channel = invite(user := stage.name("user")), stage.name("jobs:")
    await visitor.connect()
    await visitor.subscribe(channel)
    await stage.publish(channel, 1, 2)
    assert await visitor.publications(channel, 2) == [1, 2]

    await visitor.disconnect()
    await stage.publish(channel, 3, 4)
    await visitor.connect()

    assert (await visitor.expect("subscribed", channel=channel))["recovered"] is True
    assert await visitor.publications(channel, 2) == [3, 4]
    await cut(stage, visitor, user)
    assert (await visitor.expect("subscribed", channel=channel))["recovered"] is True
    await stage.publish(channel, 5)
    assert await visitor.publications(channel, 1) == [5]


async def test_who_missed_more_than_is_kept_is_told_so(stage: Stage, invite: Invite) -> None:
    visitor, channel = invite(stage.name("user")), stage.name("short:")
    await visitor.connect()
    await visitor.subscribe(channel)
    await stage.publish(channel, 1)
    assert await visitor.publications(channel, 1) == [1]

    await visitor.disconnect()
    await stage.publish(channel, 2, 3, 4)
    await visitor.connect()

    assert (await visitor.expect("subscribed", channel=channel))["recovered"] is False
    await stage.publish(channel, 5)
    assert await visitor.publications(channel, 1) == [5]


async def test_a_channel_of_ones_own_is_recovered_as_well(stage: Stage, invite: Invite) -> None:
    own = stage.name("jobs:")
    visitor = invite(stage.name("user"), channels=(own,))
    await visitor.connect()
    await visitor.expect("server_subscribed", channel=own)
    await stage.publish(own, 1)
    await visitor.publications(own, 1, prefix="server_")

    await visitor.disconnect()
    await stage.publish(own, 2, 3)
    await visitor.connect()

    assert (await visitor.expect("server_subscribed", channel=own))["recovered"] is True
    assert await visitor.publications(own, 2, prefix="server_") == [2, 3]


async def test_nothing_is_lost_or_doubled_while_connections_are_cut(stage: Stage, invite: Invite) -> None:
    visitor, channel = invite(user := stage.name("user")), stage.name("jobs:")
    await visitor.connect()
    await visitor.subscribe(channel)

    async def publish() -> None:
        for number in range(40):
            await stage.publish(channel, number)
            await asyncio.sleep(0.01)

    publishing = asyncio.create_task(publish())
    heard: list[int] = []
    for part in (10, 20, 30):
        heard += await visitor.publications(channel, part - len(heard))
        await stage.beacon.disconnect(user, DisconnectCode.FORCE_RECONNECT, "force reconnect")
    heard += await visitor.publications(channel, 40 - len(heard))
    await publishing

    assert heard == list(range(40))


async def test_a_silent_client_stays_since_it_answers_pings_and_renews_its_token(
    stage: Stage, invite: Invite
) -> None:
    user, channel = stage.name("user"), stage.name("plain:")
    visitor = invite(user, token=stage.token(user, seconds=2), renew=lambda: stage.token(user, seconds=600))
    await visitor.connect()
    await visitor.subscribe(channel)

    await asyncio.sleep(3.5)  # the first token and its grace are over, and so is the time to answer a ping

    await stage.publish(channel, "still there")
    assert await visitor.publications(channel, 1) == ["still there"]
    assert visitor.renewals == 1
    assert not visitor.events


async def test_an_expired_token_is_changed_for_a_new_one_at_the_door(stage: Stage, invite: Invite) -> None:
    user = stage.name("user")
    old = stage.token(user, seconds=-5)
    visitor = invite(user, token=old, renew=lambda: stage.token(user))

    await visitor.connect()

    assert visitor.renewals == 1


async def test_a_token_that_does_not_hold_is_the_end(stage: Stage, invite: Invite) -> None:
    user = stage.name("user")
    forged = stage.token(user)[:-6] + "forged"
    visitor = invite(user, token=forged, renew=lambda: stage.token(user))

    await visitor.start()

    assert (await visitor.expect("disconnected"))["code"] == DisconnectCode.INVALID_TOKEN


async def test_the_revoked_are_refused_whatever_their_token_says(stage: Stage, invite: Invite) -> None:
    visitor = invite(user := stage.name("user"))
    await visitor.connect()
    stage.revoked.add(user)

    with pytest.raises((CallFailed, Exception)):
        await visitor.rpc("echo")

    code = (await visitor.expect("disconnected"))["code"]
    assert code == DisconnectCode.AUTHENTICATION_FAILED


async def test_who_is_sent_away_for_good_does_not_come_back(stage: Stage, invite: Invite) -> None:
    visitor, other = invite(user := stage.name("user")), invite(stage.name("user"))
    await visitor.connect()
    await other.connect()

    await stage.beacon.disconnect(user, DisconnectCode.FORCE_NO_RECONNECT, "force disconnect")

    assert (await visitor.expect("disconnected"))["code"] == DisconnectCode.FORCE_NO_RECONNECT
    assert (await other.rpc("echo", 1))["data"] == 1
