"""What Discord says about users, guilds and the application."""

import itertools
import json
import time
from collections.abc import Iterable
from typing import Any

from aiohttp import web

EPOCH_MS = 1420070400000
APPLICATION = 1000000000000000001
BOT = 1000000000000000002
CHANNEL_OFFSET = 7

_counter = itertools.count(1)

Json = dict[str, Any]


def said(data: Any, *, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    """An answer of the API. Its content type names no charset, and discord.py counts on that."""
    told = {"Content-Type": "application/json", **(headers or {})}
    return web.Response(body=json.dumps(data).encode(), status=status, headers=told)


def new_id() -> int:
    """A snowflake of now."""
    return int(time.time() * 1000 - EPOCH_MS) << 22 | next(_counter) % 2**22


def user(user_id: int) -> Json:
    return {
        "id": str(user_id),
        "username": "shoal" if user_id == BOT else f"user-{user_id}",
        "discriminator": "0",
        "global_name": None if user_id == BOT else f"User {user_id}",
        "avatar": None,
        "bot": user_id == BOT,
        "public_flags": 0,
    }


def member(user_id: int) -> Json:
    return {
        "user": user(user_id),
        "nick": None,
        "avatar": None,
        "roles": [],
        "joined_at": "2026-01-01T00:00:00.000000+00:00",
        "deaf": False,
        "mute": False,
        "flags": 0,
        "pending": False,
    }


def application(flags: int) -> Json:
    return {
        "id": str(APPLICATION),
        "name": "Shoal",
        "description": "",
        "icon": None,
        "bot_public": True,
        "bot_require_code_grant": False,
        "owner": user(APPLICATION + 100),
        "verify_key": "0" * 64,
        "flags": flags,
        "team": None,
    }


def guild(guild_id: int, name: str, owner: int, members: Iterable[int], count: int) -> Json:
    """As GUILD_CREATE has it: of a large guild the members stay away."""
    everyone = {
        "id": str(guild_id),
        "name": "@everyone",
        "color": 0,
        "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None},
        "hoist": False,
        "position": 0,
        "permissions": "0",
        "managed": False,
        "mentionable": False,
        "flags": 0,
    }
    channel = {
        "id": str(guild_id + CHANNEL_OFFSET),
        "type": 0,
        "name": "general",
        "position": 0,
        "permission_overwrites": [],
        "nsfw": False,
        "parent_id": None,
        "topic": None,
        "last_message_id": None,
        "rate_limit_per_user": 0,
    }
    nothing: list[str] = [
        "emojis",
        "features",
        "stickers",
        "voice_states",
        "threads",
        "presences",
        "stage_instances",
        "guild_scheduled_events",
        "soundboard_sounds",
    ]
    return {
        "id": str(guild_id),
        "name": name,
        "icon": None,
        "splash": None,
        "discovery_splash": None,
        "banner": None,
        "description": None,
        "owner_id": str(owner),
        "afk_channel_id": None,
        "afk_timeout": 300,
        "verification_level": 1,
        "default_message_notifications": 1,
        "explicit_content_filter": 0,
        "mfa_level": 0,
        "application_id": None,
        "system_channel_id": None,
        "system_channel_flags": 0,
        "rules_channel_id": None,
        "public_updates_channel_id": None,
        "vanity_url_code": None,
        "premium_tier": 0,
        "premium_subscription_count": 0,
        "preferred_locale": "en-US",
        "nsfw_level": 0,
        "premium_progress_bar_enabled": False,
        "joined_at": "2026-01-01T00:00:00.000000+00:00",
        "large": count > 250,
        "unavailable": False,
        "member_count": count,
        "roles": [everyone],
        "channels": [channel],
        "members": [member(one) for one in members],
        **{name: [] for name in nothing},
    }
