"""What the API says of the mesh: data sets, pushes, and who has what."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

import msgspec

MOST_TARGETS = 1000

Target = Annotated[str, msgspec.Meta(min_length=1, max_length=255)]


class DataSetView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    id: str
    name: str
    size_bytes: int
    shards: int
    files: int
    published_at: datetime


class DataSets(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    data_sets: list[DataSetView]


class PushDataSet(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``to`` names labels or ids of servers; empty is all of them."""

    data_set: Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
    to: Annotated[list[Target], msgspec.Meta(max_length=MOST_TARGETS)] = []
    deadline_s: Annotated[float, msgspec.Meta(gt=0, le=30 * 24 * 3600)] | None = None
    user_id: UUID | None = None


class Pushed(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    job_id: UUID
    data_set_id: str


class PushInput(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The input of a task whose executor is the mesh."""

    data_set_id: str
    to: list[str] = []
    deadline_s: float | None = None


class ServerView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """``heat`` says of stretches of the shards, in their order, how many percent of each are there."""

    id: str
    address: str
    labels: list[str]
    in_goal: bool
    owned: int
    heat: list[int]
    receives: int | None
    source: str | None


class MeshView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Nothing of a push when there is none; no servers when no coordinator is running."""

    coordinator: str | None
    job_id: str | None = None
    data_set: str | None = None
    shards: int = 0
    complete: int = 0
    from_origin: int = 0
    from_peers: int = 0
    servers: list[ServerView] = []
