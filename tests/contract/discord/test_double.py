"""The double speaks to discord.py as Discord does; what a test of ours relies on is tried here."""

import asyncio

import aiohttp
import discord
import pytest
from discord import app_commands

from tests.support.discord_double.double import Discord

from .conftest import Listener, listening

ANN, BOB = 4001, 4002


async def test_a_client_gets_ready_and_hears_who_comes_and_goes(there: Discord) -> None:
    guild = await there.add_guild("Reef", [ANN])
    async with listening(there) as listener:
        await listener.hears("ready")
        assert [(one.name, one.member_count) for one in listener.guilds] == [("Reef", 2)]

        await there.join(guild, BOB)
        await there.leave(guild, ANN)
        await listener.hears("member_join")
        await listener.hears("raw_member_remove")
        other = await there.add_guild("Bank")
        await listener.hears("guild_join")
        await there.expel_bot(other)
        await listener.hears("guild_remove")
    assert there.rest.unknown == []


async def test_all_members_come_in_chunks(there: Discord) -> None:
    guild = await there.add_guild("Reef", range(1, 2501))
    async with listening(there) as listener:
        await listener.hears("ready")
        found = await listener.guilds[0].chunk(cache=False)
    assert {one.id for one in found} == set(guild.members)


async def test_without_its_intent_members_are_not_told(there: Discord) -> None:
    guild = await there.add_guild("Reef", [ANN])
    wanted = discord.Intents.none()
    wanted.guilds = True
    async with listening(there, wanted) as listener:
        await listener.hears("ready")
        await there.join(guild, BOB)
        await there.expel_bot(guild)
        await listener.hears("guild_remove")
        assert "member_join" not in [name for name, _ in listener.heard]


@pytest.mark.parametrize("blow", ["cut", "close", "op"])
async def test_a_connection_that_is_lost_is_resumed_and_nothing_is_missed(there: Discord, blow: str) -> None:
    guild = await there.add_guild("Reef", [ANN])
    async with listening(there) as listener:
        await listener.hears("ready")
        if blow == "cut":
            there.gateway.cut()
        elif blow == "close":
            await there.gateway.close_all(4000)
        else:
            await there.ask_to_reconnect()
        await there.join(guild, BOB)
        await listener.hears("shard_resumed")
        await listener.hears("member_join")
    assert there.gateway.seen["identify"] == 1
    names = [name for name, _ in listener.heard]
    assert names.index("member_join") < names.index("shard_resumed")


async def test_a_session_that_is_gone_begins_anew(there: Discord) -> None:
    await there.add_guild("Reef", [ANN])
    async with listening(there) as listener:
        await listener.hears("ready")
        await there.invalidate_sessions()
        await listener.hears("ready", 2, within_s=30)
    assert there.gateway.seen["identify"] == 2


async def test_a_client_that_comes_back_too_late_begins_anew(there: Discord) -> None:
    await there.add_guild("Reef", [ANN])
    async with listening(there) as listener:
        await listener.hears("ready")
        there.gateway.cut()
        there.gateway.sessions.clear()
        await listener.hears("ready", 2, within_s=30)
    assert there.gateway.seen["resume refused"] == 1


async def test_heartbeats_keep_a_connection_and_silence_ends_it(there: Discord) -> None:
    there.gateway.heartbeat_interval_s = 0.4
    async with listening(there, heartbeat_timeout_s=3) as listener:
        await listener.hears("ready")
        async with asyncio.timeout(5):
            while there.gateway.seen["heartbeats"] < 4:
                there.gateway.heartbeat_heard.clear()
                await there.gateway.heartbeat_heard.wait()
        assert there.gateway.seen["timed out"] == 0
        assert there.gateway.seen["connections"] == 1

        there.gateway.is_deaf = True  # no acks any more: the client gives it up
        await listener.hears("shard_disconnect", within_s=10)
        there.gateway.is_deaf = False
        await listener.hears("shard_resumed", within_s=20)


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ("token", 4004),
        ("intents", 4014),
        ("nonsense", 4002),
        ("unknown op", 4001),
        ("early", 4003),
        ("twice", 4005),
        ("shard", 4010),
        ("large", 4002),
        ("fast", 4008),
    ],
)
async def test_what_discord_refuses_is_refused(there: Discord, wrong: str, code: int) -> None:
    identify = {"op": 2, "d": {"token": there.token, "intents": 3, "shard": [0, 1], "properties": {}}}
    given: dict[str, list[object]] = {
        "token": [{**identify, "d": {**identify["d"], "token": "x"}}],  # type: ignore[dict-item]
        "intents": [{**identify, "d": {**identify["d"], "intents": 1 << 15}}],  # type: ignore[dict-item]
        "nonsense": ["{"],
        "unknown op": [identify, {"op": 77, "d": None}],
        "early": [{"op": 8, "d": {}}],
        "twice": [identify, identify],
        "shard": [{**identify, "d": {**identify["d"], "shard": [1, 1]}}],  # type: ignore[dict-item]
        "large": [{"op": 3, "d": "x" * 5000}],
        "fast": [{"op": 1, "d": None}] * 121,
    }
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(f"{there.gateway.url}?v=10&encoding=json") as socket,
    ):
        assert (await socket.receive_json())["op"] == 10
        for one in given[wrong]:
            await (socket.send_str(one) if isinstance(one, str) else socket.send_json(one))
        async for _ in socket:
            pass
        assert socket.close_code == code


async def test_a_client_that_is_told_to_wait_waits(there: Discord) -> None:
    guild = await there.add_guild("Reef", [ANN])
    there.limits.by_route["GET /guilds/{guild}/members/{user}"] = (2, 0.5)
    async with listening(there) as listener:
        there.limits.refuse("GET .*/members/", retry_after_s=0.2)
        for _ in range(5):
            found = await listener.http.get_member(guild.id, ANN)
            assert found["user"]["id"] == str(ANN)
        with pytest.raises(discord.NotFound):
            await listener.http.get_member(guild.id, BOB)
    assert len(there.limits.refused) == 1
    assert there.limits.overrun == []  # it heeds what the headers say


async def test_a_command_is_used_and_answered(there: Discord) -> None:
    guild = await there.add_guild("Reef", [ANN])
    async with listening(there) as listener:
        answering(listener)
        await listener.hears("ready")
        asked = await there.answer("echo", by=ANN, in_guild=guild, word="hello")
        assert asked.text == "hello"
        assert asked.is_private
        await asked.until(lambda one: one.text == "hello again")
        assert len(asked.edits) == 1

        private = await there.answer("echo", by=BOB, word="you")
        assert private.text == "you"
    assert there.rest.unknown == []


def answering(listener: Listener) -> None:
    tree = app_commands.CommandTree(listener)

    @tree.command(name="echo", description="Say it again")
    async def echo(interaction: discord.Interaction, word: str) -> None:
        await interaction.response.send_message(word, ephemeral=True)
        await interaction.edit_original_response(content=f"{word} again")

    async def sync() -> None:
        await tree.sync()

    listener.heard.clear()
    asyncio.get_running_loop().create_task(sync())
