"""The bot, in the one sentinel that holds its lease.

It connects, keeps rolls and filters, answers commands, and lets grants follow. Whatever Discord does, the
process goes on: a connection that ends for good is begun anew after a pause, and says in the log what to do.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress

import aiohttp
import discord
import structlog
from redis.exceptions import RedisError

from shoal.brain.leases import Lease
from shoal.discord.client import GuildClient
from shoal.discord.connection import find_gateway, point_at
from shoal.discord.grant_follower import GrantFollower
from shoal.discord.keeper import Keeper
from shoal.discord.watching import Watching
from shoal.runtime.lifecycle import Part

log = structlog.get_logger(__name__)

HOLD_EVERY_S = 3.0
LEASE_S = 12.0
FIRST_PAUSE_S = 2.0
LONGEST_PAUSE_S = 300.0
NO_INTENT = "Switch on the 'Server Members Intent' in the developer portal, under Bot."
NO_TOKEN = "Copy the token anew from the developer portal into SHOAL_DISCORD_TOKEN."  # noqa: S105
ENDINGS = (OSError, aiohttp.ClientError, discord.DiscordException, TimeoutError)


class Bot(Part):
    name = "discord bot"

    def __init__(
        self,
        *,
        token: str,
        api_url: str,
        lease: Lease,
        keeper: Keeper,
        follower: GrantFollower,
        watching: Watching,
        add_commands: Callable[[GuildClient], None],
    ) -> None:
        self._token = token
        self._api_url = api_url
        self._lease = lease
        self._keeper = keeper
        self._follower = follower
        self._watching = watching
        self._add_commands = add_commands
        self._client: GuildClient | None = None
        self._stopping = asyncio.Event()
        self.is_here = False
        """Whether this process runs the bot, connected or not."""

    @property
    def is_connected(self) -> bool:
        return self._client is not None and self._client.is_connected

    async def run(self) -> None:
        while not self._stopping.is_set():
            if await self._holds():
                await self._be_the_bot()
            await self._pause(HOLD_EVERY_S)
        with suppress(RedisError):
            await self._lease.release()

    async def stop(self) -> None:
        self._stopping.set()

    async def members_of(self, guild_id: int) -> Sequence[int]:
        """``MemberSource``, whichever client is there now."""
        if self._client is None:
            raise LookupError("not connected")
        return await self._client.members_of(guild_id)

    async def _holds(self) -> bool:
        with suppress(RedisError):
            await self._lease.hold()
        return self._lease.epoch is not None

    async def _be_the_bot(self) -> None:
        log.info("the bot is here")
        self.is_here = True
        works = [
            asyncio.create_task(work, name=f"discord {name}")
            for name, work in (
                ("connection", self._stay_connected()),
                ("keeper", self._keeper.run(self)),
                ("grants", self._follower.run()),
            )
        ]
        try:
            while not self._stopping.is_set() and await self._holds():
                ended, _ = await asyncio.wait(works, timeout=HOLD_EVERY_S / 3)
                for work in ended:
                    work.result()  # none of them ends by itself: a defect takes the process down
        finally:
            for work in works:
                work.cancel()
            await asyncio.gather(*works, self._watching.stop(), return_exceptions=True)
            self.is_here = False
            self._keeper.resign()
            log.info("the bot is not here any more")

    async def _stay_connected(self) -> None:
        pause_s = FIRST_PAUSE_S
        while True:
            client = GuildClient(self._keeper)
            self._add_commands(client)
            loop = asyncio.get_running_loop()
            began = loop.time()
            try:
                await self._connect(client)
            except discord.LoginFailure:
                log.error("Discord does not know the token of the bot", hint=NO_TOKEN)  # noqa: TRY400
            except discord.PrivilegedIntentsRequired:
                log.error("the bot may not see the members of servers", hint=NO_INTENT)  # noqa: TRY400
            except ENDINGS as error:
                log.warning("the bot is not connected", error=str(error) or repr(error))
            finally:
                self._client = None
                await client.close()
            self._keeper.lost(self._keeper.guilds)
            pause_s = FIRST_PAUSE_S if loop.time() - began > LONGEST_PAUSE_S else pause_s
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, LONGEST_PAUSE_S)

    async def _connect(self, client: GuildClient) -> None:
        point_at(self._api_url)
        await client.login(self._token)
        await find_gateway(client, self._api_url)
        await client.tree.sync()
        self._client = client
        await client.connect()

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
