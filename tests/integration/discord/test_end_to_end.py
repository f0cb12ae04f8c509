"""From an account at Discord to chunks on a stranger's machine: real processes, and the double of Discord."""

import asyncio
import itertools
import time
from pathlib import Path

import pytest

from shoal.discord.membership_filter import MembershipFilter
from tests.integration.cli.shoal_command import Shoal
from tests.support.discord_double.double import Discord
from tests.support.discord_double.payloads import BOT

from .reef import Person, Reef, reef

pytestmark = [pytest.mark.newest_servers, pytest.mark.timeout(400)]

HOST, MEMBER, STRANGER = 4001, 4002, 4003
A_WHILE_S = 6.0
"""Longer than it takes a member's job of ten chunks to complete."""


def hit_by_chance(guild_id: int, members: list[int]) -> int:
    """An account that the very filter of this guild does not rule out, and that is no member."""
    its = MembershipFilter.build(guild_id, members, members=len(members))
    return next(account for account in itertools.count(10**17) if account in its)


async def test_members_run_on_a_guilds_node_and_others_never_do(
    there: Discord, shoal: Shoal, tmp_path: Path
) -> None:
    """Trap 3.7."""
    crowd = range(50_000, 52_000)
    guild = await there.add_guild("Reef", [HOST, MEMBER, *crowd])
    chance = await asyncio.to_thread(hit_by_chance, guild.id, [HOST, MEMBER, *crowd, BOT])
    async with reef(there, shoal) as at:
        host, member = Person(HOST), await at.link(Person(MEMBER))
        stranger, lucky = await at.link(Person(STRANGER)), await at.link(Person(chance))
        unlinked = Person(0)
        async with at.node(host, guild, tmp_path / "host"):
            others = {person.account: await at.start(person) for person in (stranger, lucky, unlinked)}
            plans = [
                await at.plan_of(person, others[person.account]) for person in (stranger, lucky, unlinked)
            ]
            mine = await at.start(member)
            await at.completes(member, mine)
            await asyncio.sleep(A_WHILE_S)
            await at.completes(member, await at.start(member))
            assert [await at.done(plan) for plan in plans] == [0, 0, 0]

            shown = await there.answer("members", by=MEMBER, in_guild=guild)
            assert "1 of 1 online" in shown.text
            followed = await there.answer("job", by=MEMBER, job=mine)
            assert "100 %" in followed.text
            assert "There is no job" in (await there.answer("job", by=STRANGER, job=mine)).text

            # The one thing that was missing.
            await there.join(guild, STRANGER)
            await at.completes(stranger, others[STRANGER])
            await there.join(guild, chance)
            await at.completes(lucky, others[chance])
            assert await at.done(plans[2]) == 0


async def test_who_is_a_member_no_more_stops(there: Discord, shoal: Shoal, tmp_path: Path) -> None:
    """Trap 3.7. In each way in which somebody can cease to be one; and goes on when they are again."""
    guild = await there.add_guild("Reef", [HOST, MEMBER])
    async with reef(there, shoal) as at:
        host, member = Person(HOST), await at.link(Person(MEMBER))
        async with at.node(host, guild, tmp_path / "host"):
            job = await at.start(member, chunks=100_000)
            plan = await at.plan_of(member, job)
            await at.reaches(plan, 5)

            await there.leave(guild, MEMBER)
            done = await stands_still(at, plan, within_s=10)
            await there.join(guild, MEMBER)
            await at.reaches(plan, done + 5)

            await at.ask(member, "DELETE", "/api/discord/link")
            done = await stands_still(at, plan, within_s=10)
            await at.link(member)
            await at.reaches(plan, done + 5)

            await there.expel_bot(guild)
            done = await stands_still(at, plan, within_s=10)
            guild = await there.add_guild("Reef", [HOST, MEMBER], guild_id=guild.id)
            await at.reaches(plan, done + 5)

            # Unheard: the connection was lost, and Discord forgot the session.
            there.gateway.cut()
            there.gateway.sessions.clear()
            del guild.members[MEMBER]
            await stands_still(at, plan, within_s=20)
            assert await at.status(member, job) == "processing"  # it waits for whoever may run it


async def stands_still(at: Reef, plan: str, *, within_s: float) -> int:
    """The node lets go of everything, and nothing more is done; how much was."""
    began = time.monotonic()
    await at.is_let_go()
    assert time.monotonic() - began < within_s
    done = await at.done(plan)
    await asyncio.sleep(1.5)
    assert await at.done(plan) == done
    return done


async def test_a_killed_process_comes_back_to_what_is_true(
    there: Discord, shoal: Shoal, tmp_path: Path
) -> None:
    """While it is dead nobody hears that a member left, and another one came."""
    guild = await there.add_guild("Reef", [HOST, MEMBER])
    async with reef(there, shoal) as at:
        host, member = Person(HOST), await at.link(Person(MEMBER))
        stranger = await at.link(Person(STRANGER))
        async with at.node(host, guild, tmp_path / "host"):
            job = await at.start(member, chunks=100_000)
            plan = await at.plan_of(member, job)
            others = await at.start(stranger)
            await at.reaches(plan, 5)

            await at.kill()
            del guild.members[MEMBER]
            guild.members[STRANGER] = None
            await at.up_again()
            await at.completes(stranger, others)
            await at.is_let_go()
            stopped_at = await at.done(plan)
            await asyncio.sleep(2.0)
            assert await at.done(plan) == stopped_at

            await there.join(guild, MEMBER)
            await at.reaches(plan, stopped_at + 5)
