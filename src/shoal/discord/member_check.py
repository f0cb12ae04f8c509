"""Asking Discord's API whether somebody is a member: what a sentinel without the bot does after a hit."""

import asyncio

import aiohttp
import discord
import structlog

from shoal.discord.connection import intents, point_at
from shoal.runtime.clock import Clock
from shoal.runtime.errors import Invalid
from shoal.runtime.lifecycle import Part

log = structlog.get_logger(__name__)

ANSWER_WITHIN_S = 3.0
REST_S = 5.0
"""After Discord did not answer it is left alone for so long."""
LOGIN_AGAIN_S = 15.0
UNKNOWN_MEMBER, UNKNOWN_GUILD, UNKNOWN_USER = 10007, 10004, 10013
AWAY = (OSError, aiohttp.ClientError, discord.HTTPException, TimeoutError)


class MemberCheck(Part):
    """``AskDiscord``. Logs in at the start, so that a token that is refused is found out then."""

    name = "discord api"

    def __init__(self, token: str, api_url: str, clock: Clock) -> None:
        self._token = token
        self._api_url = api_url
        self._clock = clock
        self._client: discord.Client | None = None
        self._rest_until = 0.0
        self._stopping = asyncio.Event()

    async def start(self) -> None:
        point_at(self._api_url)
        await self._login()

    async def run(self) -> None:
        while not self._stopping.is_set():
            if self._client is None:
                await self._login_late()
            try:
                async with asyncio.timeout(LOGIN_AGAIN_S):
                    await self._stopping.wait()
            except TimeoutError:
                continue

    async def stop(self) -> None:
        self._stopping.set()
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def is_member(self, guild_id: int, user_id: int) -> bool | None:
        if self._client is None or self._clock.monotonic() < self._rest_until:
            return None
        try:
            async with asyncio.timeout(ANSWER_WITHIN_S):
                await self._client.http.get_member(guild_id, user_id)
        except discord.NotFound as error:
            return False if error.code in {UNKNOWN_MEMBER, UNKNOWN_GUILD, UNKNOWN_USER} else None
        except discord.Forbidden:
            return False  # the bot may not look into this guild (any more)
        except AWAY as error:
            self._rest_until = self._clock.monotonic() + REST_S
            log.warning("Discord does not say who is a member", error=str(error) or repr(error))
            return None
        return True

    async def _login_late(self) -> None:
        """The process has begun without Discord, so it also goes on without."""
        try:
            await self._login()
        except Invalid as error:
            log.error("no login at Discord", error=str(error))  # noqa: TRY400 - it says what to do

    async def _login(self) -> None:
        client = discord.Client(intents=intents(), max_messages=None)
        try:
            await client.login(self._token)
        except discord.LoginFailure as error:
            await client.close()
            raise token_refused() from error
        except AWAY as error:
            await client.close()
            log.warning("Discord does not answer", error=str(error) or repr(error))
        else:
            self._client = client


def token_refused() -> Invalid:
    return Invalid(
        "discord_token_refused",
        "Discord does not know the token of the bot.",
        hint="Copy it anew from the developer portal (Bot, Reset Token) into SHOAL_DISCORD_TOKEN.",
    )
