"""A node says that it is alive, what it holds and how fast it is; it hears what it lost and what is next."""

from collections.abc import Sequence
from typing import Literal
from uuid import UUID

import msgspec
import structlog

from shoal.fleet import rules
from shoal.fleet.brain import MOST_PER_CALL, FleetBrain
from shoal.fleet.directory import NodeDirectory
from shoal.fleet.facts import NodeFacts
from shoal.fleet.model import Assignment, Pulse
from shoal.fleet.pushes import held
from shoal.fleet.store import sql
from shoal.ledger.pool import Ledger
from shoal.runtime.batches import Batches
from shoal.wire.fleet import Heartbeat, HeartbeatReply

log = structlog.get_logger(__name__)

NODES_PER_CALL = 32

Refusal = Literal["REVOKED", "UNKNOWN"]


class Heartbeats:
    def __init__(
        self, ledger: Ledger, brain: FleetBrain, directory: NodeDirectory, *, stall_s: float
    ) -> None:
        self._ledger = ledger
        self._brain = brain
        self._directory = directory
        self._stall_ms = round(stall_s * 1000)
        self._arrivals: Batches[str, list[Assignment]] = Batches(self._fill, limit=NODES_PER_CALL)

    async def heartbeat(self, node_id: str, said: Heartbeat) -> HeartbeatReply | Refusal:
        node = await self._directory.facts(node_id)
        if node is None:
            return "UNKNOWN"
        if node.is_revoked:
            return "REVOKED"
        described = await self._describe(node, said)
        parallel = node.parallel(said.max_parallel)
        depth = rules.depth_of(parallel, said.chunk_s) if parallel else 0
        pulse = await self._pulse(node_id, depth, said)
        is_new = pulse is None
        lost: tuple[str, ...] = ()
        if is_new or described is not node:
            rights = msgspec.structs.replace(described.rights, depth=max(depth, 1))
            admitted = await self._brain.admit_node(rights)
            if isinstance(admitted, str):
                return "REVOKED"
            lost = tuple(admitted[1])
            if is_new:
                await self._tell_that_it_joined(node_id)
            pulse = await self._pulse(node_id, depth, said)
        if pulse is None:  # revoked in between
            return "REVOKED"
        given = await self._arrivals.submit(node_id) if pulse.backlog < depth else []
        backlog, digest = pulse.backlog, pulse.digest
        if given:
            now_held = [one.id for one in await self._brain.held_chunks(node_id)]
            backlog, digest = len(now_held), rules.digest(now_held)
        return HeartbeatReply(
            epoch=pulse.epoch,
            backlog=backlog,
            digest=digest,
            lost=sorted({*lost, *pulse.lost}),
            chunks=[held(one) for one in given],
            config=described.configured,
        )

    async def _fill(self, nodes: Sequence[str]) -> list[list[Assignment]]:
        """What each of them has room for; all who arrive at once share a call."""
        given: dict[str, list[Assignment]] = {node: [] for node in nodes}
        for one in await self._brain.assign_chunk(sorted(given), most=MOST_PER_CALL):
            given[one.node].append(one)
        return [given[node] for node in nodes]

    async def _tell_that_it_joined(self, node_id: str) -> None:
        async with self._ledger.connection() as connection:
            await sql.tell_node_events.run(connection, node_ids=[UUID(node_id)], type="node.joined")

    async def _pulse(self, node_id: str, depth: int, said: Heartbeat) -> Pulse | None:
        # What has not begun waits for what moves, and does not stand still itself.
        begun = {chunk: share for chunk, share in said.chunks.items() if share > 0}
        return await self._brain.heartbeat(node_id, depth=depth, progress=begun, stall_ms=self._stall_ms)

    async def _describe(self, node: NodeFacts, said: Heartbeat) -> NodeFacts:
        """What the node says of itself goes into the ledger when it has changed."""
        engines = tuple(sorted(set(said.engines)))
        platform, version = said.platform or node.platform, said.version or node.version
        if (engines, platform, version) == (node.engines, node.platform, node.version):
            return node
        async with self._ledger.connection() as connection:
            await sql.describe_node.run(
                connection, node_id=UUID(node.id), platform=platform, version=version, engines=list(engines)
            )
        return msgspec.structs.replace(node, engines=engines, platform=platform, version=version)
