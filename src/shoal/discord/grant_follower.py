"""Running jobs follow: whose membership changed is told to the fleet within seconds.

What is heard of somebody is followed at once. Besides, everybody with running jobs is looked at every few
seconds, and told again now and then even if nothing changed: what was lost is made up for.
"""

import asyncio
from uuid import UUID

import structlog
from redis.exceptions import RedisError

from shoal.discord.links import Links
from shoal.discord.memberships import Memberships
from shoal.discord.ports import Grants
from shoal.ledger.connection import REPEATABLE
from shoal.runtime.clock import Clock
from shoal.runtime.errors import ShoalError

log = structlog.get_logger(__name__)

LOOK_EVERY_S = 5.0
TELL_AGAIN_S = 20.0
MOST_WAITING = 1_000
"""More changes than this at once, and everybody is looked at instead."""


class GrantFollower:
    def __init__(self, *, memberships: Memberships, links: Links, grants: Grants, clock: Clock) -> None:
        self._memberships = memberships
        self._links = links
        self._grants = grants
        self._clock = clock
        self._told: dict[str, tuple[frozenset[str], float]] = {}
        self._accounts: set[int] = set()
        self._owners: set[str] = set()
        self._look_at = 0.0
        self._wake = asyncio.Event()

    def changed(self, user_id: int | None) -> None:
        """Something was heard of this account, or (None) of everybody."""
        if user_id is None or len(self._accounts) >= MOST_WAITING:
            self._look_at = 0.0
        else:
            self._accounts.add(user_id)
        self._wake.set()

    def owner_changed(self, user_id: UUID) -> None:
        """They have another Discord account now, or none."""
        self._owners.add(str(user_id))
        self._wake.set()

    async def run(self) -> None:
        while True:
            try:
                await self.work()
            except (*REPEATABLE, RedisError, ShoalError) as error:
                log.warning("grants not followed", error=str(error) or repr(error))
                await asyncio.sleep(1.0)
            try:
                async with asyncio.timeout(max(0.0, self._look_at - self._clock.monotonic())):
                    await self._wake.wait()
            except TimeoutError:
                continue

    async def work(self) -> None:
        self._wake.clear()
        owners, self._owners = self._owners, set()
        accounts, self._accounts = self._accounts, set()
        try:
            for account in accounts:
                user = await self._links.user_of(account)
                if user is not None:
                    owners.add(str(user))
            if self._clock.monotonic() >= self._look_at:
                owners |= set(await self._grants.owners_with_plans())
                self._told = {owner: told for owner, told in self._told.items() if owner in owners}
                self._look_at = self._clock.monotonic() + LOOK_EVERY_S
            await self._tell(sorted(owners))
        except BaseException:
            self._owners |= owners
            self._accounts |= accounts
            raise

    async def _tell(self, owners: list[str]) -> None:
        for owner, guilds in (await self._memberships.guilds_of_all(owners)).items():
            told, now = self._told.get(owner), self._clock.monotonic()
            if told is None or told[0] != guilds or now - told[1] >= TELL_AGAIN_S:
                await self._grants.change_grants(owner, sorted(guilds))
                self._told[owner] = guilds, now
                if told is not None and told[0] != guilds:
                    log.info("grants changed", owner=owner, guilds=sorted(guilds))
