"""The routes of the Discord room: linking an account."""

from litestar import Router, delete, get, post

from shoal.api.identity import Caller, users_only
from shoal.api.openapi import problems
from shoal.discord.links import Links
from shoal.runtime.errors import Unavailable
from shoal.wire.discord import DiscordLink, DiscordLinkCode


def discord_router(links: Links, *, has_bot: bool) -> Router:
    @get(
        "/link",
        summary="Read which Discord account is yours",
        guards=[users_only],
        responses=problems(401, 403, 404, 503),
    )
    async def read_discord_link(principal: Caller) -> DiscordLink:
        return await links.read(principal.claims)

    @post(
        "/link",
        summary="Get a code that links a Discord account with you",
        description="Give it to the bot with `/link`, from the account that is yours. It works once and for "
        "ten minutes, and takes the place of one you had. Show it to nobody.",
        guards=[users_only],
        responses=problems(401, 403, 503),
    )
    async def make_discord_link_code(principal: Caller) -> DiscordLinkCode:
        if not has_bot:
            raise Unavailable(
                "discord_not_configured",
                "This installation has no Discord bot.",
                hint="Set SHOAL_DISCORD_TOKEN on the sentinel.",
            )
        return await links.make_code(principal.id)

    @delete(
        "/link",
        status_code=204,
        summary="Take your Discord account off",
        description="What runs on nodes of servers you were in follows within seconds.",
        guards=[users_only],
        responses=problems(401, 403, 503),
    )
    async def remove_discord_link(principal: Caller) -> None:
        await links.remove(principal.id)

    return Router(
        "/api/discord",
        route_handlers=[read_discord_link, make_discord_link_code, remove_discord_link],
        tags=["Discord"],
    )
