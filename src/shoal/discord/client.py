"""The client of discord.py: what it hears goes to the keeper, and commands to the desk.

It keeps no members, no messages and no presences: the rolls are smaller and exact. The handlers here change
state before they wait for anything, so that events count in the order in which they came.
"""

import asyncio
import sys
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import discord
import structlog
from discord import app_commands

from shoal.discord.connection import intents
from shoal.discord.keeper import Keeper

log = structlog.get_logger(__name__)

CHUNK_WITHIN_S = 30.0
"""For so long nothing may come of a list before it is given up."""


@dataclass
class Listing:
    """The members of a guild, as far as they have come."""

    complete: asyncio.Future[None]
    user_ids: "array[int]" = field(default_factory=lambda: array("Q"))


class GuildClient(discord.AutoShardedClient):
    def __init__(self, keeper: Keeper) -> None:
        super().__init__(
            intents=intents(),
            member_cache_flags=discord.MemberCacheFlags.none(),
            chunk_guilds_at_startup=False,
            max_messages=None,
            allowed_mentions=discord.AllowedMentions.none(),
        )
        self.tree: app_commands.CommandTree[GuildClient] = app_commands.CommandTree(self)
        self.is_connected = False
        self._keeper = keeper
        self._listings: dict[str, Listing] = {}
        self._connection.parsers["GUILD_MEMBERS_CHUNK"] = self._hear_chunk

    async def members_of(self, guild_id: int) -> Sequence[int]:
        guild = self.get_guild(guild_id)
        if guild is None or guild.unavailable:
            raise LookupError(f"guild {guild_id} is not there now")
        try:
            return await self._listed_in_chunks(guild)
        except TimeoutError:
            # Discord answers such a request once in a while only.
            log.warning("members did not come in chunks, they are listed", guild=guild_id)
            return [member.id async for member in guild.fetch_members(limit=None)]

    async def _listed_in_chunks(self, guild: discord.Guild) -> Sequence[int]:
        nonce = uuid4().hex
        listing = self._listings[nonce] = Listing(asyncio.get_running_loop().create_future())
        try:
            await self._connection.chunker(guild.id, nonce=nonce)
            come = -1
            while not listing.complete.done():
                if come == len(listing.user_ids):
                    raise TimeoutError
                come = len(listing.user_ids)
                await asyncio.wait({listing.complete}, timeout=CHUNK_WITHIN_S)
        finally:
            del self._listings[nonce]
        return listing.user_ids

    def _hear_chunk(self, chunk: Any) -> None:
        """In the place of discord.py's own: that makes an object of every member, which takes a hundred times
        the memory of their ids, and waits for ever for a list whose end was lost.
        """
        listing = self._listings.get(chunk.get("nonce"))
        if listing is not None:
            listing.user_ids.extend(int(member["user"]["id"]) for member in chunk["members"])
            if chunk["chunk_index"] + 1 == chunk["chunk_count"] and not listing.complete.done():
                listing.complete.set_result(None)

    # Guilds

    async def on_ready(self) -> None:
        self._keeper.all_told([guild.id for guild in self.guilds])

    async def on_guild_available(self, guild: discord.Guild) -> None:
        self._keeper.guild_there(guild.id, guild.name)

    async def on_guild_join(self, guild: discord.Guild) -> None:
        log.info("the bot joined a guild", guild=guild.id)
        self._keeper.guild_there(guild.id, guild.name)

    async def on_guild_remove(self, guild: discord.Guild) -> None:
        log.info("the bot left a guild", guild=guild.id)
        self._keeper.guild_gone(guild.id)

    async def on_guild_unavailable(self, guild: discord.Guild) -> None:
        self._keeper.lost([guild.id])

    # Members

    async def on_member_join(self, member: discord.Member) -> None:
        self._keeper.joined(member.guild.id, member.id)

    async def on_raw_member_remove(self, payload: discord.RawMemberRemoveEvent) -> None:
        self._keeper.left(payload.guild_id, payload.user.id)

    # The connection

    async def on_shard_connect(self, shard_id: int) -> None:
        """A new session; its guilds follow, each with on_guild_available."""
        self.is_connected = True
        self._keeper.began_anew(self._guilds_of_shard(shard_id))

    async def on_shard_resumed(self, shard_id: int) -> None:
        self.is_connected = True
        log.info("connected to Discord again", shard=shard_id)
        self._keeper.resumed(self._guilds_of_shard(shard_id))

    async def on_shard_disconnect(self, shard_id: int) -> None:
        if self.is_connected:
            log.info("disconnected from Discord", shard=shard_id)
        self.is_connected = False
        self._keeper.lost(self._guilds_of_shard(shard_id))

    async def on_error(self, event_method: str, /, *_: Any, **__: Any) -> None:
        log.error("an event was not handled", event_name=event_method, exc_info=sys.exc_info())

    def _guilds_of_shard(self, shard_id: int) -> Iterable[int]:
        count = self.shard_count or 1
        return [guild for guild in self._keeper.guilds if (guild >> 22) % count == shard_id]
