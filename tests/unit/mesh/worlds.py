"""Random swarms for the properties of the planner: any state, also those that no run would reach."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from shoal.mesh.swarm import ORIGIN, Limits, Numbers, Swarm, Transfers


@dataclass
class Scene:
    swarm: Swarm
    waiting: Numbers
    barred: set[tuple[int, int]]
    seed: int

    def dice(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)


@st.composite
def scenes(draw: st.DrawFn) -> Scene:
    shards = draw(st.integers(1, 12))
    servers = draw(st.integers(1, 24))
    limits = Limits(draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 3)))
    dice = np.random.default_rng(draw(st.integers(0, 2**32)))
    swarm = Swarm(shards, limits=limits, capacity=8)
    density = draw(st.sampled_from([0.0, 0.1, 0.5, 0.9]))
    for _ in range(servers):
        swarm.know(swarm.join(), dice.random(shards) < density, gives=dice.random() < 0.9)
    for _ in range(draw(st.integers(0, 20))):
        _begin_one(swarm, dice)
    waiting = dice.permutation(servers)[: draw(st.integers(0, servers))]
    pairs = draw(st.integers(0, 30))
    barred = {(int(dice.integers(servers)), int(dice.integers(servers))) for _ in range(pairs)}
    return Scene(swarm, waiting, barred, draw(st.integers(0, 1000)))


def _begin_one(swarm: Swarm, dice: np.random.Generator) -> None:
    """A transfer that runs already, if this one could have been begun."""
    server, source = (int(dice.integers(swarm.size)) for _ in range(2))
    shard = int(dice.integers(swarm.shards))
    if knows(swarm, server, shard) or swarm.downloads[server] < 1:
        return
    if has(swarm, source, shard) and swarm.uploads[source] > 0:
        swarm.begin(Transfers.of([(server, shard, source)]))
    elif swarm.copies[shard] == 0 and not swarm.from_origin[shard] and swarm.origin_slots > 0:
        swarm.begin(Transfers.of([(server, shard, ORIGIN)]))


def has(swarm: Swarm, server: int, shard: int) -> bool:
    return bool(swarm.has[shard, server >> 3] >> (server & 7) & 1)


def knows(swarm: Swarm, server: int, shard: int) -> bool:
    return bool(swarm.knows[shard, server >> 3] >> (server & 7) & 1)


def could_start(scene: Scene) -> list[tuple[int, int, int]]:
    """Everything that could start now, found the slow way."""
    swarm = scene.swarm
    found = []
    for server in scene.waiting.tolist():
        for shard in range(swarm.shards):
            if swarm.downloads[server] < 1 or knows(swarm, server, shard):
                continue
            found += [
                (server, shard, source)
                for source in range(swarm.size)
                if has(swarm, source, shard)
                and swarm.uploads[source] > 0
                and (server, source) not in scene.barred
            ]
            if swarm.copies[shard] == 0 and not swarm.from_origin[shard] and swarm.origin_slots > 0:
                found.append((server, shard, ORIGIN))
    return found
