"""Memberships as they change: what the fleet is told, and what no filter and no lost event can change."""

import asyncio
import resource
import sys
import time
from contextlib import AsyncExitStack

import pytest

from shoal.discord import client, keeper, rules
from shoal.discord.filter_store import FilterStore
from shoal.discord.filters import Filters
from shoal.discord.membership_filter import MembershipFilter
from shoal.runtime.errors import Invalid

from .stage import Stage, eventually, guilds_become

pytestmark = [pytest.mark.newest_servers, pytest.mark.timeout(300)]

ANN, BOB, CAROL = 4001, 4002, 4003


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is put off for minutes is put off for moments."""
    monkeypatch.setattr(keeper, "REBUILD_EVERY_S", 0.3)
    monkeypatch.setattr(keeper, "SAVE_EVERY_S", 0.3)
    monkeypatch.setattr(keeper, "LIST_AGAIN_S", 0.5)


async def saved(stage: Stage) -> Filters:
    filters = Filters()
    await FilterStore(stage.ledger).refresh(filters)
    return filters


async def saved_becomes(stage: Stage, account: int, guilds: list[int]) -> None:
    async with asyncio.timeout(15):
        while (await saved(stage)).perhaps_in(account) != guilds:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.05)


async def test_grants_follow_who_joins_and_who_leaves_within_seconds(stage: Stage) -> None:
    ann, bob = await stage.user(account=ANN), await stage.user(account=BOB)
    reef = await stage.there.add_guild("Reef", [ANN])
    bank = await stage.there.add_guild("Bank", [CAROL])
    stage.fleet.owners = [str(ann), str(bob)]
    async with stage.bot():
        await stage.fleet.until(ann, [reef.id])
        await stage.fleet.until(bob, [])

        began = time.monotonic()
        await stage.there.join(bank, ANN)
        await stage.fleet.until(ann, [reef.id, bank.id])
        await stage.there.leave(reef, ANN)
        await stage.fleet.until(ann, [bank.id])
        await stage.there.expel_bot(bank)
        await stage.fleet.until(ann, [])
        assert time.monotonic() - began < 5
        assert stage.fleet.told[str(bob)] == []
        assert stage.measured("connected") == 1
        assert stage.measured("guilds") == 1


async def test_grants_follow_a_link_that_is_made_or_removed(stage: Stage) -> None:
    ann, other = await stage.user(), await stage.user()
    reef = await stage.there.add_guild("Reef", [ANN])
    stage.fleet.owners = [str(ann), str(other)]
    async with stage.bot():
        await stage.there.answer("link", by=ANN, code=(await stage.links.make_code(ann)).code)
        await stage.fleet.until(ann, [reef.id])
        await stage.there.answer("link", by=ANN, code=(await stage.links.make_code(other)).code)
        await stage.fleet.until(other, [reef.id])
        await stage.fleet.until(ann, [])
        assert await stage.links.remove(other)  # over the API, of whichever sentinel
        await stage.fleet.until(other, [])


async def test_a_filter_alone_lets_nobody_in(stage: Stage) -> None:
    """Trap 3.7. One who left is still in the filter, and so is one who never was a member."""
    ann, bob = await stage.user(account=ANN), await stage.user(account=BOB)
    reef = await stage.there.add_guild("Reef", [ANN, CAROL])
    by_chance = MembershipFilter.build(reef.id, [ANN, BOB, CAROL], members=3)
    await FilterStore(stage.ledger).save(by_chance, "Reef")
    stage.there.gateway.is_away = True  # so that it is never built anew
    async with stage.sentinel() as here:
        assert await here.guilds_of(str(ann)) == {str(reef.id)}
        assert await here.guilds_of(str(bob)) == frozenset()
        asked = [one for one in stage.there.rest.requests if "/members/" in one]
        assert len(asked) == 2
        assert stage.measured("confirmations_total", answer="member") == 1
        assert stage.measured("confirmations_total", answer="stranger") == 1
        assert stage.measured("members") == 3
        assert stage.measured("connected") == 0
        assert await here.guilds_of(str(bob)) == frozenset()
        assert len([one for one in stage.there.rest.requests if "/members/" in one]) == 2  # it is remembered

    del reef.members[ANN]
    async with stage.sentinel() as here:
        assert await here.guilds_of(str(ann)) == frozenset()


async def test_a_miss_asks_nobody(stage: Stage) -> None:
    bob = await stage.user(account=BOB)
    reef = await stage.there.add_guild("Reef", [ANN])
    await FilterStore(stage.ledger).save(MembershipFilter.build(reef.id, [ANN], members=1), "Reef")
    stage.there.gateway.is_away = True
    async with stage.sentinel() as here:
        for _ in range(100):
            assert await here.guilds_of(str(bob)) == frozenset()
        assert not [one for one in stage.there.rest.requests if "/members/" in one]


async def test_whoever_is_nobody_at_discord_is_in_no_guild(stage: Stage) -> None:
    async with stage.bot() as here:
        assert await here.guilds_of(str(await stage.user())) == frozenset()
        assert await here.guilds_of("not an id") == frozenset()


async def test_filters_forget_who_left_and_know_who_joined(stage: Stage) -> None:
    """Trap 3.7."""
    reef = await stage.there.add_guild("Reef", [ANN, BOB])
    async with stage.bot():
        await saved_becomes(stage, ANN, [reef.id])
        await stage.there.leave(reef, ANN)
        await stage.there.join(reef, CAROL)
        await saved_becomes(stage, ANN, [])
        await saved_becomes(stage, CAROL, [reef.id])
        await stage.there.expel_bot(reef)
        await saved_becomes(stage, CAROL, [])


async def test_what_happened_while_the_connection_was_lost_is_made_up_for(stage: Stage) -> None:
    ann, bob = await stage.user(account=ANN), await stage.user(account=BOB)
    reef = await stage.there.add_guild("Reef", [ANN, CAROL])
    stage.fleet.owners = [str(ann), str(bob)]
    async with stage.bot():
        await stage.fleet.until(ann, [reef.id])
        stage.there.gateway.cut()
        await stage.there.leave(reef, ANN)
        await stage.there.join(reef, BOB)
        await stage.fleet.until(ann, [])
        await stage.fleet.until(bob, [reef.id])
        await eventually(lambda: stage.there.gateway.seen["resumed"])
        assert stage.there.gateway.seen["member requests"] == 1  # nothing had to be listed again
        assert "Pong" in (await stage.there.answer("ping", by=ANN)).text


async def test_what_nobody_told_is_found_when_a_session_begins_anew(stage: Stage) -> None:
    ann, bob = await stage.user(account=ANN), await stage.user(account=BOB)
    reef = await stage.there.add_guild("Reef", [ANN, CAROL])
    stage.fleet.owners = [str(ann), str(bob)]
    async with stage.bot():
        await stage.fleet.until(ann, [reef.id])
        stage.there.gateway.cut()
        stage.there.gateway.sessions.clear()
        del reef.members[ANN]  # no event will ever say so
        reef.members[BOB] = None
        await stage.fleet.until(ann, [])
        await stage.fleet.until(bob, [reef.id])
        assert stage.there.gateway.seen["identify"] == 2


async def test_while_discord_is_away_members_stay_for_a_while_and_nobody_comes(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, bob = await stage.user(account=ANN), await stage.user(account=BOB)
    reef = await stage.there.add_guild("Reef", [ANN, CAROL])
    stage.fleet.owners = [str(ann)]
    async with stage.bot() as here:
        await stage.fleet.until(ann, [reef.id])
        stage.there.go_away()
        await stage.there.join(reef, BOB)
        assert await here.guilds_of(str(ann)) == {str(reef.id)}
        assert await here.guilds_of(str(bob)) == frozenset()

        monkeypatch.setattr(rules, "STAYS_S", 0.0)
        monkeypatch.setattr(rules, "ASK_AGAIN_S", 0.0)
        await stage.fleet.until(ann, [])

        stage.there.come_back()
        stage.fleet.owners = [str(ann), str(bob)]
        await stage.fleet.until(ann, [reef.id], within_s=40)
        await stage.fleet.until(bob, [reef.id], within_s=40)


async def test_a_guild_of_a_hundred_thousand_fills_its_filter(stage: Stage) -> None:
    first = 10**17
    huge = await stage.there.add_guild("Ocean", range(first, first + 100_000))
    ann = await stage.user(account=first + 99_999)
    bob = await stage.user(account=BOB)
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.monotonic()
    async with stage.bot() as here:
        await guilds_become(here, ann, [huge.id], within_s=90)
        took_s = time.monotonic() - began
        assert await here.guilds_of(str(bob)) == frozenset()
        await saved_becomes(stage, first, [huge.id])
        assert stage.there.gateway.seen["member requests"] == 1
        assert not [one for one in stage.there.rest.requests if "/members/" in one]
        assert stage.there.gateway.seen["timed out"] == 0
        its = (await saved(stage)).get(huge.id)
        assert its is not None
        assert all(first + number in its for number in range(0, 100_000, 97))
    more_mb = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb) / 1024
    sys.stderr.write(f"filled in {took_s:.1f} s, {more_mb:.0f} MB more at most\n")


async def test_members_that_do_not_come_in_chunks_are_listed(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "CHUNK_WITHIN_S", 0.5)
    stage.there.gateway.is_without_chunks = True
    ann = await stage.user(account=ANN)
    reef = await stage.there.add_guild("Reef", [ANN, *range(10_000, 12_500)])
    async with stage.bot():
        await saved_becomes(stage, ANN, [reef.id])
        assert set((await saved(stage)).members.values()) == {len(reef.members)}
        stage.fleet.owners = [str(ann)]
        await stage.fleet.until(ann, [reef.id])


async def test_a_leave_counts_also_while_there_is_no_list(stage: Stage) -> None:
    """What the API said of them a moment ago does not count any more."""
    ann = await stage.user(account=ANN)
    reef = await stage.there.add_guild("Reef", [ANN])
    await FilterStore(stage.ledger).save(MembershipFilter.build(reef.id, [ANN], members=1), "Reef")
    stage.there.gateway.is_without_chunks = True
    stage.fleet.owners = [str(ann)]
    async with stage.bot():
        await stage.fleet.until(ann, [reef.id])
        assert stage.measured("confirmations_total", answer="member") == 1
        began = time.monotonic()
        await stage.there.leave(reef, ANN)
        await stage.fleet.until(ann, [])
        assert time.monotonic() - began < rules.ASK_AGAIN_S / 3


async def test_a_list_that_was_on_its_way_when_the_session_ended_is_asked_for_again(stage: Stage) -> None:
    ann = await stage.user(account=ANN)
    reef = await stage.there.add_guild("Reef", [ANN, *range(10_000, 15_000)])
    stage.there.gateway.chunk_pause_s = 0.5
    async with stage.bot():
        await eventually(lambda: stage.there.gateway.seen["member requests"])
        stage.there.gateway.cut()
        stage.there.gateway.sessions.clear()
        stage.there.gateway.chunk_pause_s = 0.0
        await saved_becomes(stage, ANN, [reef.id])
        stage.fleet.owners = [str(ann)]
        await stage.fleet.until(ann, [reef.id])


async def test_another_sentinel_takes_the_bot_over(stage: Stage) -> None:
    ann = await stage.user(account=ANN)
    reef = await stage.there.add_guild("Reef", [ANN])
    stage.fleet.owners = [str(ann)]
    async with AsyncExitStack() as others:
        async with stage.bot():
            await stage.fleet.until(ann, [reef.id])
            await saved_becomes(stage, ANN, [reef.id])
            second = await others.enter_async_context(stage.sentinel())
            assert await second.guilds_of(str(ann)) == {str(reef.id)}  # by the filter, and by asking
            assert stage.there.gateway.seen["identify"] == 1  # it does not connect
        await eventually(lambda: stage.there.gateway.seen["identify"] == 2)
        await stage.there.leave(reef, ANN)
        await stage.fleet.until(ann, [])


async def test_a_token_that_is_refused_stops_the_start(stage: Stage) -> None:
    stage.there.token = "another one"
    with pytest.raises(Invalid) as refused:
        async with stage.sentinel():
            pass
    assert refused.value.code == "discord_token_refused"


async def test_without_the_intent_the_sentinel_goes_on_and_nobody_is_a_member(stage: Stage) -> None:
    stage.there.world.allowed_intents = 0
    ann = await stage.user(account=ANN)
    await stage.there.add_guild("Reef", [ANN])
    async with stage.sentinel() as here:
        await eventually(lambda: stage.there.gateway.seen["closed 4014"])
        assert await here.guilds_of(str(ann)) == frozenset()
        stage.there.world.allowed_intents = 2  # switched on in the portal
        await guilds_become(here, ann, list(stage.there.world.guilds))


async def test_a_member_is_not_confirmed_while_discord_says_wait(stage: Stage) -> None:
    ann = await stage.user(account=ANN)
    reef = await stage.there.add_guild("Reef", [ANN])
    await FilterStore(stage.ledger).save(MembershipFilter.build(reef.id, [ANN], members=1), "Reef")
    stage.there.gateway.is_away = True
    stage.there.limits.refuse("GET .*/members/", retry_after_s=60)
    async with stage.sentinel() as here:
        assert await here.guilds_of(str(ann)) == frozenset()
        assert len(stage.there.limits.refused) == 1
