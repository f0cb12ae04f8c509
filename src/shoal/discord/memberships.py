"""In which guilds is this user? The answer from which grants are made."""

import asyncio
from collections.abc import Mapping
from uuid import UUID

from shoal.discord import rules
from shoal.discord.filters import Filters
from shoal.discord.links import Links
from shoal.discord.ports import AskDiscord
from shoal.discord.rolls import Rolls
from shoal.runtime.clock import Clock

ASKED_AT_ONCE = 8
MOST_REMEMBERED = 100_000


class Memberships:
    """``Guilds`` for the fleet. A miss in the filters costs nothing; a hit is confirmed exactly."""

    def __init__(
        self, *, filters: Filters, rolls: Rolls, links: Links, discord: AskDiscord, clock: Clock
    ) -> None:
        self._filters = filters
        self._rolls = rolls
        self._links = links
        self._discord = discord
        self._clock = clock
        self._known: dict[tuple[int, int], rules.Known] = {}
        self.answers = dict.fromkeys(("member", "stranger", "unknown"), 0)
        self._asking = asyncio.Semaphore(ASKED_AT_ONCE)

    async def guilds_of(self, owner: str) -> frozenset[str]:
        """The guilds an owner is a member of, confirmed. Who cannot be confirmed now is left out."""
        return (await self.guilds_of_all([owner]))[owner]

    async def guilds_of_all(self, owners: list[str]) -> Mapping[str, frozenset[str]]:
        accounts = await self._links.accounts_of([user for owner in owners if (user := _user(owner))])
        found = {}
        for owner in owners:
            user = _user(owner)
            account = accounts.get(user) if user else None
            found[owner] = await self.guilds_of_account(account) if account else frozenset()
        return found

    async def guilds_of_account(self, user_id: int) -> frozenset[str]:
        perhaps = self._filters.perhaps_in(user_id)
        sure = await asyncio.gather(*(self.is_member(guild, user_id) for guild in perhaps))
        return frozenset(str(guild) for guild, member in zip(perhaps, sure, strict=True) if member)

    async def is_member(self, guild_id: int, user_id: int) -> bool:
        """Exactly, whatever the filter says."""
        place, now = (guild_id, user_id), self._clock.monotonic()
        answer, known = self._rolls.is_member(guild_id, user_id), self._known.get(place)
        if answer is None and not rules.is_recent(known, now=now):
            async with self._asking:
                answer = await self._discord.is_member(guild_id, user_id)
        if answer is not None or not rules.is_recent(known, now=now):
            self.answers["unknown" if answer is None else "member" if answer else "stranger"] += 1
        member, remembered = rules.judge_membership(answer, known, now=now)
        self._remember(place, remembered)
        return member

    def forget(self, guild_id: int, user_id: int) -> None:
        """Something was heard of them: what was known before does not count any more."""
        self._known.pop((guild_id, user_id), None)

    def _remember(self, place: tuple[int, int], known: rules.Known | None) -> None:
        if known is None:
            self._known.pop(place, None)
            return
        if len(self._known) >= MOST_REMEMBERED:
            self._known.clear()
        self._known[place] = known


def _user(owner: str) -> UUID | None:
    try:
        return UUID(owner)
    except ValueError:
        return None
