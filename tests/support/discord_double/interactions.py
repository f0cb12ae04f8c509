"""Commands that people use: what the bot is asked, and the message it makes of it."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .payloads import APPLICATION, BOT, CHANNEL_OFFSET, Json, member, new_id, user

ANSWER_WITHIN_S = 3.0
EDIT_WITHIN_S = 15 * 60
EPHEMERAL = 64
MESSAGE, DEFERRED_MESSAGE, AUTOCOMPLETE = 4, 5, 8
SUBCOMMAND, STRING, INTEGER, BOOLEAN = 1, 3, 4, 5
KINDS: dict[int, type] = {STRING: str, INTEGER: int, BOOLEAN: bool}
NO_INTERACTION, ANSWERED_TWICE, NO_MESSAGE = 10062, 40060, 10008


@dataclass
class Asked:
    """One use of a command, and what came of it."""

    id: int
    token: str
    name: str
    at: float = field(default_factory=time.monotonic)
    answered_after_s: float | None = None
    kind: int | None = None
    flags: int = 0
    message: Json | None = None
    choices: list[Json] | None = None
    edits: list[float] = field(default_factory=list)
    followups: list[Json] = field(default_factory=list)
    _news: asyncio.Condition = field(default_factory=asyncio.Condition)

    @property
    def is_private(self) -> bool:
        """Whether only the one who asked sees the answer."""
        return bool(self.flags & EPHEMERAL)

    @property
    def embed(self) -> Json:
        assert self.message is not None, f"/{self.name} was not answered"
        (embed,) = self.message["embeds"]
        return dict(embed)

    @property
    def text(self) -> str:
        """Everything that can be read in the answer."""
        assert self.message is not None, f"/{self.name} was not answered"
        parts = [self.message.get("content") or ""]
        for embed in self.message.get("embeds", []):
            parts += [embed.get("title", ""), embed.get("description", "")]
            parts.append(embed.get("footer", {}).get("text", ""))
            for one in embed.get("fields", []):
                parts += [one["name"], one["value"]]
        return "\n".join(part for part in parts if part)

    async def until(self, wanted: Callable[["Asked"], bool], *, within_s: float = 10.0) -> "Asked":
        async with asyncio.timeout(within_s), self._news:
            await self._news.wait_for(lambda: wanted(self))
        return self

    async def changed(self) -> None:
        async with self._news:
            self._news.notify_all()


def command_payload(
    asked: Asked, definition: Json, options: list[Json], *, user_id: int, guild_id: int | None
) -> Json:
    """INTERACTION_CREATE, in a guild or in a private conversation with the bot."""
    payload: Json = {
        "id": str(asked.id),
        "application_id": str(APPLICATION),
        "type": 2,
        "token": asked.token,
        "version": 1,
        "locale": "en-US",
        "attachment_size_limit": 10485760,
        "entitlements": [],
        "authorizing_integration_owners": {"0": str(guild_id or 0)},
        "context": 0 if guild_id else 1,
        "app_permissions": "2147483647",
        "data": {"id": definition["id"], "name": definition["name"], "type": 1, "options": options},
    }
    if guild_id:
        payload |= {
            "guild_id": str(guild_id),
            "guild_locale": "en-US",
            "guild": {"id": str(guild_id), "locale": "en-US", "features": []},
            "channel_id": str(guild_id + CHANNEL_OFFSET),
            "channel": {"id": str(guild_id + CHANNEL_OFFSET), "type": 0, "name": "general"},
            "member": {**member(user_id), "permissions": "2147483647"},
        }
    else:
        channel = {"id": "77", "type": 1, "recipients": [user(user_id)], "last_message_id": None, "flags": 0}
        payload |= {"channel_id": "77", "channel": channel, "user": user(user_id)}
    return payload


def options_of(definition: Json, given: dict[str, Any]) -> list[Json]:
    """As Discord's own client would send them: it lets nobody leave out what is required."""
    known = {one["name"]: one for one in definition.get("options", [])}
    assert given.keys() <= known.keys(), f"/{definition['name']} has no option {given.keys() - known.keys()}"
    missing = {name for name, one in known.items() if one.get("required")} - given.keys()
    assert not missing, f"/{definition['name']} needs {missing}"
    for name, value in given.items():
        assert isinstance(value, KINDS[known[name]["type"]]), (name, value)
    return [{"name": name, "type": known[name]["type"], "value": value} for name, value in given.items()]


def message_of(asked: Asked, data: Json, *, edited: bool = False) -> Json:
    now = "2026-01-01T00:00:00.000000+00:00"
    known = asked.message or {"id": str(new_id())}
    return {
        "type": 20,
        "channel_id": "77",
        "author": user(BOT),
        "timestamp": now,
        "edited_timestamp": now if edited else None,
        "tts": False,
        "mention_everyone": False,
        "mentions": [],
        "mention_roles": [],
        "attachments": [],
        "pinned": False,
        "flags": asked.flags,
        "webhook_id": str(APPLICATION),
        "application_id": str(APPLICATION),
        "content": "",
        "embeds": [],
        "components": [],
        **known,
        **{name: value for name, value in data.items() if name in {"content", "embeds", "components"}},
    }


def problem_with_message(data: Json) -> str | None:
    """What Discord would not accept in it."""
    content, embeds = data.get("content") or "", data.get("embeds") or []
    if not content and not embeds:
        return "Cannot send an empty message"
    if len(content) > 2000 or len(embeds) > 10:
        return "Must be 2000 or fewer in length"
    total = 0
    for embed in embeds:
        fields = embed.get("fields", [])
        footer = embed.get("footer", {}).get("text", "")
        title, description = embed.get("title", ""), embed.get("description", "")
        if len(title) > 256 or len(description) > 4096 or len(footer) > 2048 or len(fields) > 25:
            return "embed too long"
        for one in fields:
            if not 1 <= len(one["name"]) <= 256 or not 1 <= len(one["value"]) <= 1024:
                return f"field {one['name']!r}"
        total += len(title) + len(description) + len(footer)
        total += sum(len(one["name"]) + len(one["value"]) for one in fields)
    return "Embed size exceeds maximum size of 6000" if total > 6000 else None
