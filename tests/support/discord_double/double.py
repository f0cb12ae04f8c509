"""What a test holds: Discord on a loopback port, where things happen when the test says so."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from .gateway import INVALID_SESSION, RECONNECT, Gateway
from .interactions import Asked, command_payload, options_of
from .limits import Limits
from .payloads import BOT, member, new_id, user
from .rest import BASE, Rest
from .world import MEMBERS_INTENT, Guild, World

TOKEN = "a token of the double.which is.no secret"


class Discord:
    def __init__(self, token: str = TOKEN) -> None:
        self.token = token
        self.world = World(token)
        self.limits = Limits()
        self.gateway = Gateway(self.world)
        self.rest = Rest(self.world, self.limits)
        self.url = ""

    async def start(self, port: int = 0) -> web.AppRunner:
        app = web.Application()
        app.router.add_get("/gateway/", self.gateway.serve)
        self.rest.add_to(app)
        runner = web.AppRunner(app, shutdown_timeout=1.0)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", port)
        await site.start()
        host, bound = runner.addresses[0][:2]
        self.url = f"http://{host}:{bound}{BASE}"
        self.gateway.url = self.rest.gateway_url = f"ws://{host}:{bound}/gateway/"
        return runner

    # Guilds and people

    async def add_guild(self, name: str, members: Iterable[int] = (), *, guild_id: int = 0) -> Guild:
        guild = Guild(guild_id or new_id(), name, dict.fromkeys([*members, BOT]))
        self.world.guilds[guild.id] = guild
        joined = {name: value for name, value in guild.created.items() if name != "unavailable"}
        await self.gateway.tell("GUILD_CREATE", joined, guild_id=guild.id)
        return guild

    async def expel_bot(self, guild: Guild) -> None:
        del self.world.guilds[guild.id]
        await self.gateway.tell("GUILD_DELETE", {"id": str(guild.id)}, guild_id=guild.id)

    async def join(self, guild: Guild, user_id: int) -> None:
        guild.members[user_id] = None
        joined = {**member(user_id), "guild_id": str(guild.id)}
        await self.gateway.tell("GUILD_MEMBER_ADD", joined, guild_id=guild.id, intents=MEMBERS_INTENT)

    async def leave(self, guild: Guild, user_id: int) -> None:
        del guild.members[user_id]
        left = {"guild_id": str(guild.id), "user": user(user_id)}
        await self.gateway.tell("GUILD_MEMBER_REMOVE", left, guild_id=guild.id, intents=MEMBERS_INTENT)

    # Commands

    async def use(self, name: str, *, by: int, in_guild: Guild | None = None, **options: Any) -> Asked:
        """Somebody uses a slash command; returns at once."""
        assert name in self.world.commands, f"there is no /{name}: {sorted(self.world.commands)}"
        definition = self.world.commands[name]
        asked = Asked(new_id(), f"interaction-{new_id()}", name)
        self.rest.asked[asked.token] = asked
        guild_id = in_guild.id if in_guild else None
        payload = command_payload(
            asked, definition, options_of(definition, options), user_id=by, guild_id=guild_id
        )
        # Whatever happens in private belongs to the first shard.
        await self.gateway.tell("INTERACTION_CREATE", payload, guild_id=guild_id or 0)
        return asked

    async def choices(self, name: str, option: str, typed: str, *, by: int) -> list[tuple[str, str]]:
        """What somebody is offered while they type."""
        definition = self.world.commands[name]
        (known,) = [one for one in definition["options"] if one["name"] == option]
        assert known["autocomplete"], f"/{name} offers nothing for {option}"
        asked = Asked(new_id(), f"interaction-{new_id()}", name)
        self.rest.asked[asked.token] = asked
        options = [{"name": option, "type": known["type"], "value": typed, "focused": True}]
        payload = command_payload(asked, definition, options, user_id=by, guild_id=None)
        await self.gateway.tell("INTERACTION_CREATE", {**payload, "type": 4}, guild_id=0)
        await asked.until(lambda one: one.choices is not None)
        return [(one["name"], one["value"]) for one in asked.choices or []]

    async def answer(self, name: str, *, by: int, in_guild: Guild | None = None, **options: Any) -> Asked:
        """The same, once there is a message."""
        asked = await self.use(name, by=by, in_guild=in_guild, **options)
        return await asked.until(lambda one: one.message is not None)

    # Weather

    async def ask_to_reconnect(self) -> None:
        await self.gateway.send_all(RECONNECT)

    async def invalidate_sessions(self) -> None:
        """Who is connected must identify again."""
        self.gateway.sessions.clear()
        await self.gateway.send_all(INVALID_SESSION, data=False)

    def forget_sessions(self) -> None:
        """Who comes back to resume is too late."""
        self.gateway.sessions = {
            name: one for name, one in self.gateway.sessions.items() if one.connection is not None
        }

    def go_away(self) -> None:
        self.rest.is_away = self.gateway.is_away = True
        self.gateway.cut()

    def come_back(self) -> None:
        self.rest.is_away = self.gateway.is_away = False


@asynccontextmanager
async def running(token: str = TOKEN, *, port: int = 0) -> AsyncIterator[Discord]:
    discord = Discord(token)
    runner = await discord.start(port)
    try:
        yield discord
    finally:
        await discord.gateway.close_all(1001)
        await runner.cleanup()
