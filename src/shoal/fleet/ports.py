"""What the room needs from elsewhere."""

from typing import Protocol


class Guilds(Protocol):
    async def guilds_of(self, owner: str) -> frozenset[str]:
        """The Discord servers the owner is a member of, each confirmed exactly.

        What cannot be confirmed now is left out, and comes later by ``change_grants``. Never raises because
        Discord is away.
        """
        ...


class NoGuilds:
    """Where there is no Discord."""

    async def guilds_of(self, owner: str) -> frozenset[str]:  # noqa: ARG002 - the contract
        return frozenset()
