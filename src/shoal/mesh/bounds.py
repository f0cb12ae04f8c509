"""What no schedule can beat. A unit is the time in which one server copies one shard to another.

The proofs are in docs/explanation/mesh.md.
"""

import math


def unit_bound(servers: int, shards: int) -> int:
    """Rounds for an origin and servers with links of the same speed, one transfer each way at a time."""
    return shards - 1 + math.ceil(math.log2(servers + 1))


def slow_origin_bound(servers: int, shards: int, *, transfer: float, slots: int) -> float:
    """Units when the origin gives each shard once, ``slots`` at a time, in ``transfer`` ≥ 1 units each."""
    waves = -(-shards // slots)
    in_the_last = shards - (waves - 1) * slots
    first_wave_missed = transfer + shards - (servers <= slots)
    all_links_busy = (shards * transfer + (servers - 1) * shards) / servers
    return max(transfer * waves + spread(servers, in_the_last), first_wave_missed, all_links_busy)


def spread(servers: int, shards: int) -> int:
    """Units until all have these shards, from the moment when one server has each."""
    missing = (servers - 1) * shards
    able, units = shards, 0
    while missing > 0:
        moved = min(able, servers)
        missing -= moved
        able += moved
        units += 1
    return units
