"""What the fleet speaks of: plans, chunks, attempts, results, and what the brain answers."""

import re
from typing import Literal

import msgspec

from shoal.runtime.errors import Invalid

Audience = Literal["own", "shared", "public"]
Reducer = Literal["moments", "collect"]
Verdict = Literal["OK", "ALREADY_COMPLETED", "WRONG_NODE", "NOT_FOUND", "UNKNOWN_NODE", "INVALID"]

MOST_CHUNKS = 1_000_000_000
MOST_COLLECTED = 10_000
MOST_ITERATIONS = 2**53
"""Beyond, a Lua number is no longer exact."""

_WORD = re.compile(r"[A-Za-z0-9_.@+-]{1,200}")
"""What may stand in a key: no space, no bar and no colon, which separate words there."""


class Attempt(msgspec.Struct, frozen=True, order=True):
    """One handing out of one chunk; ``str`` of it is its id on the wire."""

    task: str
    index: int
    attempt: int

    def __str__(self) -> str:
        return f"{self.task}.{self.index}.{self.attempt}"

    @classmethod
    def parse(cls, wire: str) -> "Attempt | None":
        """None for what cannot be an id of ours."""
        found = re.fullmatch(r"([A-Za-z0-9-]{1,64})\.(0|[1-9]\d{0,9})\.([1-9]\d{0,5})", wire, re.ASCII)
        return cls(found[1], int(found[2]), int(found[3])) if found else None


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The facts of a fleet task. ``token`` is the claim under which it was opened, ``order`` its age."""

    task: str
    token: str
    job: str
    owner: str
    engine: str
    audience: Audience
    config_hash: str
    iterations: int
    size: int
    reducer: Reducer = "moments"
    order: int = 0
    most_failures: int = 20
    seed: int = 0
    sample: float = 0.0
    """The share of the chunks that need results of two owners' nodes, within ``tolerance`` of each other."""
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        words = (self.task, self.token, self.job, self.owner, self.engine, self.config_hash)
        if not all(_WORD.fullmatch(word) for word in words) or "." in self.task:
            raise ValueError("a word of the plan cannot stand in a key")
        if not 1 <= self.size <= self.iterations <= MOST_ITERATIONS:
            raise Invalid("invalid_plan", "A chunk has at least one iteration, and the task no fewer.")
        most = MOST_COLLECTED if self.reducer == "collect" else MOST_CHUNKS
        if self.total > most:
            raise Invalid(
                "too_many_chunks",
                f"{self.total} chunks are more than the {most} that a task may have.",
                hint="Make the chunks larger.",
            )

    @property
    def total(self) -> int:
        return -(-self.iterations // self.size)


class NodeRights(msgspec.Struct, frozen=True, kw_only=True):
    """What a node may do, as the ledger has it. ``limit`` is the most chunks it may hold."""

    node: str
    owner: str
    accepts: frozenset[str]
    engines: frozenset[str]
    limit: int
    depth: int
    paused: bool = False

    def __post_init__(self) -> None:
        words = (self.node, self.owner, *self.engines, *(grant.replace(":", "", 1) for grant in self.accepts))
        if not all(_WORD.fullmatch(word) for word in words):
            raise ValueError("a word of the node cannot stand in a key")

    @property
    def pools(self) -> list[str]:
        return sorted(f"{grant}|{engine}" for grant in self.accepts for engine in self.engines)


class Assignment(msgspec.Struct, frozen=True):
    """A chunk that a node now holds."""

    node: str
    id: str
    job: str
    iterations: int
    config_hash: str
    seed_offset: int
    engine: str
    seed: int = 0


class Moments(msgspec.Struct, frozen=True):
    """What ``moments`` keeps of any number of iterations; ``m2`` is the sum of squares around the mean."""

    count: int
    mean: float
    m2: float
    least: float
    most: float


class Completion(msgspec.Struct, frozen=True, kw_only=True):
    """A validated result: ``moments``, or where it lies. ``wanted`` further chunks are asked for."""

    node: str
    attempt: Attempt
    moments: Moments | None = None
    where: str = ""
    wanted: int = 1


class Completed(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a completion, the copies of the chunk that others may stop, and what is next."""

    verdict: Verdict
    completed: int
    total: int
    aggregate: bool
    freed: tuple[tuple[str, str], ...]
    next: tuple[Assignment, ...]


class Pulse(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a heartbeat: compare ``digest`` with ``rules.digest`` of what the node holds."""

    epoch: int
    backlog: int
    digest: str
    lost: tuple[str, ...]


class Full(msgspec.Struct, frozen=True):
    """A full plan whose aggregation is ours for a while."""

    token: str
    total: int
    moments: Moments


class Poisoned(msgspec.Struct, frozen=True):
    """A plan with a chunk that failed too often, and what was said about the last failure."""

    index: int
    reason: str
