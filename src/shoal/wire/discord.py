"""Discord accounts on the wire."""

from datetime import datetime

import msgspec


class DiscordLink(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """``GET /api/discord/link``. The id is text: it has more digits than JavaScript's numbers."""

    discord_id: str
    discord_name: str
    linked_at: datetime


class DiscordLinkCode(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """``POST /api/discord/link``. The account that gives the code to the bot with ``/link`` is yours."""

    code: str
    expires_at: datetime
