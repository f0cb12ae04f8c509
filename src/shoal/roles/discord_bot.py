"""The bot and what it knows, built and joined; imported only where a token is set."""

from datetime import timedelta

from prometheus_client import CollectorRegistry

from shoal.brain.connection import Brain
from shoal.brain.leases import Lease
from shoal.discord.bot import LEASE_S, Bot
from shoal.discord.client import GuildClient
from shoal.discord.commands import add_commands
from shoal.discord.desk import Desk
from shoal.discord.filter_reader import FilterReader
from shoal.discord.filter_store import FilterStore
from shoal.discord.filters import Filters
from shoal.discord.grant_follower import GrantFollower
from shoal.discord.keeper import Keeper
from shoal.discord.links import Links
from shoal.discord.measures import DiscordMeasures
from shoal.discord.member_check import MemberCheck
from shoal.discord.memberships import Memberships
from shoal.discord.ports import Neighbours
from shoal.discord.rolls import Rolls
from shoal.discord.settings import DiscordSettings
from shoal.discord.watching import Watching
from shoal.fleet.ports import Guilds
from shoal.ledger.pool import Ledger
from shoal.runtime.clock import Clock
from shoal.runtime.lifecycle import Part

BOT_LEASE = "discord:bot:leader"


class DiscordBot:
    def __init__(
        self,
        own: DiscordSettings,
        *,
        ledger: Ledger,
        brain: Brain,
        links: Links,
        registry: CollectorRegistry,
        clock: Clock,
    ) -> None:
        self._own = own
        self._brain = brain
        self._links = links
        self._registry = registry
        self._clock = clock
        self._filters, self._rolls, self._store = Filters(), Rolls(), FilterStore(ledger)
        self._check = MemberCheck(own.discord_token, own.discord_api_url, clock)
        self._memberships = Memberships(
            filters=self._filters, rolls=self._rolls, links=links, discord=self._check, clock=clock
        )
        self.guilds: Guilds = self._memberships

    def parts(self, neighbours: Neighbours) -> list[Part]:
        follower = GrantFollower(
            memberships=self._memberships, links=self._links, grants=neighbours.grants, clock=self._clock
        )

        def changed(guild_id: int | None, user_id: int | None) -> None:
            if guild_id is not None and user_id is not None:
                self._memberships.forget(guild_id, user_id)
            follower.changed(user_id)

        keeper = Keeper(
            filters=self._filters,
            rolls=self._rolls,
            store=self._store,
            clock=self._clock,
            collect_every_s=self._own.discord_collect_every_s,
            on_change=changed,
        )
        desk = Desk(
            links=self._links,
            jobs=neighbours.jobs,
            nodes=neighbours.nodes,
            read_status=neighbours.read_status,
            filters=self._filters,
            rolls=self._rolls,
        )
        watching = Watching(self._clock)

        def add(client: GuildClient) -> None:
            add_commands(client, desk, watching, follower.owner_changed)

        bot = Bot(
            token=self._own.discord_token,
            api_url=self._own.discord_api_url,
            lease=Lease(self._brain.client, BOT_LEASE, ttl=timedelta(seconds=LEASE_S)),
            keeper=keeper,
            follower=follower,
            watching=watching,
            add_commands=add,
        )
        self._registry.register(
            DiscordMeasures(self._filters, self._memberships, is_connected=lambda: bot.is_connected)
        )
        reader = FilterReader(self._filters, self._store, is_kept_here=lambda: bot.is_here)
        return [reader, self._check, bot]
