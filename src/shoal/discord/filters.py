"""The filters of all guilds, in memory: what a sentinel asks before it asks anybody else."""

from collections.abc import Iterable, Mapping

from shoal.discord.membership_filter import MembershipFilter, key_of


class Filters:
    def __init__(self) -> None:
        self._by_guild: dict[int, MembershipFilter] = {}

    def perhaps_in(self, user_id: int) -> list[int]:
        """The guilds whose filter does not rule the user out. Nearly always, those they are in."""
        key = key_of(user_id)
        return [guild for guild, its in self._by_guild.items() if its.has_key(key)]

    def may_be_member(self, guild_id: int, user_id: int) -> bool:
        its = self._by_guild.get(guild_id)
        return its is not None and user_id in its

    def put(self, its: MembershipFilter) -> None:
        self._by_guild[its.guild_id] = its

    def get(self, guild_id: int) -> MembershipFilter | None:
        return self._by_guild.get(guild_id)

    def drop(self, guild_id: int) -> None:
        self._by_guild.pop(guild_id, None)

    def keep_only(self, guild_ids: Iterable[int]) -> None:
        """Those of other guilds are forgotten: the bot is there no more."""
        kept = set(guild_ids)
        self._by_guild = {guild: its for guild, its in self._by_guild.items() if guild in kept}

    @property
    def members(self) -> Mapping[int, int]:
        """Of each guild that has a filter, how many members are in it."""
        return {guild: its.members for guild, its in self._by_guild.items()}
