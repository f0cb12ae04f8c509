"""What there is at Discord: the guilds with their members, and what the application is allowed."""

from dataclasses import dataclass, field

from .payloads import BOT, Json, guild

MEMBERS_INTENT = 1 << 1
PRESENCES_INTENT = 1 << 8
MESSAGE_CONTENT_INTENT = 1 << 15
MEMBERS_FLAG = 1 << 14
CHUNK = 1000


@dataclass
class Guild:
    id: int
    name: str
    members: dict[int, None] = field(default_factory=dict)  # in the order in which they came

    @property
    def created(self) -> Json:
        shown = [BOT] if len(self.members) > 250 else list(self.members)
        return guild(self.id, self.name, next(iter(self.members)), shown, len(self.members))


@dataclass
class World:
    token: str
    guilds: dict[int, Guild] = field(default_factory=dict)
    commands: dict[str, Json] = field(default_factory=dict)
    allowed_intents: int = MEMBERS_INTENT
    """Of the privileged ones, those that are switched on in the developer portal."""

    @property
    def flags(self) -> int:
        return MEMBERS_FLAG if self.allowed_intents & MEMBERS_INTENT else 0
