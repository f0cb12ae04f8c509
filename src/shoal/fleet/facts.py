"""What the ledger says of nodes and of tasks of the fleet, and what follows for the brain. Pure."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import msgspec

from shoal.app.reducers import Bounds
from shoal.fleet import rules
from shoal.fleet.model import NodeRights, Plan, Reducer
from shoal.ledger.connection import Row
from shoal.runtime.errors import Invalid
from shoal.wire.fleet import NodeConfigured
from shoal.wire.fleet_tasks import FleetTask

NOBODY = "nobody"


class NodeFacts(msgspec.Struct, frozen=True, kw_only=True):
    """``access`` are the grants it accepts besides its owner's: ``public``, ``user:X``, ``discord:G``."""

    id: str
    owner: str | None
    name: str
    key_hash: str
    max_parallel: int | None
    paused: bool
    platform: str
    version: str
    engines: tuple[str, ...]
    is_revoked: bool
    access: tuple[str, ...]

    def parallel(self, reported: int) -> int:
        """How many chunks it may run at a time, when it would run so many by itself."""
        if self.paused or self.owner is None:
            return 0
        return reported if self.max_parallel is None else min(reported, self.max_parallel)

    @property
    def rights(self) -> NodeRights:
        """A node that nobody claimed accepts nothing."""
        limit = rules.limit_of(self.max_parallel or rules.MOST_PARALLEL)
        return NodeRights(
            node=self.id,
            owner=self.owner or NOBODY,
            accepts=frozenset() if self.owner is None else frozenset({f"owner:{self.owner}", *self.access}),
            engines=frozenset(self.engines),
            limit=limit,
            depth=1,
            paused=self.paused,
        )

    @property
    def configured(self) -> NodeConfigured:
        return NodeConfigured(
            user_id=self.owner, name=self.name, max_parallel=0 if self.paused else self.max_parallel
        )


class PlanFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a result is held against."""

    task: str
    token: str
    job: str
    owner: str
    iterations: int
    size: int
    reducer: Reducer
    bounds: Bounds
    age_s: float = 0.0
    """How long ago it was claimed, when this was read."""

    @property
    def total(self) -> int:
        return -(-self.iterations // self.size)

    def iterations_of(self, index: int) -> int:
        return min(self.size, self.iterations - index * self.size)

    @property
    def folder(self) -> str:
        """Where the results of its chunks lie, when they are collected."""
        return f"{self.owner}/{self.job}/chunks/{self.task}.{self.token[:8]}"


class FleetClaim(msgspec.Struct, frozen=True, kw_only=True):
    """A task that the fleet holds, and what it is to compute."""

    id: UUID
    token: UUID
    job: UUID
    owner: UUID
    order: int
    age_s: float
    needs: Mapping[str, Any]
    task: FleetTask

    @property
    def config(self) -> Any:
        """Unless it is given by its hash."""
        if self.task.config_from is None:
            return self.task.config
        return self.needs.get(self.task.config_from)

    def plan(self, config_hash: str) -> Plan:
        return Plan(
            task=str(self.id),
            token=self.token.hex,
            job=str(self.job),
            owner=str(self.owner),
            engine=self.task.engine,
            audience=self.task.audience,
            config_hash=config_hash,
            iterations=self.task.iterations,
            size=min(self.task.size, self.task.iterations),
            reducer=self.task.reducer,
            order=self.order,
            seed=self.task.seed,
            sample=self.task.replication,
            tolerance=self.task.tolerance,
        )

    @property
    def facts(self) -> PlanFacts:
        return PlanFacts(
            task=str(self.id),
            token=self.token.hex,
            job=str(self.job),
            owner=str(self.owner),
            iterations=self.task.iterations,
            size=min(self.task.size, self.task.iterations),
            reducer=self.task.reducer,
            bounds=Bounds(self.task.least, self.task.most),
            age_s=self.age_s,
        )


def read_claim(row: Row) -> FleetClaim:
    """A row of ``read_fleet_tasks``; ``invalid_fleet_task`` for what no plan can be made of."""
    try:
        task = msgspec.convert(row["input"], FleetTask)
    except msgspec.ValidationError as error:
        raise Invalid("invalid_fleet_task", f"The fleet cannot run this task: {error}.") from error
    if task.replication and task.audience == "own":
        raise Invalid(
            "invalid_fleet_task", "The fleet cannot run this task: one owner's nodes verify nothing."
        )
    return FleetClaim(
        id=row["id"],
        token=row["claim_token"],
        job=row["job_id"],
        owner=row["user_id"],
        order=row["order_key"],
        age_s=row["age_s"],
        needs=row["needs"] or {},
        task=task,
    )


def read_node(row: Row) -> NodeFacts:
    """A row of ``read_node_facts``."""
    return NodeFacts(
        id=str(row["id"]),
        owner=None if row["user_id"] is None else str(row["user_id"]),
        name=row["name"],
        key_hash=row["key_hash"],
        max_parallel=row["max_parallel"],
        paused=row["paused"],
        platform=row["platform"],
        version=row["version"],
        engines=tuple(row["engines"]),
        is_revoked=row["is_revoked"],
        access=tuple(row["access"]),
    )
