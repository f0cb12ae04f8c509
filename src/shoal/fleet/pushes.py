"""What nodes are told without having asked: each of them its own, and only those concerned.

A push is a hint. One that is lost costs time: the node's next heartbeat shows that it does not hold what
it is supposed to hold.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec
import structlog

from shoal.beacon.model import DisconnectCode
from shoal.beacon.ports import Beacon
from shoal.fleet.facts import NodeFacts
from shoal.fleet.model import Assignment
from shoal.runtime.clock import Clock
from shoal.runtime.errors import Unavailable
from shoal.wire.fleet import ChunkAssigned, ChunksDropped, HeldChunk, NodePush, Ping

log = structlog.get_logger(__name__)


class Pushes:
    def __init__(self, beacon: Beacon, clock: Clock) -> None:
        self._beacon = beacon
        self._clock = clock

    async def assigned(self, assignments: Iterable[Assignment]) -> None:
        await self._send([(one.node, _assigned(held(one))) for one in assignments])

    async def told(self, node: str, chunks: Iterable[HeldChunk]) -> None:
        await self._send([(node, _assigned(one)) for one in chunks])

    async def dropped(self, lost: Iterable[tuple[str, str]]) -> None:
        """``lost`` are nodes and what each of them need not compute any more."""
        of_node: dict[str, list[str]] = defaultdict(list)
        for node, chunk in lost:
            of_node[node].append(chunk)
        await self._send([(node, ChunksDropped(chunk_ids=ids)) for node, ids in of_node.items()])

    async def configured(self, node: NodeFacts) -> None:
        """What its owner set; with the ping it says at once how much it would hold now."""
        await self._send([(node.id, node.configured)])
        await self.ping([node.id])

    async def ping(self, nodes: Sequence[str]) -> None:
        now = int(self._clock.now().timestamp() * 1000)
        await self._send([(node, Ping(timestamp=now)) for node in nodes])

    async def cut(self, node: str) -> None:
        """It was revoked. Where the beacon cannot be reached, the node is refused with its next call."""
        try:
            await self._beacon.disconnect(node, DisconnectCode.AUTHENTICATION_FAILED, "revoked")
        except Unavailable as error:
            log.warning("a revoked node was not cut", node=node, error=error.message)

    async def _send(self, messages: Sequence[tuple[str, NodePush]]) -> None:
        if messages:
            await self._beacon.publish_many(
                [(f"nodes:{node}", msgspec.to_builtins(message)) for node, message in messages]
            )


def held(one: Assignment) -> HeldChunk:
    return HeldChunk(
        id=one.id,
        job_id=one.job,
        engine=one.engine,
        config_hash=one.config_hash,
        seed=one.seed,
        seed_offset=one.seed_offset,
        iterations=one.iterations,
    )


def _assigned(one: HeldChunk) -> ChunkAssigned:
    return ChunkAssigned(**{name: getattr(one, name) for name in one.__struct_fields__})
