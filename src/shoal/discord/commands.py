"""The slash commands: each asks the desk. An answer about somebody is seen by them alone."""

import math
from collections.abc import Callable
from uuid import UUID

from discord import app_commands

from shoal.discord import embeds
from shoal.discord.answers import Asking, Message, explain, say, show, think
from shoal.discord.client import GuildClient
from shoal.discord.desk import Desk
from shoal.discord.watching import Watching
from shoal.wire.jobs import JobView

Tree = app_commands.CommandTree[GuildClient]


def add_commands(
    client: GuildClient, desk: Desk, watching: Watching, on_link: Callable[[UUID], None]
) -> None:
    _add_own(client.tree, desk, watching)
    _add_links(client.tree, desk, on_link)
    _add_of_guilds(client.tree, desk)
    _add_of_all(client, desk)
    client.tree.error(explain)


def _add_own(tree: Tree, desk: Desk, watching: Watching) -> None:
    @tree.command(description="Your nodes")
    async def nodes(asking: Asking) -> None:
        await think(asking, is_private=True)
        await show(asking, await desk.nodes(asking.user.id))

    @tree.command(description="Your newest jobs")
    async def jobs(asking: Asking) -> None:
        await think(asking, is_private=True)
        await show(asking, await desk.jobs(asking.user.id))

    @tree.command(description="One of your jobs, with live progress until it ends")
    @app_commands.describe(job="Its id; begin to type and choose")
    async def job(asking: Asking, job: str) -> None:
        await think(asking, is_private=True)
        account = asking.user.id
        found = await desk.job(account, job)
        await show(asking, embeds.job_embed(found))

        async def read_again() -> JobView:
            return await desk.job(account, str(found.id))

        watching.follow(account, found, Message(asking), read_again)

    @job.autocomplete("job")
    async def job_choices(asking: Asking, typed: str) -> list[app_commands.Choice[str]]:
        found = await desk.job_choices(asking.user.id, typed)
        return [app_commands.Choice(name=name, value=value) for name, value in found]


def _add_links(tree: Tree, desk: Desk, on_link: Callable[[UUID], None]) -> None:
    @tree.command(description="Link this Discord account with your Shoal user")
    @app_commands.describe(code="What 'shoal discord link' showed you; nobody else's")
    async def link(asking: Asking, code: str) -> None:
        await think(asking, is_private=True)
        embed, users = await desk.link(asking.user.id, asking.user.name, code)
        for user in users:
            on_link(user)
        await show(asking, embed)

    @tree.command(description="Take this Discord account off your Shoal user")
    async def unlink(asking: Asking) -> None:
        await think(asking, is_private=True)
        embed, user = await desk.unlink(asking.user.id)
        if user is not None:
            on_link(user)
        await show(asking, embed)


def _add_of_guilds(tree: Tree, desk: Desk) -> None:
    @tree.command(description="Who lets the members of this server use their nodes")
    @app_commands.guild_only()
    async def members(asking: Asking) -> None:
        await think(asking)
        await show(asking, await desk.members(asking.guild_id or 0, _name_of_guild(asking)))

    @tree.command(description="What Shoal knows of this server")
    @app_commands.guild_only()
    async def server(asking: Asking) -> None:
        await think(asking)
        await show(asking, await desk.server(asking.guild_id or 0, _name_of_guild(asking)))


def _add_of_all(client: GuildClient, desk: Desk) -> None:
    tree = client.tree

    def latency_ms() -> float | None:
        return client.latency * 1000 if math.isfinite(client.latency) else None

    @tree.command(description="How the system is")
    async def status(asking: Asking) -> None:
        await think(asking)
        await show(asking, await desk.status(latency_ms()))

    @tree.command(name="help", description="What this bot can do")
    async def help_(asking: Asking) -> None:
        known = [(one.name, one.description) for one in tree.walk_commands()]
        await say(asking, embeds.help_embed(sorted(known)), is_private=True)

    @tree.command(description="Whether the bot is awake")
    async def ping(asking: Asking) -> None:
        await say(asking, embeds.pong_embed(latency_ms()))

    @tree.command(description="What this is")
    async def about(asking: Asking) -> None:
        await say(asking, desk.about(len(client.guilds)))


def _name_of_guild(asking: Asking) -> str:
    return (asking.guild.name if asking.guild else "") or "this server"
