"""The filters as the ledger has them: every sentinel has the same."""

from collections.abc import Collection
from datetime import datetime

import structlog

from shoal.discord.filters import Filters
from shoal.discord.membership_filter import FilterUnreadable, MembershipFilter
from shoal.discord.store import sql
from shoal.ledger.pool import Ledger

log = structlog.get_logger(__name__)

READ_AT_ONCE = 20


class FilterStore:
    """The filters as the ledger has them."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._seen: dict[str, datetime] = {}

    async def save(self, its: MembershipFilter, guild_name: str) -> None:
        async with self._ledger.connection() as connection:
            await sql.save_filter.run(
                connection,
                guild_id=str(its.guild_id),
                guild_name=guild_name[:200],
                member_count=its.members,
                filter=its.dump(),
            )

    async def forget_others(self, guild_ids: Collection[int]) -> None:
        """The bot is in these guilds and in no other."""
        async with self._ledger.connection() as connection:
            rows = await sql.forget_filters.rows(
                connection, kept_guild_ids=[str(guild) for guild in guild_ids]
            )
        if rows:
            log.info("filters forgotten", guilds=[row["guild_id"] for row in rows])

    async def refresh(self, filters: Filters) -> None:
        """Bring ``filters`` up to date with the ledger: what is new there, and what is there no more.

        One that cannot be read is left out, so it lets nobody in.
        """
        async with self._ledger.connection() as connection:
            there = {row["guild_id"]: row["updated_at"] for row in await sql.list_filters.rows(connection)}
            changed = [guild for guild, at in there.items() if self._seen.get(guild) != at]
            for first in range(0, len(changed), READ_AT_ONCE):
                some = changed[first : first + READ_AT_ONCE]
                for row in await sql.read_filters.rows(connection, guild_ids=some):
                    _put(filters, row["guild_id"], row["filter"])
                    self._seen[row["guild_id"]] = row["updated_at"]
        filters.keep_only(map(int, there))
        self._seen = {guild: at for guild, at in self._seen.items() if guild in there}


def _put(filters: Filters, guild_id: str, text: str) -> None:
    try:
        filters.put(MembershipFilter.load(int(guild_id), text))
    except FilterUnreadable as error:
        filters.drop(int(guild_id))
        log.warning("a filter cannot be read: its guild has no members", guild=guild_id, why=str(error))
