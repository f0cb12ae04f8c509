"""The nouns of the coordinator. Moments are those of a monotonic clock, in seconds."""

import asyncio
from dataclasses import dataclass, field
from typing import Literal

from shoal.wire.data_sets import DataSet

OutcomeName = Literal["SUCCEEDED", "UNREACHABLE", "STALLED", "CORRUPT", "REFUSED", "NO_ROOM", "ABANDONED"]


@dataclass(frozen=True, slots=True)
class Push:
    """One data set for all servers, or for those with one of the labels or ids in ``to``."""

    job_id: str
    data_set_id: str
    data_set: DataSet
    body: bytes
    to: tuple[str, ...] = ()
    deadline_s: float = 0
    """After so long it is over, whoever still lacks something; 0 is never."""


@dataclass(frozen=True, slots=True)
class Status:
    """What a server says of itself when it asks for work."""

    server_id: str
    address: str
    job_id: str = ""
    owned: bytes = b""
    epoch: int = 0
    labels: tuple[str, ...] = ()
    running: tuple[str, ...] = ()
    is_ours: bool = True
    """Whether it is an agent of this project, and not a simple client that knows the first fields alone."""


@dataclass(frozen=True, slots=True)
class Work:
    """The answer to a poll: a transfer, or only the job to look at."""

    push: Push
    transfer: "Transfer | None" = None


@dataclass(slots=True)
class Transfer:
    id: str
    server_id: str
    shard: int
    source_id: str
    """Empty: the origin."""
    source_address: str
    attempt: int
    began: float
    renewed: float
    lease_s: float
    bytes: int = 0


@dataclass(slots=True)
class Server:
    id: str
    address: str
    heard: float
    is_ours: bool = True
    epoch: int = 0
    labels: tuple[str, ...] = ()
    poll: "asyncio.Future[Work] | None" = None
    asked: float = 0.0
    transfers: dict[str, Transfer] = field(default_factory=dict)
    accusers: set[str] = field(default_factory=set)
    """Who said that wrong bytes came from it."""
    accused: set[str] = field(default_factory=set)
    """Of whom it said so."""
    full_until: float = 0.0
    """It has no room: not asked to take anything until then."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the active push is."""

    servers: int
    complete: int
    copies: int
    wanted: int

    @property
    def share(self) -> float:
        return self.copies / self.wanted if self.wanted else 0.0


@dataclass(frozen=True, slots=True)
class Ended:
    """A push that is over. ``missing`` are servers of its goal that lived and were not complete."""

    job_id: str
    complete: tuple[str, ...]
    missing: tuple[str, ...]
    from_origin: int
    from_peers: int
    bytes_from_origin: int
    bytes_from_peers: int
    seconds: float
