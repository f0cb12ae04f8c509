"""How the bot answers: embeds in the place of "is thinking", and errors that say what to do."""

from uuid import uuid4

import discord
import structlog
from discord import app_commands

from shoal.discord import embeds
from shoal.discord.client import GuildClient
from shoal.runtime.errors import ShoalError

log = structlog.get_logger(__name__)

Asking = discord.Interaction[GuildClient]


class Message:
    """``Shown``: the answer to a command."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    async def edit(self, embed: embeds.Embed) -> bool:
        try:
            await show(self._asking, embed)
        except discord.DiscordServerError:
            return True
        except discord.HTTPException as gone:  # deleted, or its time is over
            log.debug("a message cannot be edited any more", error=str(gone))
            return False
        return True


async def think(asking: Asking, *, is_private: bool = False) -> None:
    """Discord gives a bot three seconds to say something, and then fifteen minutes to say what."""
    await asking.response.defer(thinking=True, ephemeral=is_private)


async def show(asking: Asking, embed: embeds.Embed) -> None:
    await asking.edit_original_response(embed=discord.Embed.from_dict(embed))


async def say(asking: Asking, embed: embeds.Embed, *, is_private: bool = False) -> None:
    """Without thinking."""
    await asking.response.send_message(embed=discord.Embed.from_dict(embed), ephemeral=is_private)


async def explain(asking: Asking, error: app_commands.AppCommandError) -> None:
    """Ours say what to do; of anything else the user gets a number that is in the log."""
    cause = error.original if isinstance(error, app_commands.CommandInvokeError) else error
    if isinstance(cause, discord.NotFound):
        log.warning("an answer came too late", error=str(cause))
        return
    try:
        if asking.response.is_done():
            await show(asking, explanation(asking, cause))
        else:
            await say(asking, explanation(asking, cause), is_private=True)
    except discord.HTTPException as away:
        log.warning("an answer was not taken", error=str(away))


def explanation(asking: Asking, cause: Exception) -> embeds.Embed:
    if isinstance(cause, ShoalError):
        return embeds.error_embed(cause.message, cause.hint)
    if isinstance(cause, app_commands.NoPrivateMessage):
        return embeds.error_embed("This is about a server.", "Use it in a channel of one.")
    if isinstance(cause, (app_commands.CommandNotFound, app_commands.CommandSignatureMismatch)):
        return embeds.error_embed("This command has changed.", "Reload Discord, or try again in a while.")
    number = uuid4().hex[:8]
    name = asking.command.name if asking.command else "?"
    log.error("a command failed", command=name, number=number, exc_info=cause)
    return embeds.error_embed(
        "Something went wrong here.", f"Whoever runs this Shoal finds more in its log at `{number}`."
    )
