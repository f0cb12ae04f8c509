"""Where discord.py finds Discord, and what a client of ours hears of it.

discord.py keeps the address of the API and that of the gateway in two class attributes. They are set in one
place, here, before a client logs in: from the setting ``discord_api_url``, and from what that API says.
"""

import discord
import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route

# It would say at each start that voice cannot be used.
discord.VoiceClient.warn_nacl = False
discord.VoiceClient.warn_dave = False


def intents() -> discord.Intents:
    """The guilds and their members; no messages, no presences."""
    wanted = discord.Intents.none()
    wanted.guilds = True
    wanted.members = True
    return wanted


def point_at(api_url: str) -> None:
    """For all clients of this process. Empty leaves Discord's own."""
    if api_url:
        Route.BASE = api_url.rstrip("/")


async def find_gateway(client: discord.Client, api_url: str) -> None:
    """For when a session has ended for good: discord.py then goes to the gateway it knows by heart."""
    if api_url:
        _, url, _ = await client.http.get_bot_gateway()
        DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(url)
