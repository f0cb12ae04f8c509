"""Handing out chunks to nodes that did not ask, and telling them."""

from collections.abc import Sequence

from shoal.fleet.brain import MOST_PER_CALL, FleetBrain
from shoal.fleet.measures import FleetMeasures
from shoal.fleet.pushes import Pushes


class Dispatch:
    def __init__(self, brain: FleetBrain, pushes: Pushes, measures: FleetMeasures) -> None:
        self._brain = brain
        self._pushes = pushes
        self._measures = measures

    async def spread(self, task: str) -> int:
        """Give chunks to the least loaded nodes that may run the plan, until it or they are at an end."""
        given = 0
        while found := await self._brain.select_nodes(task):
            given += len(found)
            await self._pushes.assigned(found)
            if len(found) < MOST_PER_CALL:
                break
        self._measures.pushed.inc(given)
        return given

    async def serve(self, nodes: Sequence[str]) -> int:
        """Give each of these nodes what it has room for."""
        found = await self._brain.assign_chunk(nodes)
        await self._pushes.assigned(found)
        self._measures.pushed.inc(len(found))
        return len(found)
