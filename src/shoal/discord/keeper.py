"""Keeps the rolls and the filters of all guilds, in the one process that runs the bot.

* Of each guild all members are listed when the bot gets there, and on a timer; one guild after the other.
* Who joins is in the filter at once. After leaves, or when a filter is full, it is built anew from the roll,
  which asks nobody. A filter is exchanged whole: no member is ever missing from it in between.
* What changed is saved for the other sentinels, each filter not more often than every few seconds.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence

import structlog

from shoal.discord.filter_store import FilterStore
from shoal.discord.filters import Filters
from shoal.discord.membership_filter import MembershipFilter
from shoal.discord.ports import MemberSource
from shoal.discord.rolls import Roll, Rolls
from shoal.ledger.connection import REPEATABLE
from shoal.runtime.clock import Clock

log = structlog.get_logger(__name__)

OnChange = Callable[[int | None, int | None], None]
"""Something was heard of a user in a guild, or (None) of more than one."""

LOOK_EVERY_S = 1.0
SAVE_EVERY_S = 10.0
REBUILD_EVERY_S = 30.0
LIST_WITHIN_S = 1800.0
LIST_AGAIN_S = 15.0


class Keeper:
    def __init__(
        self,
        *,
        filters: Filters,
        rolls: Rolls,
        store: FilterStore,
        clock: Clock,
        collect_every_s: float,
        on_change: OnChange,
    ) -> None:
        self._filters = filters
        self._rolls = rolls
        self._store = store
        self._clock = clock
        self._collect_every_s = collect_every_s
        self._on_change = on_change
        self._names: dict[int, str] = {}
        self._kept: set[int] = set()
        self._collect_at: dict[int, float] = {}
        self._rebuild_at: dict[int, float] = {}
        self._save_at: dict[int, float] = {}
        self._joined_meanwhile: dict[int, list[int]] = {}
        self._forget_others = False
        self._listing: asyncio.Future[Sequence[int]] | None = None
        self._wake = asyncio.Event()

    @property
    def guilds(self) -> dict[int, str]:
        """The guilds the bot is in, with their names."""
        return dict(self._names)

    # What is heard

    def guild_there(self, guild_id: int, name: str) -> None:
        self._names[guild_id] = name
        self._kept.add(guild_id)
        self._collect_at[guild_id] = self._clock.monotonic()
        self._wake.set()

    def guild_gone(self, guild_id: int) -> None:
        """The bot was removed: nobody is a member any more, as far as we can know."""
        self._names.pop(guild_id, None)
        self._kept.discard(guild_id)
        for dates in (self._collect_at, self._rebuild_at, self._save_at):
            dates.pop(guild_id, None)
        self._forget_others = True
        self._rolls.forget(guild_id)
        self._filters.drop(guild_id)
        self._on_change(None, None)

    def joined(self, guild_id: int, user_id: int) -> None:
        self._rolls.joined(guild_id, user_id)
        if guild_id in self._joined_meanwhile:
            self._joined_meanwhile[guild_id].append(user_id)
        its = self._filters.get(guild_id)
        if its is not None and user_id not in its:
            its.add(user_id)
            self._due(self._save_at, guild_id, SAVE_EVERY_S)
            if its.is_full:
                self._due(self._rebuild_at, guild_id, 0.0)
        self._on_change(guild_id, user_id)

    def left(self, guild_id: int, user_id: int) -> None:
        self._rolls.left(guild_id, user_id)
        self._due(self._rebuild_at, guild_id, REBUILD_EVERY_S)
        self._on_change(guild_id, user_id)

    def lost(self, guild_ids: Iterable[int]) -> None:
        self._rolls.doubt(guild_ids)

    def resumed(self, guild_ids: Iterable[int]) -> None:
        self._rolls.trust(guild_ids)
        self._on_change(None, None)

    def began_anew(self, guild_ids: Iterable[int]) -> None:
        self._rolls.outdate(guild_ids)
        if self._listing is not None:
            self._listing.cancel()  # in this session it never arrives

    def all_told(self, guild_ids: Collection[int]) -> None:
        """The bot is in these guilds, available or not: filters of others go."""
        for gone in self._names.keys() - set(guild_ids):
            self.guild_gone(gone)
        self._kept = set(guild_ids)
        self._filters.keep_only(self._kept)
        self._forget_others = True
        self._wake.set()

    def resign(self) -> None:
        """Another process runs the bot now, and only reads here what it saves."""
        self._names.clear()
        for dates in (self._collect_at, self._rebuild_at, self._save_at):
            dates.clear()
        self._rolls.clear()
        self._forget_others = False

    # What is done

    async def run(self, source: MemberSource) -> None:
        while True:
            try:
                await self.work(source)
            except REPEATABLE as error:
                log.warning("filters not saved", error=str(error))
            self._wake.clear()
            try:
                async with asyncio.timeout(LOOK_EVERY_S):
                    await self._wake.wait()
            except TimeoutError:
                continue

    async def work(self, source: MemberSource) -> None:
        for guild_id in self._past(self._collect_at):
            await self._collect(guild_id, source)
        for guild_id in self._past(self._rebuild_at):
            roll = self._rolls.get(guild_id)
            if roll is not None:
                await self._build(guild_id, roll)
        if self._forget_others:
            self._forget_others = False
            await self._store.forget_others(self._kept)
        for guild_id in self._past(self._save_at):
            its = self._filters.get(guild_id)
            if its is not None:
                await self._store.save(its, self._names.get(guild_id, ""))
            self._save_at.pop(guild_id, None)

    async def _collect(self, guild_id: int, source: MemberSource) -> None:
        self._collect_at[guild_id] = self._clock.monotonic() + LIST_AGAIN_S
        self._rolls.begin(guild_id)
        user_ids = await self._list(guild_id, source)
        if user_ids is None:
            self._rolls.abandon(guild_id)
            return
        if guild_id not in self._names:  # it went meanwhile
            self._rolls.abandon(guild_id)
            return
        self._collect_at[guild_id] = self._clock.monotonic() + self._collect_every_s
        roll = self._rolls.finish(guild_id, user_ids)
        log.info("members listed", guild=guild_id, members=len(roll))
        await self._build(guild_id, roll)
        self._on_change(None, None)

    async def _list(self, guild_id: int, source: MemberSource) -> Sequence[int] | None:
        self._listing = asyncio.ensure_future(source.members_of(guild_id))
        try:
            done, _ = await asyncio.wait({self._listing}, timeout=LIST_WITHIN_S)
            return self._listing.result() if done and not self._listing.cancelled() else None
        except Exception as error:  # noqa: BLE001 - whatever it was, it is asked for again
            log.warning("members not listed", guild=guild_id, error=str(error) or repr(error))
            return None
        finally:
            self._listing.cancel()

    async def _build(self, guild_id: int, roll: Roll) -> None:
        """In a thread: 100,000 hashes take a tenth of a second."""
        self._rebuild_at.pop(guild_id, None)
        self._joined_meanwhile[guild_id] = []
        user_ids = roll.ids[:]
        try:
            its = await asyncio.to_thread(MembershipFilter.build, guild_id, user_ids, members=len(user_ids))
        finally:
            joined = self._joined_meanwhile.pop(guild_id)
        for user_id in joined:
            its.add(user_id)
        if guild_id in self._names:
            self._filters.put(its)
            self._due(self._save_at, guild_id, 0.0)

    def _due(self, dates: dict[int, float], guild_id: int, after_s: float) -> None:
        at = self._clock.monotonic() + after_s
        dates[guild_id] = min(at, dates.get(guild_id, at))

    def _past(self, dates: dict[int, float]) -> list[int]:
        now = self._clock.monotonic()
        return [guild_id for guild_id, at in dates.items() if at <= now]
