"""The planner on a clock of its own: how long a swarm takes, and how far that is from the bound.

Every server has a link of one shard per unit in each direction. A transfer from the origin takes longer
when the origin is slower. Nothing else costs time, and nobody passes on what has not arrived whole.
"""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from shoal.mesh.bounds import slow_origin_bound, unit_bound
from shoal.mesh.planner import plan
from shoal.mesh.swarm import ORIGIN, Limits, Swarm, Transfers


@dataclass(frozen=True, kw_only=True)
class World:
    servers: int
    shards: int
    origin_rate: float = 1.0
    """Shards per unit that one slot of the origin sends; a server's link does one."""
    origin_slots: int = 1
    churn: float = 0.0
    """The chance of a server to go in a unit; another, empty one comes in its place. It is over when the time
    of the bound is over: with servers that come for ever, there is no end."""
    seed: int = 0

    @property
    def origin_transfer(self) -> float:
        return 1 / self.origin_rate

    @property
    def bound(self) -> float:
        if self.origin_rate == 1 and self.origin_slots == 1:
            return unit_bound(self.servers, self.shards)
        return slow_origin_bound(
            self.servers, self.shards, transfer=self.origin_transfer, slots=self.origin_slots
        )


@dataclass
class Outcome:
    """``progress`` is the share of copies that are there, by time."""

    world: World
    makespan: float = 0.0
    from_origin: int = 0
    from_peers: int = 0
    left: int = 0
    decisions: int = 0
    progress: list[tuple[float, float]] = field(default_factory=list)

    @property
    def over_bound(self) -> float:
        return self.makespan / self.world.bound


def simulate(world: World) -> Outcome:
    """Run until every server has every shard."""
    run = _Run(world)
    for _ in run.steps():
        pass
    return run.outcome


class _Run:
    def __init__(self, world: World) -> None:
        self.outcome = Outcome(world)
        self._world = world
        self._dice = np.random.default_rng(world.seed)
        self._swarm = Swarm(
            world.shards, limits=Limits(origin=world.origin_slots), capacity=max(world.servers, 8)
        )
        for _ in range(world.servers):
            self._swarm.join()
        self._due: list[tuple[float, int, Transfers]] = []
        self._now = 0.0
        self._number = 0

    def steps(self) -> Iterator[float]:
        """From one moment at which something ends to the next."""
        wanted = self._world.servers * self._world.shards
        while True:
            self._begin()
            if not self._due:
                break
            before = self._now
            self._end()
            if self._world.churn and self._now < self._world.bound:
                self._lose(self._now - before)
            there = int(self._swarm.owned.sum())
            self.outcome.progress.append((self._now, there / wanted))
            yield self._now
        self.outcome.makespan = self._now

    def _begin(self) -> None:
        waiting = np.flatnonzero(self._swarm.downloads > 0)
        waiting = self._dice.permutation(waiting[self._swarm.owned[waiting] < self._swarm.shards])
        begun = plan(self._swarm, waiting, dice=self._dice)
        self._swarm.begin(begun)
        self.outcome.decisions += 1
        origin = begun.sources == ORIGIN
        for part, lasts in ((begun[~origin], 1.0), (begun[origin], self._world.origin_transfer)):
            if len(part):
                self._number += 1
                heapq.heappush(self._due, (round(self._now + lasts, 9), self._number, part))

    def _end(self) -> None:
        """Everything that ends at the next moment at which something does."""
        self._now = self._due[0][0]
        while self._due and self._due[0][0] == self._now:
            _, _, ended = heapq.heappop(self._due)
            self._swarm.finish(ended)
            origin = int(np.count_nonzero(ended.sources == ORIGIN))
            self.outcome.from_origin += origin
            self.outcome.from_peers += len(ended) - origin

    def _lose(self, units: float) -> None:
        """Some servers go, with all they have and all they do, and as many come."""
        there = self._swarm.servers
        gone = there[self._dice.random(len(there)) < 1 - (1 - self._world.churn) ** units]
        if not len(gone):
            return
        kept: list[tuple[float, int, Transfers]] = []
        for moment, number, running in self._due:
            cut = np.isin(running.servers, gone) | np.isin(running.sources, gone)
            self._swarm.give_up(running[cut])
            kept.append((moment, number, running[~cut]))
        self._due = [one for one in kept if len(one[2])]
        heapq.heapify(self._due)
        for server in gone.tolist():
            self._swarm.leave(server)
        for _ in gone:
            self._swarm.join()
        self.outcome.left += len(gone)
