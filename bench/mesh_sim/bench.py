"""The planner of the mesh on a simulated clock: how far a distribution is from the best there can be.

``sim_vs_bound`` is the worst of the grid: the makespan over ``shards - 1 + ceil(log2(servers + 1))``, with
links of one speed and one origin slot. Large cases come last, as far as the time allows; which ones were
left out is printed. ``slow_origin_vs_bound`` is the worst over origins that are slower and have more slots.
"""

import math
import time

import numpy as np

from bench.harness.table import say
from shoal.mesh.planner import plan
from shoal.mesh.simulator import World, simulate
from shoal.mesh.swarm import Limits, Swarm

SERVERS = (16, 32, 64, 100, 256, 1000, 4000, 10_000)
SHARDS = (64, 100, 256, 1000)
BUDGET_S = {True: 40.0, False: 400.0}
SLOW_ORIGINS = ((1.0, 4), (0.5, 1), (0.5, 4), (0.25, 1), (0.25, 4), (0.1, 8))
SEEDS = 3
MANY = 10_000


def measure(*, quick: bool) -> dict[str, float]:
    ends = time.monotonic() + BUDGET_S[quick]
    say("servers  shards  units / bound  = ratio (each seed)")
    worst = max(
        ratio
        for servers, shards in sorted(
            ((servers, shards) for servers in SERVERS for shards in SHARDS), key=math.prod
        )
        for ratio in ratios(servers, shards, ends=ends)
    )
    slow = max(slow_origin(rate, slots) for rate, slots in SLOW_ORIGINS)
    return {
        "sim_vs_bound": worst,
        "slow_origin_vs_bound": slow,
        "decision_us_10k_x_10k": decision_us(),
    }


def ratios(servers: int, shards: int, *, ends: float) -> list[float]:
    """Of as many seeds as there is time for; a case that would not end in time is left out."""
    expected_s = servers * shards * 1.3e-6 + shards * 2e-3
    seeds = SEEDS if expected_s < 1 else 1
    if time.monotonic() + expected_s > ends:
        say(f"{servers:7}  {shards:6}  left out: no time")
        return [0.0]
    found = [simulate(World(servers=servers, shards=shards, seed=seed)) for seed in range(seeds)]
    assert all(one.from_origin == shards for one in found)
    shown = ", ".join(f"{one.makespan:g}/{one.world.bound:g} = {one.over_bound:.3f}" for one in found)
    say(f"{servers:7}  {shards:6}  {shown}")
    return [one.over_bound for one in found]


def slow_origin(rate: float, slots: int) -> float:
    worst = 0.0
    for servers, shards in ((16, 64), (64, 64), (64, 256), (256, 64)):
        one = simulate(World(servers=servers, shards=shards, origin_rate=rate, origin_slots=slots))
        say(
            f"{servers:7}  {shards:6}  origin {rate:g} x {slots}: "
            f"{one.makespan:g}/{one.world.bound:g} = {one.over_bound:.3f}"
        )
        worst = max(worst, one.over_bound)
    return worst


def decision_us() -> float:
    """Microseconds per transfer: 64 servers ask at once, in a swarm that is half full."""
    dice = np.random.default_rng(0)
    swarm = Swarm(MANY, limits=Limits(), capacity=MANY)
    for _ in range(MANY):
        swarm.join()
    owned = dice.random((MANY, MANY), dtype=np.float32) < dice.random((MANY, 1)) * 0.9
    swarm.has[:] = swarm.knows[:] = np.packbits(owned, axis=1, bitorder="little")
    swarm.copies[:], swarm.owned[:] = owned.sum(axis=1), owned.sum(axis=0)
    swarm.uploads[dice.random(MANY) < 0.7] = 0
    begun, seconds = 0, 0.0
    for _ in range(30):
        waiting = dice.choice(MANY, 64, replace=False)
        began = time.perf_counter()
        begun += len(plan(swarm, waiting, dice=dice))
        seconds += time.perf_counter() - began
    say(f"a decision at {MANY} servers x {MANY} shards: {seconds / begun * 1e6:.0f} us")
    return seconds / begun * 1e6
