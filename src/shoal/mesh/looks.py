"""What the coordinator shows of itself: left in the brain, so that every sentinel can tell it."""

import msgspec
import numpy as np
from redis.asyncio import Redis

from shoal.mesh.coordinator import Coordinator
from shoal.mesh.distribution import Distribution
from shoal.mesh.model import Server
from shoal.mesh.service import LOOK
from shoal.wire.mesh import MeshView, ServerView

LASTS_S = 15
"""What is shown is gone by itself when nobody shows anything: it is a look, not the world."""
STRETCHES = 60
MOST_SERVERS = 500


def look_at(coordinator: Coordinator, *, address: str) -> MeshView:
    active = coordinator.active
    servers = sorted(coordinator.servers.values(), key=lambda one: one.address)[:MOST_SERVERS]
    if active is None:
        return MeshView(coordinator=address, servers=[_server(one, None) for one in servers])
    return MeshView(
        coordinator=address,
        job_id=active.push.job_id,
        data_set=active.push.data_set.name,
        shards=len(active.push.data_set.shards),
        complete=active.progress().complete,
        from_origin=active.from_origin,
        from_peers=active.from_peers,
        servers=[_server(one, active) for one in servers],
    )


async def show(client: Redis, view: MeshView) -> None:
    await client.set(LOOK, msgspec.json.encode(view), ex=LASTS_S)


def _server(server: Server, active: Distribution | None) -> ServerView:
    owned = None if active is None or not active.knows(server.id) else active.owned_of(server.id)
    transfer = next(iter(server.transfers.values()), None)
    return ServerView(
        id=server.id,
        address=server.address,
        labels=list(server.labels),
        in_goal=active is not None and server.id in active.goal,
        owned=0 if owned is None else int(np.count_nonzero(owned)),
        heat=[] if owned is None else heat_of(owned),
        receives=None if transfer is None else transfer.shard,
        source=None if transfer is None else transfer.source_address or "origin",
    )


def heat_of(owned: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> list[int]:
    """Percent there, of each of at most sixty stretches."""
    parts = np.array_split(owned, min(STRETCHES, len(owned)))
    return [round(100 * float(part.mean())) for part in parts]
