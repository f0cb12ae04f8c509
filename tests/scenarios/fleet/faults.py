"""What strikes a fleet. Each returns how many chunks nodes held at that moment: the work it hit."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tests.scenarios.fleet.cluster import SILENCE_S, FleetCluster

LEADER_S = 12.0
"""Longer than the lease of the one that sweeps."""
WORK_S = 10.0
LOOK_EVERY_S = 0.1


@dataclass(frozen=True)
class FleetFault:
    name: str
    strike: Callable[[FleetCluster], Awaitable[int]]


async def work_in_progress(cluster: FleetCluster) -> int:
    """How many chunks are held, at a moment in which some are."""
    for _ in range(round(WORK_S / LOOK_EVERY_S)):
        if held := await cluster.held():
            return held
        await asyncio.sleep(LOOK_EVERY_S)
    return 0


def kill_sentinel(number: int) -> FleetFault:
    async def strike(cluster: FleetCluster) -> int:
        held = await work_in_progress(cluster)
        await cluster.sentinels[number].kill()
        await cluster.sentinels[number].start()
        return held

    return FleetFault(f"kill -9 of sentinel {number + 1}", strike)


def pause_sentinel(number: int) -> FleetFault:
    async def strike(cluster: FleetCluster) -> int:
        held = await work_in_progress(cluster)
        cluster.sentinels[number].pause()
        await asyncio.sleep(LEADER_S)
        cluster.sentinels[number].resume()
        return held

    return FleetFault(f"pause of sentinel {number + 1} past its lease", strike)


def kill_crew(number: int) -> FleetFault:
    async def strike(cluster: FleetCluster) -> int:
        held = await work_in_progress(cluster)
        await cluster.crews[number].kill()
        await cluster.crews[number].start()
        return held

    return FleetFault(f"kill -9 of the nodes of crew {number + 1}", strike)


def pause_crew(number: int) -> FleetFault:
    """They wake up as zombies, with chunks that others have by then."""

    async def strike(cluster: FleetCluster) -> int:
        held = await work_in_progress(cluster)
        cluster.crews[number].pause()
        await asyncio.sleep(SILENCE_S * 2)
        cluster.crews[number].resume()
        return held

    return FleetFault(f"pause of the nodes of crew {number + 1} past their silence", strike)


async def restart_brain(cluster: FleetCluster) -> int:
    held = await work_in_progress(cluster)
    await cluster.brain.restart()
    return held


async def lose_the_end(cluster: FleetCluster) -> int:
    held = await work_in_progress(cluster)
    await cluster.brain.lose_the_end()
    return held


async def flush_brain(cluster: FleetCluster) -> int:
    held = await work_in_progress(cluster)
    await cluster.brain.flush()
    return held


def all_faults(chance: random.Random, *, sentinels: int, crews: int) -> list[FleetFault]:
    """Each kind once, in an order and on victims that the seed chooses."""
    faults = [
        kill_sentinel(chance.randrange(sentinels)),
        pause_sentinel(chance.randrange(sentinels)),
        kill_crew(chance.randrange(crews)),
        pause_crew(chance.randrange(crews)),
        FleetFault("kill -9 of the brain, or a failover", restart_brain),
        FleetFault("loss of the brain's last second", lose_the_end),
        FleetFault("loss of everything in the brain", flush_brain),
    ]
    chance.shuffle(faults)
    return faults
