"""What the room needs from elsewhere; the role hands it in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

import msgspec

from shoal.wire.jobs import JobPage, JobView
from shoal.wire.status import Status


class NodeShown(msgspec.Struct, frozen=True, kw_only=True):
    """A node, as an embed shows it."""

    name: str
    owner: str
    is_online: bool
    is_paused: bool = False
    backlog: int = 0
    max_parallel: int | None = None
    last_seen_at: datetime | None = None


class FleetCounts(msgspec.Struct, frozen=True, kw_only=True):
    nodes: int = 0
    online: int = 0
    chunks_held: int = 0


class Grants(Protocol):
    """What follows from membership."""

    async def change_grants(self, owner: str, guilds: Sequence[str]) -> object:
        """The owner is in these guilds now: running jobs follow."""
        ...

    async def owners_with_plans(self) -> Sequence[str]: ...


class Nodes(Protocol):
    async def nodes_of(self, owner: str) -> Sequence[NodeShown]: ...

    async def nodes_accepting(self, guild: str) -> Sequence[NodeShown]: ...

    async def counts(self) -> FleetCounts: ...


class JobDesk(Protocol):
    async def list(
        self, claims: Mapping[str, object], *, status: str | None = None, page_size: int = 50
    ) -> JobPage: ...

    async def read(self, claims: Mapping[str, object], job_id: UUID) -> JobView: ...


class ReadStatus(Protocol):
    async def __call__(self) -> Status: ...


@dataclass(frozen=True)
class Neighbours:
    """What the bot shows and steers of other rooms."""

    jobs: JobDesk
    nodes: Nodes
    grants: Grants
    read_status: ReadStatus


class MemberSource(Protocol):
    """Discord, as the process with the bot hears it."""

    async def members_of(self, guild_id: int) -> Sequence[int]:
        """All members, listed now. Raises when they cannot be had."""
        ...


class AskDiscord(Protocol):
    """Discord's API, as every sentinel with a token reaches it."""

    async def is_member(self, guild_id: int, user_id: int) -> bool | None:
        """None when it does not say."""
        ...
