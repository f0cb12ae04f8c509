"""(c) One job of a million chunks over ten thousand nodes: how fast, how much memory, how many messages.

The nodes are simulated: each is a name that holds what the real scripts on the real server gave it, and hands
one of that in when it is drawn. Everything a node would hear is counted.
"""

import random
import time
from collections import defaultdict
from dataclasses import dataclass

from redis.asyncio import Redis

from bench.fleet.crowd import TASK, admit, open_plan
from shoal.fleet.brain import MOST_PER_CALL, FleetBrain
from shoal.fleet.model import Assignment, Attempt, Completion, Moments

DEPTH = 2
_RESULT = Moments(10, 5.25, 2.125, 1.5, 9.75)
OF_THE_JOB = ("", ":done", ":retry", ":spare", ":failures", ":results")


@dataclass(frozen=True)
class Outcome:
    chunks: int
    per_s: float
    spread_per_s: float
    job_mb: float
    messages: int


class Crowd:
    """Who holds what, as far as the nodes were told."""

    def __init__(self, brain: FleetBrain, nodes: list[str]) -> None:
        self._brain = brain
        self.nodes = nodes
        self.held: dict[str, list[Attempt]] = defaultdict(list)
        self.messages = 0

    def told(self, assignments: list[Assignment]) -> None:
        """A push or a part of a reply each: one message for one chunk."""
        for one in assignments:
            found = Attempt.parse(one.id)
            assert found is not None
            self.held[one.node].append(found)
        self.messages += len(assignments)

    async def spread(self) -> float:
        """The job arrives: the least loaded nodes are told first. How many chunks a second."""
        began, given = time.perf_counter(), 0
        while found := await self._brain.select_nodes(TASK):
            self.told(found)
            given += len(found)
        return given / (time.perf_counter() - began)

    async def hand_in(self, chosen: list[str]) -> None:
        """One result of each of these nodes that still holds something."""
        sent = [
            Completion(node=node, attempt=self.held[node].pop(0), moments=_RESULT)
            for node in chosen
            if self.held[node]
        ]
        for answer in await self._brain.complete_chunk(sent):
            assert answer.verdict == "OK", answer
            self.told(list(answer.next))
            self.messages += len(answer.freed)


async def one_job(client: Redis, *, nodes: int, chunks: int) -> Outcome:
    await client.flushall()
    brain, chance = FleetBrain(client), random.Random(1)  # noqa: S311 - it must be repeatable
    crowd = Crowd(brain, await admit(brain, nodes, depth=DEPTH))
    await open_plan(brain, chunks=chunks)
    spread_per_s = await crowd.spread()
    batch, spent, most_mb = min(MOST_PER_CALL, nodes), 0.0, 0.0
    while busy := [node for node in crowd.nodes if crowd.held[node]]:
        rounds = [chance.sample(busy, min(batch, len(busy))) for _ in range(64)]
        began = time.perf_counter()
        for chosen in rounds:
            await crowd.hand_in(chosen)
        spent += time.perf_counter() - began
        most_mb = max(most_mb, await job_mb(client))
    assert await brain.settled() == [TASK]
    return Outcome(chunks, chunks / spent, spread_per_s, most_mb, crowd.messages)


async def job_mb(client: Redis) -> float:
    """What the job takes in the brain, without what nodes hold of it."""
    found = [await client.memory_usage(f"{{job}}:{TASK}{part}", samples=0) for part in OF_THE_JOB]
    return sum(one or 0 for one in found) / 1e6
