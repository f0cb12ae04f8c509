"""What ``shoal doctor`` finds at Discord: who the bot is, and whether it may see members."""

import discord

from shoal.discord.connection import intents, point_at
from shoal.discord.member_check import AWAY, token_refused
from shoal.runtime.errors import Invalid, Unavailable


async def examine_bot(token: str, api_url: str) -> str:
    point_at(api_url)
    client = discord.Client(intents=intents(), max_messages=None)
    try:
        await client.login(token)
        about = await client.application_info()
    except discord.LoginFailure as error:
        raise token_refused() from error
    except AWAY as error:
        raise Unavailable(
            "discord_unreachable",
            f"Discord does not answer: {str(error) or type(error).__name__}.",
            hint="Everything but the bot works without it. Check the network, and SHOAL_DISCORD_API_URL.",
        ) from error
    finally:
        await client.close()
    if not (about.flags.gateway_guild_members or about.flags.gateway_guild_members_limited):
        raise Invalid(
            "discord_intent_missing",
            f"The bot {about.name} may not see the members of servers.",
            hint="Switch on the 'Server Members Intent' in the developer portal, under Bot.",
        )
    return f"the bot {about.name}, which may see the members of servers"
