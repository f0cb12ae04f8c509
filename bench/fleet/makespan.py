"""(d) How long a job takes, beside the shortest time in which these nodes could compute it.

The clock is simulated; every decision is production's: the real scripts on a real server, whose part
``clock`` is replaced by one that reads the simulated time, ``rules.depth_of`` for how much a node holds, and
the node's own ``smoothed`` for its speed. Modelled are the nodes themselves (a chunk takes size / speed,
messages take ``LATENCY_S``), the moments at which sentinels sweep and spread, and heartbeats.

Ideal: the work without any loss, on nodes that are never idle, those that die until they die.
"""

import heapq
import random
from dataclasses import dataclass, field
from itertools import count

from redis.asyncio import Redis

from shoal.brain.scripts import load_scripts
from shoal.fleet import rules
from shoal.fleet.brain import FleetBrain
from shoal.fleet.model import Assignment, Attempt, Completion, Moments, NodeRights
from shoal.node.rules import smoothed
from shoal.wire.fleet import HEARTBEAT_S

from .crowd import TASK, open_plan

CLOCK = """
local now_ms = tonumber(redis.call('GET', 'bench:clock'))
"""
LATENCY_S = 0.05
SWEEP_EVERY_S = 1.0
START_MS = 1_800_000_000_000
SIZE = 10


@dataclass
class Node:
    name: str
    speed: float
    """Chunks a second."""
    dies_at: float
    waiting: list[Attempt] = field(default_factory=list)
    running: Attempt | None = None
    began: float = 0.0
    chunk_s: float | None = None


@dataclass(frozen=True)
class Makespan:
    seconds: float
    ideal_s: float
    attempts: int

    @property
    def ratio(self) -> float:
        return self.seconds / self.ideal_s


class World:
    def __init__(self, client: Redis, nodes: list[Node]) -> None:
        self._client = client
        self._brain = FleetBrain(client, scripts=load_scripts("shoal.fleet", instead={"clock": CLOCK}))
        self._nodes = {node.name: node for node in nodes}
        self._events: list[tuple[float, int, str, str]] = []
        self._number = count()
        self.now = 0.0
        self.attempts = 0
        self.is_full = False
        self._under_way: dict[str, Attempt] = {}

    async def run(self, chunks: int) -> float:
        await self._set_clock()
        for node in self._nodes.values():
            rights = NodeRights(
                node=node.name,
                owner="host",
                accepts=frozenset({"public"}),
                engines=frozenset({"dps@1"}),
                limit=rules.limit_of(1),
                depth=rules.depth_of(1, None),
            )
            await self._brain.admit_node(rights)
            self._at(random.Random(node.name).uniform(0, HEARTBEAT_S), "beat", node.name)  # noqa: S311
        await open_plan(self._brain, chunks=chunks)
        self._at(0.0, "spread", "")
        while not self.is_full:
            self.now, _, what, name = heapq.heappop(self._events)
            await self._set_clock()
            await getattr(self, f"_{what}")(name)
        return self.now

    def _at(self, moment: float, what: str, name: str) -> None:
        heapq.heappush(self._events, (moment, next(self._number), what, name))

    async def _set_clock(self) -> None:
        await self._client.set("bench:clock", START_MS + round(self.now * 1000))

    async def _spread(self, _: str) -> None:
        """What the sweeper of the fleet does, as often."""
        await self._brain.reclaim_chunks()
        await self._brain.spare_chunks(TASK, older_ms=rules.SPARE_AFTER_MS)
        self._tell(await self._brain.select_nodes(TASK))
        self._at(self.now + SWEEP_EVERY_S, "spread", "")

    async def _beat(self, name: str) -> None:
        node = self._nodes[name]
        if self.now >= node.dies_at:
            return
        pulse = await self._brain.heartbeat(
            name, depth=rules.depth_of(1, node.chunk_s), progress=self._progress(node)
        )
        assert pulse is not None
        self._drop(node, pulse.lost)
        self._tell(await self._brain.assign_chunk([name]))
        self._at(self.now + HEARTBEAT_S, "beat", name)

    def _progress(self, node: Node) -> dict[str, float]:
        if node.running is None:
            return {}
        return {str(node.running): min(1.0, (self.now - node.began) * node.speed)}

    async def _end(self, name: str) -> None:
        node = self._nodes[name]
        if self.now >= node.dies_at or node.running is None:
            return
        if self.now < node.began + 1 / node.speed - 1e-9:
            return  # of a chunk that was dropped
        node.chunk_s = smoothed(node.chunk_s, 1 / node.speed)
        sent = Completion(
            node=name,
            attempt=node.running,
            moments=Moments(SIZE, 5.0, 2.0, 1.0, 9.0),
            wanted=1,
        )
        node.running = None
        self._begin(node)
        (answer,) = await self._brain.complete_chunk([sent])
        for other, wire in answer.freed:
            self._drop(self._nodes[other], [wire])
        self._tell(list(answer.next))
        self.is_full = answer.aggregate

    def _tell(self, assignments: list[Assignment]) -> None:
        for one in assignments:
            found = Attempt.parse(one.id)
            assert found is not None
            self.attempts += 1
            self._under_way[str(found)] = found
            self._at(self.now + LATENCY_S, "arrive", f"{one.node} {found}")

    async def _arrive(self, what: str) -> None:
        name, wire = what.split(" ")
        found = self._under_way.pop(wire, None)
        if found is not None:
            self._nodes[name].waiting.append(found)
            self._begin(self._nodes[name])

    def _begin(self, node: Node) -> None:
        if node.running is None and node.waiting and self.now < node.dies_at:
            node.running, node.began = node.waiting.pop(0), self.now
            self._at(node.began + 1 / node.speed, "end", node.name)

    def _drop(self, node: Node, wires: tuple[str, ...] | list[str]) -> None:
        for wire in wires:
            self._under_way.pop(wire, None)
        gone = {Attempt.parse(wire) for wire in wires}
        node.waiting = [one for one in node.waiting if one not in gone]
        if node.running in gone:
            node.running = None
            self._begin(node)


async def one_job(client: Redis, *, nodes: int, chunks: int, dying: float, seed: int) -> Makespan:
    """Speeds from one to ten, evenly on a logarithm; ``dying`` is the share that dies at some moment."""
    await client.flushall()
    chance = random.Random(seed)  # noqa: S311 - it must be repeatable
    speeds = [0.2 * 10 ** chance.random() for _ in range(nodes)]
    about_s = chunks / sum(speeds)
    crowd = [Node(f"node-{number}", speed, float("inf")) for number, speed in enumerate(speeds)]
    for node in chance.sample(crowd, round(nodes * dying)):
        node.dies_at = chance.uniform(0, about_s)
    world = World(client, crowd)
    seconds = await world.run(chunks)
    return Makespan(seconds, ideal_s(crowd, chunks), world.attempts)


def ideal_s(crowd: list[Node], chunks: int) -> float:
    """When the chunks would be done if no moment of any living node were lost."""
    low, high = 0.0, chunks / min(node.speed for node in crowd)
    while high - low > 1e-3:
        middle = (low + high) / 2
        if sum(node.speed * min(middle, node.dies_at) for node in crowd) >= chunks:
            high = middle
        else:
            low = middle
    return high
