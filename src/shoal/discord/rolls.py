"""Who the members of a guild are, exactly: what a filter's "perhaps" is held against.

A roll is complete from the moment at which Discord listed the members, kept up by hearing who joins and
leaves, and in doubt while nothing can be heard. What is heard while a list is on its way counts as well.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterable


class Roll:
    """The ids of the members in order, 8 bytes each."""

    def __init__(self, user_ids: Iterable[int]) -> None:
        self.ids = array("Q", sorted(set(user_ids)))

    def __len__(self) -> int:
        return len(self.ids)

    def __contains__(self, user_id: int) -> bool:
        place = bisect_left(self.ids, user_id)
        return place < len(self.ids) and self.ids[place] == user_id

    def add(self, user_id: int) -> None:
        if user_id not in self:
            self.ids.insert(bisect_left(self.ids, user_id), user_id)

    def remove(self, user_id: int) -> None:
        if user_id in self:
            del self.ids[bisect_left(self.ids, user_id)]


class Rolls:
    def __init__(self) -> None:
        self._by_guild: dict[int, Roll] = {}
        self._heard: dict[int, list[tuple[int, bool]]] = {}
        self._in_doubt: set[int] = set()
        self._outdated: set[int] = set()

    def get(self, guild_id: int) -> Roll | None:
        return self._by_guild.get(guild_id)

    def is_member(self, guild_id: int, user_id: int) -> bool | None:
        """None when this process does not know for sure."""
        roll = self._by_guild.get(guild_id)
        if roll is None or guild_id in self._in_doubt or guild_id in self._outdated:
            return None
        return user_id in roll

    def begin(self, guild_id: int) -> None:
        """From now on a list of the members is on its way."""
        self._heard[guild_id] = []

    def finish(self, guild_id: int, user_ids: Iterable[int]) -> Roll:
        roll = self._by_guild[guild_id] = Roll(user_ids)
        for user_id, joined in self._heard.pop(guild_id, []):
            (roll.add if joined else roll.remove)(user_id)
        self._outdated.discard(guild_id)
        return roll

    def abandon(self, guild_id: int) -> None:
        self._heard.pop(guild_id, None)

    def joined(self, guild_id: int, user_id: int) -> None:
        self._hear(guild_id, user_id, joined=True)

    def left(self, guild_id: int, user_id: int) -> None:
        self._hear(guild_id, user_id, joined=False)

    def forget(self, guild_id: int) -> None:
        self._by_guild.pop(guild_id, None)

    def clear(self) -> None:
        """Another process runs the bot now."""
        for kept in (self._by_guild, self._heard, self._in_doubt, self._outdated):
            kept.clear()

    # What is heard, and what is not

    def doubt(self, guild_ids: Iterable[int]) -> None:
        """The connection is lost: who leaves now is heard later, if at all."""
        self._in_doubt |= set(guild_ids)

    def trust(self, guild_ids: Iterable[int]) -> None:
        """All that was missed has been heard."""
        self._in_doubt -= set(guild_ids)

    def outdate(self, guild_ids: Iterable[int]) -> None:
        """A new session: what was missed is never heard, so the members have to be listed again."""
        guilds = set(guild_ids)
        self._in_doubt -= guilds
        self._outdated |= guilds

    def _hear(self, guild_id: int, user_id: int, *, joined: bool) -> None:
        if guild_id in self._heard:
            self._heard[guild_id].append((user_id, joined))
        roll = self._by_guild.get(guild_id)
        if roll is not None:
            (roll.add if joined else roll.remove)(user_id)
