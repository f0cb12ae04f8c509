"""Nodes as their owners see them, and configs on their way in.

* ``GET /api/nodes?limit=&cursor=`` → ``NodePage``; ``GET /api/nodes/{id}`` → ``NodeView``.
* ``POST /api/nodes/claim`` ``ClaimNode`` → ``NodeView``.
* ``PATCH /api/nodes/{id}`` ``ChangeNode`` → ``NodeView``.
* ``PUT /api/nodes/{id}/access`` ``SetAccess`` → ``NodeView``.
* ``DELETE /api/nodes/{id}`` revokes it, for good → 204.
* ``PUT /api/configs``, any JSON value of up to 512 KiB → ``StoredConfig``.
"""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

import msgspec

AccessType = Literal["public", "user", "discord"]
NodeState = Literal["online", "offline", "paused", "revoked"]


class Access(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True, order=True):
    """Whose jobs a node runs besides its owner's: everybody's, those of a user (whose id is ``target_id``),
    or those of the members of a Discord server (its id).
    """

    access_type: AccessType
    target_id: Annotated[str, msgspec.Meta(max_length=100)] = ""


class NodeView(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """``backlog`` is how many chunks it holds now. ``max_parallel`` is the owner's limit; null for none."""

    id: UUID
    name: str
    state: NodeState
    platform: str
    version: str
    engines: list[str]
    max_parallel: int | None
    paused: bool
    access: list[Access]
    backlog: int
    public_key: str
    created_at: datetime
    claimed_at: datetime | None
    last_seen_at: datetime | None


class NodePage(msgspec.Struct, rename="camel", frozen=True):
    nodes: list[NodeView]
    next: str | None


class ClaimNode(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    """The code that the node was given when it registered, and that it shows to whoever runs it."""

    claim_code: Annotated[str, msgspec.Meta(min_length=1, max_length=40)]
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=100)] | None = None


class ChangeNode(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What is left out stays. ``max_parallel`` null takes the limit away."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=100)] | msgspec.UnsetType = msgspec.UNSET
    max_parallel: Annotated[int, msgspec.Meta(ge=1, le=1024)] | msgspec.UnsetType | None = msgspec.UNSET
    paused: bool | msgspec.UnsetType = msgspec.UNSET


class SetAccess(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    """All of it: an empty list is the owner alone."""

    access: Annotated[list[Access], msgspec.Meta(max_length=100)]


class StoredConfig(msgspec.Struct, frozen=True):
    """``hash`` is the SHA-256 of the config as ``msgspec.json.encode(config, order="sorted")`` writes it."""

    hash: str
    size: int
