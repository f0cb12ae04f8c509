"""The Discord side of a sentinel: the bot and what it knows where a token is set, else next to nothing."""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Protocol

from litestar.types import ControllerRouterHandler
from prometheus_client import CollectorRegistry

from shoal.api.discord import discord_router
from shoal.brain.connection import Brain
from shoal.discord.links import Links
from shoal.discord.ports import FleetCounts, Neighbours, Nodes, NodeShown
from shoal.discord.settings import DiscordSettings
from shoal.fleet.open_nodes import OpenNodes
from shoal.fleet.owners import NodeDesk
from shoal.fleet.ports import Guilds, NoGuilds
from shoal.ledger.pool import Ledger
from shoal.roles.fleet import FleetSide
from shoal.runtime.clock import Clock
from shoal.runtime.errors import Invalid
from shoal.runtime.lifecycle import Part
from shoal.runtime.settings import Settings

MOST_OWN_NODES = 100


class BotSide(Protocol):
    """What ``discord_bot`` builds."""

    guilds: Guilds

    def parts(self, neighbours: Neighbours) -> list[Part]: ...


class DiscordSide:
    """``guilds`` is there before the fleet, which asks it; ``parts`` come after, as they steer the fleet."""

    def __init__(self, links: Links, bot: BotSide | None) -> None:
        self.handlers: list[ControllerRouterHandler] = [discord_router(links, has_bot=bot is not None)]
        self.guilds: Guilds = bot.guilds if bot is not None else NoGuilds()
        self._bot = bot

    def parts(self, neighbours: Neighbours) -> list[Part]:
        return self._bot.parts(neighbours) if self._bot is not None else []


def discord_side(
    settings: Settings, *, ledger: Ledger, brain: Brain, registry: CollectorRegistry, clock: Clock
) -> DiscordSide:
    own = settings[DiscordSettings]
    links = Links(ledger, brain.client)
    if not own.discord_token:
        return DiscordSide(links, None)
    require_installed()
    # Only where there is a bot: discord.py takes a third of a second to import.
    from shoal.roles.discord_bot import DiscordBot  # noqa: PLC0415

    bot = DiscordBot(own, ledger=ledger, brain=brain, links=links, registry=registry, clock=clock)
    return DiscordSide(links, bot)


def require_installed() -> None:
    if find_spec("discord") is None or find_spec("rbloom") is None:
        raise Invalid(
            "discord_not_installed",
            "A token of a Discord bot is set, and what the bot needs is not installed.",
            hint="pip install 'shoal[discord]', or unset SHOAL_DISCORD_TOKEN.",
        )


def nodes_shown(ledger: Ledger, fleet: FleetSide) -> Nodes:
    if fleet.nodes is None or fleet.looks is None:
        return NoFleet()
    return FleetShown(fleet.nodes, OpenNodes(ledger, fleet.looks))


class FleetShown:
    """``Nodes`` for the bot, of the fleet's own words."""

    def __init__(self, desk: NodeDesk, open_nodes: OpenNodes) -> None:
        self._desk = desk
        self._open_nodes = open_nodes

    async def nodes_of(self, owner: str) -> Sequence[NodeShown]:
        claims = {"sub": owner, "role": "authenticated"}
        page = await self._desk.list_nodes(claims, after=None, page_size=MOST_OWN_NODES)
        return [
            NodeShown(
                name=node.name,
                owner=owner,
                is_online=node.state in {"online", "paused"},
                is_paused=node.paused,
                backlog=node.backlog,
                max_parallel=node.max_parallel,
                last_seen_at=node.last_seen_at,
            )
            for node in page.nodes
            if node.state != "revoked"
        ]

    async def nodes_accepting(self, guild: str) -> Sequence[NodeShown]:
        return [
            NodeShown(
                name=node.name,
                owner=str(node.owner),
                is_online=node.is_heard,
                is_paused=node.paused,
                backlog=node.backlog,
                max_parallel=node.max_parallel,
            )
            for node in await self._open_nodes.open_to_guild(guild)
        ]

    async def counts(self) -> FleetCounts:
        counted = await self._open_nodes.count()
        return FleetCounts(nodes=counted.claimed, online=counted.heard, chunks_held=counted.chunks)


class NoFleet:
    """Without a beacon there is no fleet: nobody has nodes, and no grants follow."""

    async def nodes_of(self, owner: str) -> Sequence[NodeShown]:  # noqa: ARG002 - the port's
        return []

    async def nodes_accepting(self, guild: str) -> Sequence[NodeShown]:  # noqa: ARG002 - the port's
        return []

    async def counts(self) -> FleetCounts:
        return FleetCounts()

    async def change_grants(self, owner: str, guilds: Sequence[str]) -> None: ...

    async def owners_with_plans(self) -> Sequence[str]:
        return []
