"""Whether there is a bot, and where it finds Discord."""

from typing import Annotated

import msgspec

from shoal.runtime.settings import SECRET


class DiscordSettings(msgspec.Struct, frozen=True, kw_only=True):
    discord_token: Annotated[
        str,
        msgspec.Meta(
            description="The token of a Discord bot. Empty: no bot, and no permissions by Discord server.",
            extra=SECRET,
        ),
    ] = ""
    discord_api_url: Annotated[
        str,
        msgspec.Meta(
            description="Where Discord's API is when it is reached through a proxy for bots, as in "
            "http://proxy:8080/api/v10. The gateway is the one which that API names. Empty means Discord."
        ),
    ] = ""
    discord_collect_every_s: Annotated[
        float,
        msgspec.Meta(
            description="How often all members of each server are asked for anew, besides hearing who joins "
            "and leaves.",
            ge=60,
        ),
    ] = 21600.0
