"""A sentinel's Discord side on a real ledger and brain, with the double of Discord at the other end."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from prometheus_client import CollectorRegistry

from shoal.brain.connection import Brain
from shoal.discord.links import Links
from shoal.discord.ports import FleetCounts, Neighbours, NodeShown
from shoal.discord.settings import DiscordSettings
from shoal.fleet.ports import Guilds
from shoal.jobs.service import Jobs
from shoal.ledger.pool import Ledger
from shoal.roles.discord_bot import DiscordBot
from shoal.runtime.clock import SystemClock
from shoal.runtime.lifecycle import run_parts
from shoal.vault.store import Vault
from shoal.wire.discord import DiscordLinkCode
from shoal.wire.status import Status, StatusMetrics
from tests.support.discord_double.double import Discord

WITHIN_S = 20.0


@dataclass
class Listed:
    """What the fleet was told, and the nodes it has: the other end of the ports."""

    told: dict[str, list[str]] = field(default_factory=dict)
    times: int = 0
    owners: list[str] = field(default_factory=list)
    nodes: list[NodeShown] = field(default_factory=list)
    open_to: dict[str, list[NodeShown]] = field(default_factory=dict)
    news: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def change_grants(self, owner: str, guilds: Sequence[str]) -> None:
        self.told[owner] = list(guilds)
        self.times += 1
        async with self.news:
            self.news.notify_all()

    async def owners_with_plans(self) -> Sequence[str]:
        return list(self.owners)

    async def nodes_of(self, owner: str) -> Sequence[NodeShown]:
        return [node for node in self.nodes if node.owner == owner]

    async def nodes_accepting(self, guild: str) -> Sequence[NodeShown]:
        return self.open_to.get(guild, [])

    async def counts(self) -> FleetCounts:
        return FleetCounts(nodes=len(self.nodes), online=sum(node.is_online for node in self.nodes))

    async def until(self, owner: UUID, guilds: Sequence[int], *, within_s: float = WITHIN_S) -> None:
        wanted = sorted(map(str, guilds))
        async with asyncio.timeout(within_s), self.news:
            await self.news.wait_for(lambda: self.told.get(str(owner)) == wanted)


@dataclass
class Stage:
    ledger: Ledger
    brain: Brain
    there: Discord
    vault: Vault
    fleet: Listed = field(default_factory=Listed)
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)
    """Of the sentinel that was started last."""

    @property
    def links(self) -> Links:
        return Links(self.ledger, self.brain.client)

    @asynccontextmanager
    async def sentinel(self, **given: Any) -> AsyncIterator[Guilds]:
        settings = DiscordSettings(discord_token=self.there.token, discord_api_url=self.there.url, **given)
        self.registry = CollectorRegistry()
        side = DiscordBot(
            settings,
            ledger=self.ledger,
            brain=self.brain,
            links=self.links,
            registry=self.registry,
            clock=SystemClock(),
        )
        parts = side.parts(
            Neighbours(
                jobs=Jobs(self.ledger, self.vault, link_expiry=timedelta(minutes=5)),
                nodes=self.fleet,
                grants=self.fleet,
                read_status=_status,
            )
        )
        until, started = asyncio.Event(), asyncio.Event()
        running = asyncio.create_task(run_parts(parts, grace_s=5, until=until, on_started=started.set))
        waiting = asyncio.create_task(started.wait())
        await asyncio.wait([running, waiting], return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        try:
            if running.done():
                await running
            yield side.guilds
        finally:
            until.set()
            await running

    @asynccontextmanager
    async def bot(self, **given: Any) -> AsyncIterator[Guilds]:
        """A sentinel whose bot is ready for commands."""
        async with self.sentinel(**given) as memberships:
            await eventually(lambda: self.there.gateway.sessions and "help" in self.there.world.commands)
            yield memberships

    def measured(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"sentinel_discord_{name}", labels)

    # People

    async def user(self, name: str = "", *, account: int | None = None) -> UUID:
        """Somebody who is known, perhaps with a Discord account."""
        user = uuid4()
        async with self.ledger.connection() as connection:
            await connection.execute("INSERT INTO users (id, name) VALUES ($1, $2)", user, name)
        if account is not None:
            code: DiscordLinkCode = await self.links.make_code(user)
            await self.links.redeem(code.code, discord_id=account, discord_name=f"user-{account}")
        return user


async def _status() -> Status:
    return Status(
        status="healthy",
        redis="connected",
        centrifugo="connected",
        supabase="connected",
        vault="connected",
        metrics=StatusMetrics(active_jobs=3),
    )


async def eventually(condition: Callable[[], object], *, within_s: float = WITHIN_S) -> None:
    """Look until it holds: what is looked at here tells nobody when it changes."""
    async with asyncio.timeout(within_s):
        while not condition():  # noqa: ASYNC110 - see above
            await asyncio.sleep(0.02)


async def guilds_become(
    memberships: Guilds, user: UUID, guilds: Sequence[int], *, within_s: float = WITHIN_S
) -> None:
    wanted = frozenset(map(str, guilds))
    async with asyncio.timeout(within_s):
        while await memberships.guilds_of(str(user)) != wanted:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.05)


Claims = Mapping[str, object]


def claims_of(user: UUID) -> Claims:
    return {"sub": str(user), "role": "authenticated"}
