"""One job, cut in several ways, on one node and on seven, while nodes die: always the same answer."""

import asyncio
import math
import random
from contextlib import suppress
from typing import Any

import pytest

from .conftest import OpenPlace
from .place import Place, known_answer

pytestmark = pytest.mark.timeout(400)

ITERATIONS = 200_000
KILLS = {1: 1, 10: 1, 1000: 2}


def is_the_same(result: Any, known: Any) -> bool:
    """Count, least and greatest to the last bit, the mean to twelve digits."""
    return (
        all(result[name] == known[name] for name in ("minDps", "maxDps", "totalIterations"))
        and math.isclose(result["meanDps"], known["meanDps"], rel_tol=1e-12)
        and math.isclose(result["stdDps"], known["stdDps"], rel_tol=1e-9)
    )


async def keep_killing(place: Place, luck: random.Random, kills: int, killed: list[str]) -> None:
    """Kill who has work, with all its processes. All come back, but for the first if there are others."""
    for kill in range(kills):
        while not (busy := await place.holders()):  # noqa: ASYNC110 - of other processes
            await asyncio.sleep(0.02)
        await asyncio.sleep(luck.uniform(0.0, 0.2))
        victim = luck.choice(busy)
        await victim.kill_group()
        killed.append(victim.name)
        if kill or len(place.nodes) == 1:
            await victim.start()


@pytest.mark.parametrize("nodes", [1, 7])
async def test_it_does_not_depend_on_the_cutting_nor_on_who_dies(open_place: OpenPlace, nodes: int) -> None:
    luck = random.Random(nodes)  # noqa: S311 - which one dies
    place = await open_place()
    await asyncio.gather(*(place.node() for _ in range(nodes)))
    killed: list[str] = []
    for chunks in (1, 10, 1000):
        for node in place.nodes:
            if not node.is_alive:
                await node.start()
        job = await place.start_job(iterations=ITERATIONS, chunks=chunks, seed=chunks % 2)
        killing = asyncio.create_task(keep_killing(place, luck, KILLS[chunks], killed))
        try:
            result = await place.result(job)
        finally:
            killing.cancel()
            with suppress(asyncio.CancelledError):
                await killing
        assert is_the_same(result, known_answer(ITERATIONS, chunks % 2)), (chunks, result)
    assert len(killed) >= len(KILLS), "every job has lost a node"
